// What a compaction did: how much it took away, why, and what it kept beside its summary.

import { count, many } from "../../../src/base/figures.ts";
import { oneLine } from "../../../src/base/harmless.ts";
import type { Output } from "../../../src/calls/door.ts";
import { detailsOf, type CompactionDetails } from "../../../src/context/compaction.ts";
import type { Entry } from "../../../src/transcript/entry.ts";
import { Ago, Plain } from "../../parts/text.tsx";
import { useAsked } from "../../state/asking.ts";
import { call } from "../../wire/call.ts";
import { hrefBeside } from "./panel-state.ts";

type Compaction = NonNullable<Output<"context">["compaction"]>;

const OCCASIONS: Readonly<Record<string, string>> = {
  size: "it had reached its size",
  overflow: "the model refused it for its size",
  asked: "somebody asked for it",
};

interface Kept {
  readonly entry: Extract<Entry, { type: "compaction" }>;
  readonly details: CompactionDetails | null; // null: another program made it
  readonly firstKept: number | null; //          null: none before it, or of another transcript
}

export function Compacted({
  sessionKey,
  compaction,
}: {
  readonly sessionKey: string;
  readonly compaction: Compaction;
}) {
  const { seq, at, tokensBefore, occasion, truncated } = compaction;
  const kept = useAsked((signal) => keptIn(sessionKey, seq, signal), [sessionKey, seq]).value;
  const after = kept?.details?.tokensAfter;
  return (
    <div class="compacted">
      <p>
        <a href={hrefBeside(sessionKey, seq)}>Summarised</a> <Ago at={at} />: {count(tokensBefore)}
        {after === undefined ? " tokens before" : ` → ${count(after)} tokens`}
        {occasion !== null && `, because ${OCCASIONS[occasion] ?? occasion}`}.
      </p>
      {truncated !== null && <p class="hint">Cut off without a summary: {oneLine(truncated)}</p>}
      {kept !== null && <KeptLines sessionKey={sessionKey} kept={kept} />}
    </div>
  );
}

function KeptLines({
  sessionKey,
  kept: { entry, details, firstKept },
}: {
  readonly sessionKey: string;
  readonly kept: Kept;
}) {
  const words = details === null ? [] : keptWords(details);
  return (
    <>
      <p>
        Kept:{" "}
        {firstKept === null ? (
          "what came after it"
        ) : (
          <>
            everything from <a href={hrefBeside(sessionKey, firstKept)}>the first kept message</a> on
          </>
        )}
        {words.map((each) => `, ${each}`)}.
      </p>
      <details>
        <summary>Its summary</summary>
        <pre>
          <Plain text={entry.summary} />
        </pre>
      </details>
    </>
  );
}

function keptWords({ pinned, asked, tasks, turn }: CompactionDetails): readonly string[] {
  return [
    ...(pinned.length === 0 ? [] : [many(pinned.length, "pinned message")]),
    ...(asked.length === 0 ? [] : [`${many(asked.length, "message")} of the turn that ran`]),
    ...(tasks.length === 0 ? [] : [many(tasks.length, "task of a child", "tasks of children")]),
    ...(turn === null ? [] : ["the open turn"]),
  ];
}

/** Null: it is not there any more, or is none. */
async function keptIn(sessionKey: string, seq: number, signal: AbortSignal): Promise<Kept | null> {
  const page = await call("entries", { sessionKey, from: seq, limit: 1 }, signal);
  const [entry] = page.entries as unknown as readonly Entry[];
  if (entry?.type !== "compaction") return null;
  const [whose = "", number = ""] = String(entry.firstKeptEntryId).split("-");
  const isOwn = page.transcript.endsWith(whose) && whose !== "" && /^\d+$/.test(number);
  return {
    entry,
    details: detailsOf(entry),
    firstKept: isOwn && Number(number) < seq ? Number(number) : null,
  };
}
