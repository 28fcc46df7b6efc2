import type { Fault } from "../../../src/base/fault.ts";
import { Trouble } from "../../parts/empty.tsx";
import { bearer } from "../../wire/scope.ts";

interface RefusedParts {
  readonly fault: Fault;
  readonly again: () => void;
  /** What it is needed for: "see the configuration". */
  readonly to: string;
}

/** A token that may not look is no trouble: it was given so. */
export function Refused({ fault, again, to }: RefusedParts) {
  if (fault.code !== "forbidden") return <Trouble fault={fault} again={again} />;
  return (
    <section class="card">
      <Needed to={to} />
    </section>
  );
}

/** What this token may not, and how to come by one that may. */
export function Needed({ to }: Pick<RefusedParts, "to">) {
  const { value } = bearer;
  const next = value?.scope === "operate" ? "admin" : "operate";
  return (
    <div class="needed">
      <p>
        To {to} a token needs the scope <b>admin</b>
        {value === null ? "." : <>; this page's has {value.scope}.</>}
        {next === "operate" && (
          <>
            {" "}
            To work with sessions, notes and jobs, <b>operate</b> is enough.
          </>
        )}
      </p>
      <p>To get one that may more:</p>
      <ul>
        <li>whoever has the scope admin makes one here, in the settings, and hands you its link;</li>
        <li>
          or, on the daemon's machine: <code>npx sessiond token create phone --scope {next}</code> makes one,
          and <code>npx sessiond page</code> prints the link of the owner, who may everything.
        </li>
      </ul>
    </div>
  );
}
