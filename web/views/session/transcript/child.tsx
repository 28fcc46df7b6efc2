// A child that was given a task: a card that fills while it works.

import { useState } from "preact/hooks";
import { count, duration, money } from "../../../../src/base/figures.ts";
import { clean, cut, oneLine } from "../../../../src/base/harmless.ts";
import type { Report, Spawned } from "../../../../src/calls/told.ts";
import type { Entry } from "../../../../src/transcript/entry.ts";
import { withKeys } from "../../../parts/key.ts";
import { Markdown } from "../../../parts/markdown.tsx";
import { Dot, State } from "../../../parts/state.tsx";
import { shortKey } from "../../../parts/text.tsx";
import { hrefOf } from "../../../state/place.ts";
import { nowMs } from "../../../state/now.ts";
import { isMissing, useRow } from "../../../state/rows.ts";
import type { Row } from "../../../wire/events.ts";
import { calledOf } from "../../named.ts";
import { whoIs } from "../../who.tsx";
import { PAUSED, shortened } from "../worded.ts";
import { Fold, Lines } from "./content.tsx";
import { Given } from "./given.tsx";
import type { Called, Reported } from "./rows.ts";

/** Of a report: as much as a card has room for. */
const BEGINNING_CHARS = 280;
const TITLE_CHARS = 100;
const REPORT_CELLS = 48;
/** Of why it failed: a sentence. */
const WHY_CHARS = 300;

interface ChildParts {
  readonly called: Called;
  readonly spawned: Spawned;
  readonly entry: Entry;
  readonly sessionKey: string;
}

export function Child({ called, spawned, entry, sessionKey }: ChildParts) {
  const row = useRow(spawned.key);
  const { call, reported, result } = called;
  const title = titleOf(call.given, row, spawned.key);
  const ended = reported?.item.report.ended ?? endedOf(row);
  const isBad = ended !== null && !isGood(ended);
  return (
    <section
      class={`child${isBad ? " is-bad" : ""}`}
      aria-label={`Sub-agent ${title}`}
      data-part={result?.entry.seq}
    >
      <header>
        <a href={hrefOf("session", spawned.key)} title={title}>
          {title}
        </a>
        {ended === null ? <Now row={row} sessionKey={spawned.key} /> : <Ended words={ended} />}
      </header>
      <p class="figures">
        <Figures row={row} report={reported?.item.report ?? null} />
      </p>
      {isBad && <p class="why">{whyOf(ended)}</p>}
      {reported !== null && <Said reported={reported} />}
      <Fold look="quiet" label="Task">
        {() => <Task entry={entry} called={called} sessionKey={sessionKey} />}
      </Fold>
    </section>
  );
}

function titleOf(given: Readonly<Record<string, unknown>>, row: Row | null, key: string): string {
  const named = ["label", "name", "title", "task"].map((name) => given[name]);
  const found = named.find((each): each is string => typeof each === "string" && each.trim() !== "");
  const called = found ?? (row === null ? "" : calledOf(row).name);
  return cut(oneLine(called.slice(0, 1_000)), TITLE_CHARS) || shortKey(key);
}

/** The words are for whoever reads along; what else was said with them is for machines, and stands below. */
function Task({ entry, called: { call }, sessionKey }: Omit<ChildParts, "spawned">) {
  const { task, label: _label, name: _name, ...rest } = call.given; // They are its title.
  if (typeof task !== "string")
    return <Given entry={entry} id={call.id} given={call.given} sessionKey={sessionKey} />;
  return (
    <>
      <Lines text={task} />
      {Object.keys(rest).length > 0 && <Lines text={JSON.stringify(rest, null, 2)} />}
    </>
  );
}

/** How it ended, before its parent was told; null: it has not, or nobody knows. */
function endedOf(row: Row | null): string | null {
  const [, ended] = /^ended \((.+)$/s.exec(row?.state === "ended" ? (row.why ?? "") : "") ?? [];
  return ended === undefined ? null : ended.replace(")", "");
}

function isGood(ended: string): boolean {
  return ended.startsWith("done");
}

function whyOf(ended: string): string {
  const at = ended.indexOf(":");
  return at < 0 ? "" : cut(oneLine(ended.slice(at + 1)), WHY_CHARS);
}

/** What it does now; nothing, while that is not known. */
function Now({ row, sessionKey }: { readonly row: Row | null; readonly sessionKey: string }) {
  if (row === null) return isMissing(sessionKey) ? <Dot is="idle">gone</Dot> : null;
  return (
    <span class="now">
      <State row={row} />
      <span class="soft">{doingOf(row)}</span>
    </span>
  );
}

/** What it does or waits for, without what stands beside it: its step, its state and the whole names of others. */
export function doingOf({ why, state }: Row): string {
  if (why === null || state === "ended") return "";
  if (state === "paused") return PAUSED;
  const words = shortened(oneLine(why))
    .replace(/^step \d+ of a turn since \S+: /, "")
    .replace(/ since \d{4}-[\d:.TZ-]+Z/, "");
  return withKeys(words, whoIs);
}

/** In a word; why stands below. */
function Ended({ words }: { readonly words: string }) {
  const [word = ""] = oneLine(words).split(":", 1);
  return (
    <span class={`ended ${isGood(words) ? "good" : "bad"}`}>
      {isGood(words) ? "✓" : "✗"} {cut(word, TITLE_CHARS)}
    </span>
  );
}

function Figures({ row, report }: { readonly row: Row | null; readonly report: Report | null }) {
  const tokens = report?.tokens ?? row?.tokens ?? null;
  const isBusy = row !== null && row.state !== "idle" && row.state !== "ended";
  const ms =
    report?.seconds != null
      ? report.seconds * 1_000
      : isBusy
        ? Math.max(0, nowMs.value - Date.parse(row.bornAt))
        : null;
  const parts = [
    row === null ? null : row.model,
    tokens === null || tokens === 0 ? null : `${count(tokens)} tokens`,
    row === null || row.cost === 0 ? null : money(row.cost),
    ms === null || ms === 0 ? null : duration(Math.floor(ms / 1_000) * 1_000 || ms),
  ];
  return <>{parts.filter((part) => part !== null).join(" · ")}</>;
}

/** What it said in the end. The first lines of a report are figures, which stand above. */
function Said({ reported }: { readonly reported: Reported }) {
  const [isWhole, setWhole] = useState(false);
  const words = wordsOf(reported.item.text);
  if (words.trim() === "") return null;
  if (words.length <= BEGINNING_CHARS) return <Markdown text={words} />;
  return (
    <>
      {isWhole ? <Markdown text={words} /> : <p>{cut(oneLine(words.slice(0, 1_000)), BEGINNING_CHARS)}</p>}
      <button type="button" class="unclamp" aria-expanded={isWhole} onClick={() => setWhole(!isWhole)}>
        {isWhole ? "Show less" : "Show all"}
      </button>
    </>
  );
}

function wordsOf(text: string): string {
  const head = /^Report of [^\n]*\n[^\n]*\n(?:Its answer:\n|What it had said:\n|It said nothing\.$)/;
  return clean(text.replace(head, ""));
}

/** In the place where it came: a quiet line. Its figures and why it failed stand in its card, and in its session. */
export function ReportLine({ reported }: { readonly reported: Reported }) {
  const { report, text } = reported.item;
  const row = useRow(report.child);
  const name = row === null ? shortKey(report.child) : cut(calledOf(row).name, REPORT_CELLS);
  const label = (
    <>
      <span class={report.isGood ? "good" : "bad"}>{report.isGood ? "✓" : "✗"}</span>
      <span>
        Report of {name}: {cut(oneLine(report.ended), TITLE_CHARS)}
      </span>
    </>
  );
  return (
    <Fold look="quiet" label={label}>
      {() => (
        <>
          <Markdown text={wordsOf(text)} />
          <a href={hrefOf("session", report.child)}>Open {shortKey(report.child)}</a>
        </>
      )}
    </Fold>
  );
}
