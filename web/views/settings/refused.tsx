import type { Fault } from "../../../src/base/fault.ts";
import { Empty, Trouble } from "../../parts/empty.tsx";

interface RefusedParts {
  readonly fault: Fault;
  readonly again: () => void;
  /** What is not shown: "Tokens". */
  readonly what: string;
}

/** A token that may not look is no trouble: it was given so. */
export function Refused({ fault, again, what }: RefusedParts) {
  if (fault.code !== "forbidden") return <Trouble fault={fault} again={again} />;
  return (
    <Empty title={`${what} need an admin token`}>
      You are signed in with a token that may not look at this. The owner's may: the daemon prints a link with
      it when it starts, and <code>npx sessiond page</code> prints it again.
    </Empty>
  );
}
