import { oneLine } from "../../../src/base/harmless.ts";
import { bearer } from "../../wire/scope.ts";

/** Where one would write, for a token that may only look. What was written under another stays a draft. */
export function Looking() {
  return (
    <p class="composer looking">
      You can read along. Nothing can be sent from here: the token{" "}
      <code>{oneLine(bearer.value?.name ?? "")}</code> may only look.
    </p>
  );
}
