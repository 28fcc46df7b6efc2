// What people, sessions and models said.

import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { count, money } from "../../../../src/base/figures.ts";
import { oneLine } from "../../../../src/base/harmless.ts";
import type { Block, Entry } from "../../../../src/transcript/entry.ts";
import { Markdown } from "../../../parts/markdown.tsx";
import { shortKey } from "../../../parts/text.tsx";
import { hrefOf } from "../../../state/place.ts";
import { Call } from "./calls.tsx";
import { Blocks, blocksIn, Fold, Kept, Lines, textIn } from "./content.tsx";
import type { Row } from "./rows.ts";
import { isBlobName } from "../../../../src/transcript/entry.ts";

type As<Kind extends Row["kind"]> = Extract<Row, { kind: Kind }>;

/** Who wrote it is decided where it entered, and is the only thing here that its writer has no say in. */
export function Letter({ row, sessionKey }: { readonly row: As<"letter">; readonly sessionKey: string }) {
  const { entry, item } = row;
  const blocks = entry.type === "message" ? blocksIn(entry.message.content) : [];
  const isPlain = blocks.every((block) => block.type === "text" && block.blob === undefined);
  return (
    <div class={`letter ${item.isPerson ? "own" : "other"}`}>
      <p class="who">
        <Who row={row} />
      </p>
      <Clamped lines={linesIn(item.text)}>
        {isPlain ? (
          <Markdown text={item.text} />
        ) : (
          <Blocks blocks={blocks} sessionKey={sessionKey} isOwn={item.isPerson} />
        )}
      </Clamped>
    </div>
  );
}

/** Lines of a letter that are shown: what somebody pasted is not what is read here. */
const LETTER_LINES = 14;
const LINE_CHARS = 90;

function linesIn(text: string): number {
  return text.split("\n").reduce((sum, line) => sum + Math.max(1, Math.ceil(line.length / LINE_CHARS)), 0);
}

function Clamped({ lines, children }: { readonly lines: number; readonly children: ComponentChildren }) {
  const [isOpen, setOpen] = useState(false);
  if (lines <= LETTER_LINES + 2) return <>{children}</>;
  return (
    <>
      <div class={isOpen ? "" : "clamped"}>{children}</div>
      <button type="button" class="unclamp" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        {isOpen ? "Show less" : `Show all (about ${lines} lines)`}
      </button>
    </>
  );
}

function Who({ row: { entry, item } }: { readonly row: As<"letter"> }) {
  const from = entry.type === "message" ? entry.provenance : undefined;
  if (from?.kind !== "inter_session") return <b>{oneLine(item.from).slice(0, 200)}</b>;
  const by = textIn(from.tool);
  return (
    <>
      <a href={hrefOf("session", from.source)} title={oneLine(from.source)}>
        {oneLine(shortKey(from.source))}
      </a>
      {by !== "" && <span class="soft"> by {oneLine(by).slice(0, 60)}</span>}
    </>
  );
}

export function Answer({ row, sessionKey }: { readonly row: As<"answer">; readonly sessionKey: string }) {
  const { entry, item, calls } = row;
  const blocks = entry.type === "message" ? blocksIn(entry.message.content) : [];
  const left = new Map(calls.map((called) => [called.call.id, called]));
  return (
    <div class="answer">
      {blocks.map((block, at) => {
        if (block.type === "thinking") return <Thinking key={at} block={block} sessionKey={sessionKey} />;
        if (block.type !== "toolCall") return <Blocks key={at} blocks={[block]} sessionKey={sessionKey} />;
        const called = left.get(String(block.id));
        left.delete(String(block.id));
        if (called === undefined) return null;
        return <Call key={at} called={called} entry={entry} sessionKey={sessionKey} />;
      })}
      {item.trouble !== null && <p class="failure">{oneLine(item.trouble.slice(0, 2_000))}</p>}
      {calls.length === 0 && <p class="meta">{figuresOf(entry, item.model)}</p>}
    </div>
  );
}

function Thinking(parts: {
  readonly block: Extract<Block, { type: "thinking" }>;
  readonly sessionKey: string;
}) {
  const { block, sessionKey } = parts;
  const text = textIn(block.thinking);
  if (text.trim() === "")
    return block.redacted === true ? <p class="soft">thought, not shown by its provider</p> : null;
  return (
    <Fold look="quiet thinking" label="Thinking">
      {() =>
        isBlobName(block.blob) ? (
          <Kept blob={block.blob} sessionKey={sessionKey} head={<Lines text={text} />} />
        ) : (
          <Markdown text={text} />
        )
      }
    </Fold>
  );
}

/** Of the last step; those before it are in the trace of the turn. */
function figuresOf(entry: Entry, model: string): string {
  if (entry.type !== "message" || entry.message.role !== "assistant") return "";
  const { usage } = entry.message;
  const read = number(usage?.input) + number(usage?.cacheRead) + number(usage?.cacheWrite);
  const cost = number(usage?.cost?.total);
  const parts = [
    oneLine(model).slice(0, 80),
    read > 0 ? `${count(read)} in, ${count(number(usage.output))} out` : null,
    cost > 0 ? money(cost) : null,
  ];
  return parts.filter((part) => part !== null).join(" · ");
}

/** Others may have written it. */
function number(value: unknown): number {
  return typeof value === "number" && Number.isFinite(value) ? value : 0;
}
