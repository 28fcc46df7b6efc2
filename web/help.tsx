import { Dialog } from "./parts/dialog.tsx";
import { taken } from "./state/keys.ts";

/** Every key that does something now. */
export function Help({ onClose }: { readonly onClose: () => void }) {
  const groups = taken.value.filter(({ keys }) => keys.length > 0); // Who takes some at times takes none at others.
  return (
    <Dialog title="Keys" onClose={onClose} isWide>
      <div class="keys">
        {groups.map(({ group, keys }) => (
          <section key={group}>
            <h3>{group}</h3>
            <dl>
              {keys.map(({ key, about }) => (
                <div key={key}>
                  <dt>
                    {key.split(" ").map((each) => (
                      <kbd key={each}>{each.replace("mod+", "Ctrl ")}</kbd>
                    ))}
                  </dt>
                  <dd>{about}</dd>
                </div>
              ))}
            </dl>
          </section>
        ))}
      </div>
    </Dialog>
  );
}
