import { Button } from "../../parts/button.tsx";
import type { Whole } from "./whole.ts";

interface TheirsParts {
  /** Null: they deleted it. */
  readonly whole: Whole | null;
  readonly mine: string;
  readonly take: () => void;
}

/** What another wrote, to be read and copied from. */
export function Theirs({ whole, mine, take }: TheirsParts) {
  return (
    <section class="pane">
      <header>
        <h3>{whole === null ? "Theirs: it was deleted" : "Theirs, as it is now"}</h3>
        {whole?.text !== mine && (
          <Button look="quiet" onClick={take}>
            Take theirs…
          </Button>
        )}
      </header>
      <textarea readOnly aria-label="Their text" spellcheck={false} value={whole?.text ?? ""} />
    </section>
  );
}
