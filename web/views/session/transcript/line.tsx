// A row of the transcript: what it says, when, and what can be done with it.

import { memo } from "./memo.ts";
import { bytes, many } from "../../../../src/base/figures.ts";
import { clean, oneLine } from "../../../../src/base/harmless.ts";
import type { Entry, Gap } from "../../../../src/transcript/entry.ts";
import { isNote } from "../../../../src/transcript/note.ts";
import { Button } from "../../../parts/button.tsx";
import { clock } from "../../../parts/clock.ts";
import { Icon } from "../../../parts/icons.tsx";
import { Markdown } from "../../../parts/markdown.tsx";
import { Menu, type Deed } from "../../../parts/menu.tsx";
import { hrefOf } from "../../../state/place.ts";
import { Alone } from "./calls.tsx";
import { ReportLine } from "./child.tsx";
import { Blocks, blocksIn, Fold, Lines } from "./content.tsx";
import { Ended } from "./ended.tsx";
import { Answer, Letter } from "./messages.tsx";
import { nameOfEntry } from "./naming.ts";
import { RETURN, type Row } from "./rows.ts";

export interface LineParts {
  readonly row: Row;
  readonly sessionKey: string;
  readonly isMarked: boolean;
  readonly isPinned: boolean;
  readonly deeds: (entry: Entry) => readonly Deed[];
}

/** Drawn again when it says something else (S2). */
export const Line = memo(function Line({ row, sessionKey, isMarked, isPinned, deeds }: LineParts) {
  const entry = "entry" in row ? row.entry : null;
  const label = labelOf(row);
  const content = `said-${row.id}`; // A screen reader says the label, then this.
  return (
    <article
      class={`row ${row.kind}${isMarked ? " marked" : ""}`}
      tabIndex={-1}
      data-row={row.id}
      aria-label={`${label}${isPinned ? ", pinned" : ""}`}
      aria-describedby={content}
      {...(entry === null ? {} : { "data-seq": entry.seq })}
      {...(isMarked ? { "aria-current": "true" as const } : {})}
      onKeyDown={(event: KeyboardEvent) => opened(event)}
    >
      <div class="what" id={content}>
        {isPinned && (
          <p class="pinned" title="It stays whole in every context, whatever is summarised around it">
            <Icon name="pin" /> Pinned
          </p>
        )}
        <Inside row={row} sessionKey={sessionKey} deeds={deeds} />
      </div>
      {entry !== null && (
        <div class="side">
          <a
            class="anchor"
            href={hrefOf("session", sessionKey, { seq: String(entry.seq) })}
            title={titleOf(entry)}
          >
            {timeOf(entry.timestamp)}
          </a>
          <Menu label={`What can be done with this: ${label}`} deeds={() => deeds(entry)} />
        </div>
      )}
    </article>
  );
});

/** Enter, on a row, opens what is folded in it, or closes it. */
function opened(event: KeyboardEvent): void {
  if (event.key !== "Enter" || event.target !== event.currentTarget) return;
  const folds = [...(event.currentTarget as HTMLElement).querySelectorAll<HTMLDetailsElement>("details")];
  const isOpen = folds.some(({ open }) => open);
  for (const fold of folds) fold.open = !isOpen;
  event.preventDefault();
}

function Inside({ row, sessionKey, deeds }: Pick<LineParts, "row" | "sessionKey" | "deeds">) {
  switch (row.kind) {
    case "day":
      return <p class="rule">{new Date(row.atMs).toLocaleDateString(undefined, DAY)}</p>;
    case "letter":
      return <Letter row={row} sessionKey={sessionKey} />;
    case "answer":
      return <Answer row={row} sessionKey={sessionKey} />;
    case "result":
      return <Alone result={row} sessionKey={sessionKey} />;
    case "report":
      return <ReportLine reported={row} />;
    case "compaction":
      return <Compaction row={row} />;
    case "note":
      if (isNote(row.entry, "damage")) return <Damage gap={null} />;
      return <p class="note">{oneLine(row.text.slice(0, 2_000))}</p>;
    case "rewound":
      return <WentBack row={row} deeds={deeds} />;
    case "ended":
      return <Ended row={row} sessionKey={sessionKey} />;
    case "silent":
      return <Silent entries={row.entries} sessionKey={sessionKey} />;
    case "gap":
      return <Damage gap={row.gap} />;
    case "restarted":
      return <p class="rule">restarted, nothing lost</p>;
  }
}

type As<Kind extends Row["kind"]> = Extract<Row, { kind: Kind }>;

/** What was left behind is not shown; this is the way to it. */
function WentBack({ row, deeds }: { readonly row: As<"rewound"> } & Pick<LineParts, "deeds">) {
  const { entry, to, isReturn } = row;
  const back = deeds(entry).find(({ name }) => name === RETURN);
  const left = isReturn
    ? "; what had been said since was left behind"
    : "; what had come after it was left behind";
  return (
    <div class="rule went-back">
      <span>
        {isReturn ? "Returned" : "Went back"} to{" "}
        {to === null ? "what was said before" : nameOfEntry(to, Date.now())}
        {back !== undefined && left}.
      </span>
      {back !== undefined && (
        <Button look="quiet" icon="rewind" unless={back.unless} onClick={back.run}>
          {RETURN}
        </Button>
      )}
    </div>
  );
}

const DAY = { weekday: "long", year: "numeric", month: "long", day: "numeric" } as const;

function Compaction({ row: { entry, text } }: { readonly row: As<"compaction"> }) {
  const words = oneLine(text);
  if (entry.summary.trim() === "") return <p class="rule">{words}</p>;
  const { sections: _sections, ...details } = recordOf(entry.details); // The summary has them.
  return (
    <Fold look="rule" label={<span>{words}</span>}>
      {() => (
        <>
          <Markdown text={clean(entry.summary)} />
          {Object.keys(details).length > 0 && (
            <Fold look="quiet" label="What else it kept">
              {() => <Lines text={JSON.stringify(details, null, 2)} />}
            </Fold>
          )}
        </>
      )}
    </Fold>
  );
}

function recordOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
}

/** It was said to nobody. Who wants to look, may. */
function Silent({
  entries,
  sessionKey,
}: {
  readonly entries: readonly Entry[];
  readonly sessionKey: string;
}) {
  return (
    <Fold
      look="quiet"
      label={`wrote to memory before a summary (${many(entries.length, "entry", "entries")})`}
    >
      {() =>
        entries.map((entry) => (
          <div key={entry.seq}>
            {entry.type === "message" && (
              <Blocks blocks={blocksIn(entry.message.content)} sessionKey={sessionKey} />
            )}
            <Lines text={JSON.stringify(entry, null, 2)} />
          </div>
        ))
      }
    </Fold>
  );
}

const REASONS: Readonly<Record<Gap["reason"], string>> = {
  not_json: "not JSON",
  wrong_shape: "no entry",
  wrong_seq: "its number does not fit",
  too_long: "too long",
  missing: "lines are gone",
};

/** Without a gap: it was found, and what cannot be read of it stands where it is. */
function Damage({ gap }: { readonly gap: Gap | null }) {
  if (gap === null)
    return (
      <p class="note">
        Damage was found up to here. <code>sessiond fsck</code> says more.
      </p>
    );
  const why = REASONS[gap.reason] ?? "not known why";
  if (gap.bytes === 0)
    return (
      <p class="damage">
        Something is missing here: {why}. <code>sessiond fsck</code> says more.
      </p>
    );
  return (
    <p class="damage">
      1 line could not be read ({why}, {bytes(gap.bytes)}); kept in the file. <code>sessiond fsck</code> says
      more.
    </p>
  );
}

function labelOf(row: Row): string {
  const time = "entry" in row && row.entry !== null ? timeOf(row.entry.timestamp) : "";
  const at = time === "" ? "" : `, ${time}`;
  switch (row.kind) {
    case "letter":
      return `Message of ${oneLine(row.item.from).slice(0, 80)}${at}`;
    case "answer":
      return `${row.item.text.trim() === "" ? "Step" : "Answer"}${at}`;
    case "compaction":
      return `Summary${at}`;
    case "gap":
      return "Damage";
    case "day":
      return "Date";
    default:
      return `${{ result: "Result", report: "Report", note: "Note", ended: "End of a turn", rewound: row.kind === "rewound" && row.isReturn ? "Returned" : "Went back", silent: "Memory", restarted: "Restart" }[row.kind]}${at}`;
  }
}

function timeOf(iso: string): string {
  return Number.isNaN(Date.parse(iso)) ? "" : clock(iso);
}

function titleOf({ seq, timestamp }: Entry): string {
  return `entry ${seq} · ${clock(timestamp, "whole")}`;
}
