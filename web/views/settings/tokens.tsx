// Who may call, and as what. The text of a token is shown once, when it is made: the daemon does not keep it.

import { useState } from "preact/hooks";
import { oneLine } from "../../../src/base/harmless.ts";
import type { Output } from "../../../src/calls/door.ts";
import { Button } from "../../parts/button.tsx";
import { ask } from "../../parts/dialog.tsx";
import { Loading } from "../../parts/empty.tsx";
import { Ago } from "../../parts/text.tsx";
import { tell, warn } from "../../parts/toast.tsx";
import { useAsked } from "../../state/asking.ts";
import { call } from "../../wire/call.ts";
import { bearer, lacking } from "../../wire/scope.ts";
import { Handed } from "./handed.tsx";
import { MAY, OWNER } from "./handing.ts";
import { NewToken } from "./new-token.tsx";
import { Needed, Refused } from "./refused.tsx";
import { ThisBrowser } from "./signed-in.tsx";

type Made = Output<"createToken">;

export function Tokens() {
  return (
    <>
      {lacking("admin") === undefined ? <All /> : <NotThese />}
      <ThisBrowser />
    </>
  );
}

/** What there would be, for a token that may not. */
function NotThese() {
  return (
    <section class="card">
      <header class="card-head">
        <h2>Tokens</h2>
        <Button icon="plus" unless={lacking("admin")}>
          New token…
        </Button>
      </header>
      <Needed to="make tokens, and to see which there are," />
    </section>
  );
}

function All() {
  const { value, fault, again } = useAsked((signal) => call("tokens", {}, signal), []);
  const [made, setMade] = useState<Made | null>(null);
  const [isMaking, setMaking] = useState(false);
  if (fault !== null)
    return <Refused fault={fault} again={again} to="make tokens, and to see which there are," />;
  if (value === null) return <Loading what="tokens" />;
  return (
    <section class="card">
      <header class="card-head">
        <h2>Tokens</h2>
        <Button icon="plus" onClick={() => setMaking(true)}>
          New token…
        </Button>
      </header>
      <TokenTable tokens={value.tokens} again={again} />
      {isMaking && (
        <NewToken
          taken={value.tokens.map(({ name }) => name)}
          onClose={() => {
            setMaking(false);
            again();
          }}
          done={(token) => {
            setMaking(false);
            setTimeout(() => setMade(token)); // When the first dialog has given the focus back: the next is to do the same.
            again();
          }}
        />
      )}
      {made !== null && <Handed made={made} onClose={() => setMade(null)} />}
    </section>
  );
}

function TokenTable({ tokens, again }: Output<"tokens"> & { readonly again: () => void }) {
  return (
    <>
      <p class="hint">
        Each device, program and person that calls the daemon should have its own: then one can be taken back
        without the others. The owner's is the file <code>token</code> of the daemon's home, and is not listed
        {bearer.value?.name === OWNER ? "; this page has it." : "."}
      </p>
      {tokens.length > 0 && (
        <table class="table tokens" aria-label="Tokens">
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
            {tokens.map((token) => (
              <TokenRow key={token.name} token={token} again={again} />
            ))}
          </tbody>
        </table>
      )}
    </>
  );
}

interface TokenRowParts {
  readonly token: Output<"tokens">["tokens"][number];
  readonly again: () => void;
}

function TokenRow({ token: { name, scope, madeAt }, again }: TokenRowParts) {
  return (
    <tr>
      <th scope="row">
        <code>{name}</code> {bearer.value?.name === name && <span class="tag">this page</span>}
      </th>
      <td title={MAY[scope]}>{scope}</td>
      <td>
        <Ago at={madeAt} />
      </td>
      <td class="figure">
        <Button label={`Revoke ${name}…`} onClick={() => revoke(name, again)}>
          Revoke…
        </Button>
      </td>
    </tr>
  );
}

function revoke(name: string, again: () => void): void {
  const isOurs = bearer.value?.name === name;
  void ask({
    title: `Revoke ${name}?`,
    text: (
      <>
        <p>
          Whoever has the token <code>{oneLine(name)}</code> is let in no more. What it has opened ends now:
          pages, streams, sockets. Turns that run go on. It does not come back; a new one has another text.
        </p>
        {isOurs && (
          <p>
            <b>This page is signed in with it:</b> it ends here too, and asks for another token.
          </p>
        )}
      </>
    ),
    verb: isOurs ? "Revoke, and end this page" : "Revoke",
    isDangerous: true,
    run: async () => {
      const { revoked } = await call("revokeToken", { name });
      if (revoked) tell(`Revoked ${name}`);
      else warn(`There was no ${name} any more`);
      again();
    },
  });
}
