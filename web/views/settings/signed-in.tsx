// By which token this browser is signed in, and out again.

import { many } from "../../../src/base/figures.ts";
import { oneLine } from "../../../src/base/harmless.ts";
import { Button } from "../../parts/button.tsx";
import { ask } from "../../parts/dialog.tsx";
import { unsent } from "../../state/unsent.ts";
import { bearer } from "../../wire/scope.ts";
import { signOut } from "../../wire/token.ts";
import { MAY } from "./handing.ts";

export function ThisBrowser() {
  const { value } = bearer;
  return (
    <section class="card">
      <header class="card-head">
        <h2>This browser</h2>
        <Button onClick={leave}>Sign out</Button>
      </header>
      {value !== null && (
        <p>
          Signed in with the token <code>{oneLine(value.name)}</code>, which may <b>{value.scope}</b>
          <span class="soft">: {MAY[value.scope]}.</span>
        </p>
      )}
      <p class="hint">
        The browser keeps it, for this address. Signing out forgets it, drafts and whatever else this browser
        keeps of the page, in all of its tabs; the token itself stays good until somebody revokes it.
      </p>
    </section>
  );
}

/** Only what was written and is nowhere else is asked about. */
function leave(): void {
  const lost = [
    ...(unsent.value === 0 ? [] : [`${many(unsent.value, "message")} not sent yet`]),
    ...(draftsKept() === 0 ? [] : [many(draftsKept(), "draft")]),
  ];
  if (lost.length === 0) return signOut();
  void ask({
    title: "Sign out?",
    text: `This tab forgets ${lost.join(" and ")}, for good.`,
    verb: "Sign out",
    isDangerous: true,
    run: async () => signOut(),
  });
}

/** Of messages and of notes. */
function draftsKept(): number {
  try {
    return Object.keys(sessionStorage).filter((each) => each.startsWith("sessiond.draft")).length;
  } catch {
    return 0;
  }
}
