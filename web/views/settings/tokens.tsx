// Who may call, and as what. The text of a token is shown once, when it is made: the daemon does not keep it.

import { useRef, useState } from "preact/hooks";
import { oneLine } from "../../../src/base/harmless.ts";
import { many } from "../../../src/base/figures.ts";
import type { Output } from "../../../src/calls/door.ts";
import { Button } from "../../parts/button.tsx";
import { copied } from "../../parts/clipboard.ts";
import { ask, Dialog } from "../../parts/dialog.tsx";
import { Loading } from "../../parts/empty.tsx";
import { Ago } from "../../parts/text.tsx";
import { tell } from "../../parts/toast.tsx";
import { useAsked } from "../../state/asking.ts";
import { unsent } from "../../state/unsent.ts";
import { call } from "../../wire/call.ts";
import { signOut } from "../../wire/token.ts";
import { Refused } from "./refused.tsx";

type Made = Output<"createToken">;
type Scope = Made["scope"];

const MAY: readonly (readonly [scope: Scope, words: string])[] = [
  ["read", "read: look at everything, change nothing"],
  ["operate", "operate: also work with sessions, notes, jobs"],
  ["admin", "admin: also tokens and the configuration"],
];

export function Tokens() {
  const { value, fault, again } = useAsked((signal) => call("tokens", {}, signal), []);
  const [made, setMade] = useState<Made | null>(null);
  return (
    <>
      {fault !== null && <Refused fault={fault} again={again} what="Tokens" />}
      {fault === null && value === null && <Loading what="tokens" />}
      {fault === null && value !== null && (
        <section class="card">
          <header class="card-head">
            <h2>Tokens</h2>
            <Button
              icon="plus"
              onClick={() =>
                create((token) => {
                  setMade(token);
                  again();
                })
              }
            >
              New token…
            </Button>
          </header>
          <TokenTable tokens={value.tokens} again={again} />
        </section>
      )}
      <section class="card">
        <header class="card-head">
          <h2>This browser</h2>
          <Button onClick={leave}>Sign out</Button>
        </header>
        <p class="hint">
          It keeps the token that you signed in with, for this address. Signing out forgets it, drafts and
          whatever else this browser keeps of the page, in all of its tabs; the token itself stays good until
          somebody revokes it.
        </p>
      </section>
      {made !== null && <Once made={made} onClose={() => setMade(null)} />}
    </>
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

function TokenTable({ tokens, again }: Output<"tokens"> & { readonly again: () => void }) {
  return (
    <>
      <p class="hint">
        Each program and person that calls the daemon should have its own: then one can be taken back without
        the others. The owner's is the file <code>token</code> of the daemon's home, and is not listed here.
      </p>
      {tokens.length > 0 && (
        <table class="table" aria-label="Tokens">
          <thead>
            <tr>
              <th scope="col">Name</th>
              <th scope="col">May</th>
              <th scope="col">Made</th>
              <th scope="col">
                <span class="hidden">What can be done</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {tokens.map(({ name, scope, madeAt }) => (
              <tr key={name}>
                <th scope="row">
                  <code>{name}</code>
                </th>
                <td>{scope}</td>
                <td>
                  <Ago at={madeAt} />
                </td>
                <td class="figure">
                  <Button label={`Revoke ${name}`} onClick={() => revoke(name, again)}>
                    Revoke…
                  </Button>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </>
  );
}

function create(done: (made: Made) => void): void {
  void ask({
    title: "New token",
    fields: [
      {
        name: "name",
        label: "Name",
        hint: "Who or what will use it: a to z, digits, - and _. What it does is told under this name.",
        isNeeded: true,
      },
      { name: "scope", label: "What it may", kind: "choice", value: "operate", choices: MAY },
    ],
    verb: "Make it",
    run: async ({ name = "", scope = "read" }) => {
      done(await call("createToken", { name, scope: scope as Scope }));
    },
  });
}

function revoke(name: string, again: () => void): void {
  void ask({
    title: `Revoke ${name}?`,
    text: (
      <>
        Whoever has the token <code>{oneLine(name)}</code> is let in no more, and what it has opened ends now.
        It does not come back; a new one has another text.
      </>
    ),
    verb: "Revoke",
    isDangerous: true,
    run: async () => {
      await call("revokeToken", { name });
      tell(`Revoked ${name}`);
      again();
    },
  });
}

function Once({ made, onClose }: { readonly made: Made; readonly onClose: () => void }) {
  const field = useRef<HTMLInputElement>(null);
  const [isCopied, setCopied] = useState(false);
  const copy = async (): Promise<void> => {
    field.current?.select();
    setCopied(await copied(made.token, null));
  };
  return (
    <Dialog title={`The token ${made.name}`} onClose={onClose} isFirm>
      <p class="text">
        <b>It is shown this once.</b> Nobody can tell it again, the daemon neither: copy it to where it will
        be used.
      </p>
      <div class="once">
        <input ref={field} class="mono" readOnly aria-label="Text of the token" value={made.token} />
        <Button icon={isCopied ? "check" : "copy"} look="main" onClick={() => void copy()}>
          {isCopied ? "Copied" : "Copy"}
        </Button>
      </div>
      <footer>
        <Button onClick={onClose}>Done</Button>
      </footer>
    </Dialog>
  );
}
