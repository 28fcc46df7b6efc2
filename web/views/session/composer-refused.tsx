// Why something could not be attached: where it was to be, until somebody has read it, attaches something else, or sends.

import { signal } from "@preact/signals";
import { Button } from "../../parts/button.tsx";

const refusals = signal<ReadonlyMap<string, readonly string[]>>(new Map()); // by the session

/** Of what was attached last; none: everything was taken. */
export function refuse(sessionKey: string, whys: readonly string[]): void {
  refusals.value = new Map([...refusals.value, [sessionKey, whys]]);
}

export function Refused({ sessionKey }: { readonly sessionKey: string }) {
  const whys = refusals.value.get(sessionKey) ?? [];
  return (
    <div role="alert">
      {whys.length > 0 && (
        <div class="refused">
          <ul aria-label="Not attached">
            {whys.map((why, at) => (
              <li key={at}>{why}.</li>
            ))}
          </ul>
          <Button icon="close" look="quiet" label="Dismiss" onClick={() => refuse(sessionKey, [])} />
        </div>
      )}
    </div>
  );
}
