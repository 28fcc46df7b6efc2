// What fills the window of a session, what has left it, and what a compaction kept.

import { bytes, count, many, percent, whole } from "../../../src/base/figures.ts";
import { cut, oneLine } from "../../../src/base/harmless.ts";
import { compactedWords } from "../../../src/calls/commands/words.ts";
import type { Output } from "../../../src/calls/door.ts";
import { Button } from "../../parts/button.tsx";
import { ask } from "../../parts/dialog.tsx";
import { Loading, Trouble } from "../../parts/empty.tsx";
import { tell, tried } from "../../parts/toast.tsx";
import { useAsked } from "../../state/asking.ts";
import { call } from "../../wire/call.ts";
import { lacking } from "../../wire/scope.ts";
import { Compacted } from "./context-compacted.tsx";
import { hrefBeside } from "./panel-state.ts";
import { useRefreshed } from "./refreshed.ts";

type Context = Output<"context">;

export function ContextPanel({ sessionKey }: { readonly sessionKey: string }) {
  const { value, fault, again } = useAsked((signal) => call("context", { sessionKey }, signal), [sessionKey]);
  useRefreshed(sessionKey, again);
  if (value === null)
    return fault === null ? <Loading what="the context" /> : <Trouble fault={fault} again={again} />;
  return (
    <div class="context">
      <p>
        <strong>{count(value.tokens)}</strong> of {count(value.window)} tokens (
        {percent(value.tokens, value.window)})
        <br />
        <span class="soft">{value.model}</span>
      </p>
      <Filled context={value} />
      {value.tokens > value.most && (
        <p class="hint">The next request is cut to {count(value.most)} tokens, so that it fits.</p>
      )}
      <p class="hint">
        Past {count(value.pruneAt)} old tool results leave the prompt; past {count(value.compactAt)} the older
        part is summarised.
      </p>
      <Button unless={lacking("operate")} onClick={() => void compactNow(sessionKey, again)}>
        Compact now …
      </Button>
      <h2>Pruned</h2>
      <p>{prunedWords(value.pruned)}</p>
      <h2>Last compaction</h2>
      {value.compaction === null ? (
        <p class="soft">None: everything that was said is still there in full.</p>
      ) : (
        <Compacted sessionKey={sessionKey} compaction={value.compaction} />
      )}
      <h2>Pinned</h2>
      <Pins sessionKey={sessionKey} pins={value.pins} again={again} />
    </div>
  );
}

function prunedWords({ times, results, bytes: size }: Context["pruned"]): string {
  if (results === 0) return "Nothing has left the prompt.";
  return `${many(results, "tool result")} left the prompt in ${many(times, "time")}, ${bytes(size)}. They are in the transcript, and the model can read them again.`;
}

/** Something is not nothing. */
function shareWords(size: number, window: number): string {
  return size > 0 && size / window < 0.005 ? "<1%" : percent(size, window);
}

const PARTS = [
  ["system", "System prompt"],
  ["tools", "Tools"],
  ["summary", "Summary"],
  ["messages", "Messages"],
  ["toolResults", "Tool results"],
] as const;

function Filled({ context }: { readonly context: Context }) {
  const { parts, tokens, window, most, pruneAt, compactAt } = context;
  const shares = [
    ...PARTS.map(([name, label]) => [name, label, parts[name]] as const),
    ["free", "Free", Math.max(0, most - tokens)] as const,
    ["reserved", "Reserved for the answer", Math.max(0, window - Math.max(most, tokens))] as const,
  ];
  const share = (of: number): string => `${window > 0 ? Math.min(100, (of / window) * 100) : 0}%`;
  return (
    <>
      <div class="stack" aria-hidden="true">
        <div class="bars">
          {shares.map(([name, , size]) => (
            <span key={name} class={name} style={{ width: share(size) }} />
          ))}
        </div>
        <span class="mark" style={{ left: share(pruneAt) }} title={`Pruned past ${whole(pruneAt)}`} />
        <span class="mark" style={{ left: share(compactAt) }} title={`Summarised past ${whole(compactAt)}`} />
      </div>
      <table class="parts" aria-label="What fills the window, in tokens">
        <tbody>
          {shares.map(([name, label, size]) => (
            <tr key={name}>
              <th scope="row">
                <span class={`swatch ${name}`} aria-hidden="true" />
                {label}
              </th>
              <td class="figure" title={whole(size)}>
                {count(size)}
              </td>
              <td class="figure soft">{shareWords(size, window)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </>
  );
}

interface PinsParts {
  readonly sessionKey: string;
  readonly pins: Context["pins"];
  readonly again: () => void;
}

function Pins({ sessionKey, pins, again }: PinsParts) {
  if (pins.length === 0)
    return <p class="soft">None. A message that is pinned stays whole, whatever is summarised around it.</p>;
  return (
    <ul class="pins">
      {pins.map(({ entry, seq, text }) => (
        <li key={entry}>
          {seq === null ? (
            <span class="words">{pinWords(text)}</span>
          ) : (
            <a class="words" href={hrefBeside(sessionKey, seq)}>
              {pinWords(text)}
            </a>
          )}
          <Button
            icon="close"
            look="quiet"
            label={`Unpin ${pinWords(text)}`}
            unless={lacking("operate")}
            onClick={() =>
              void tried(call("pin", { sessionKey, entry, pinned: false }), "Unpinned.").then(again)
            }
          />
        </li>
      ))}
    </ul>
  );
}

const PIN_CELLS = 80;

function pinWords(text: string): string {
  return text === "" ? "A message that is not in the context any more" : cut(oneLine(text), PIN_CELLS);
}

/** How long the question stands; the summary is made anyway. */
const COMPACT_WAIT_MS = 60_000;

async function compactNow(sessionKey: string, again: () => void): Promise<void> {
  await ask({
    title: "Compact the context",
    text: "The older part of the conversation becomes a summary. Nothing is deleted: the transcript keeps it, and a rewind goes back to before it.",
    fields: [{ name: "focus", label: "What is to be kept above all", kind: "lines", hint: "May be empty." }],
    verb: "Compact",
    run: async ({ focus = "" }) => {
      const given = focus.trim() === "" ? {} : { focus: focus.trim() };
      const done = await call("compact", { sessionKey, ...given, timeoutMs: COMPACT_WAIT_MS });
      tell(compactedWords(done), done.outcome !== "done" && done.outcome !== "unanswered");
    },
  });
  again();
}
