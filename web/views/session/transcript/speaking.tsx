// What goes on below the last entry: the words of a model while it speaks, and what the session does when nothing else says so.

import type { Signal } from "@preact/signals";
import { clean } from "../../../../src/base/harmless.ts";
import { Markdown } from "../../../parts/markdown.tsx";
import { Dot, State } from "../../../parts/state.tsx";
import { useRow } from "../../../state/rows.ts";
import { doingOf } from "./child.tsx";
import type { Grown } from "./growing.ts";
import { memo } from "./memo.ts";
import type { Reading, Speech } from "./reading.ts";

export function Speaking({ speech }: { readonly speech: Signal<Speech | null> }) {
  const now = speech.value;
  if (now === null) return null;
  const hasWords = now.text.blocks.length > 0 || now.text.rest.trim() !== "";
  return (
    <div class="row answer speaking">
      {!hasWords && (
        <details class="fold quiet thinking">
          <summary>
            <Dot is="running">thinks …</Dot>
          </summary>
          <div class="inside">
            <Text grown={now.thinking} />
          </div>
        </details>
      )}
      {hasWords && <Text grown={now.text} />}
    </div>
  );
}

/** Blocks that are finished are not looked at again. */
function Text({ grown }: { readonly grown: Grown }) {
  return (
    <div class="growing">
      {grown.blocks.map((block, at) => (
        <Finished key={at} text={block} />
      ))}
      {grown.rest.length > REST_CHARS_MAX ? (
        <pre class="as-is">{clean(grown.rest)}</pre>
      ) : (
        <Markdown text={grown.rest} />
      )}
    </div>
  );
}

const Finished = memo(Markdown);

/** Of a block that grows: what is longer is not taken apart ten times a second. */
const REST_CHARS_MAX = 10_000;

/** What it does while nothing of it can be seen. */
export function Working({ reading }: { readonly reading: Reading }) {
  const row = useRow(reading.key);
  if (row === null || row.state === "idle" || row.state === "ended" || reading.speech.value !== null)
    return null;
  return (
    <p class="working">
      <State row={row} />
      <span>{doingOf(row)}</span>
    </p>
  );
}
