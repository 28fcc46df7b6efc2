// A child that was given a task: a card that fills while it works.

import { count, duration, money } from "../../../../src/base/figures.ts";
import { clean, cut, oneLine } from "../../../../src/base/harmless.ts";
import type { Report, Spawned } from "../../../../src/calls/told.ts";
import type { Entry } from "../../../../src/transcript/entry.ts";
import { Markdown } from "../../../parts/markdown.tsx";
import { Dot, State } from "../../../parts/state.tsx";
import { shortKey } from "../../../parts/text.tsx";
import { hrefOf } from "../../../state/place.ts";
import { nowMs } from "../../../state/now.ts";
import { isMissing, useRow } from "../../../state/rows.ts";
import type { Row } from "../../../wire/events.ts";
import { Fold } from "./content.tsx";
import { Given } from "./given.tsx";
import type { Called, Reported } from "./rows.ts";

/** Of a report: as much as a card has room for. */
const BEGINNING_CHARS = 280;
const TITLE_CHARS = 100;

interface ChildParts {
  readonly called: Called;
  readonly spawned: Spawned;
  readonly entry: Entry;
  readonly sessionKey: string;
}

export function Child({ called, spawned, entry, sessionKey }: ChildParts) {
  const row = useRow(spawned.key);
  const { call, reported, result } = called;
  return (
    <section class="child" aria-label={`Sub-agent ${shortKey(spawned.key)}`} data-part={result?.entry.seq}>
      <header>
        <a href={hrefOf("session", spawned.key)}>{titleOf(call.given, row, spawned.key)}</a>
        {reported === null ? (
          <Now row={row} sessionKey={spawned.key} />
        ) : (
          <Ended words={reported.item.report.ended} isGood={reported.item.report.isGood} />
        )}
      </header>
      <p class="figures">
        <Figures row={row} report={reported?.item.report ?? null} />
      </p>
      {reported !== null && <Said reported={reported} />}
      <Fold look="quiet" label="Task">
        {() => <Given entry={entry} id={call.id} given={call.given} sessionKey={sessionKey} />}
      </Fold>
    </section>
  );
}

function titleOf(given: Readonly<Record<string, unknown>>, row: Row | null, key: string): string {
  const named = ["label", "name", "title", "task"].map((name) => given[name]);
  const found = named.find((each): each is string => typeof each === "string" && each.trim() !== "");
  return cut(oneLine((found ?? row?.title ?? "").slice(0, 1_000)), TITLE_CHARS) || shortKey(key);
}

/** What it does now; nothing, while that is not known. */
function Now({ row, sessionKey }: { readonly row: Row | null; readonly sessionKey: string }) {
  if (row === null) return isMissing(sessionKey) ? <Dot is="idle">gone</Dot> : null;
  const [, ended] = /^ended \((.+)$/s.exec(row.state === "ended" ? (row.why ?? "") : "") ?? [];
  if (ended !== undefined) return <Ended words={ended.replace(")", "")} isGood={ended.startsWith("done")} />;
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
  const words = oneLine(why)
    .replace(/^step \d+ of a turn since \S+: /, "")
    .replace(/ since \d{4}-[\d:.TZ-]+Z/, "");
  return words.replaceAll(/\bagent:[\w:%.-]*\w/g, (key) => shortKey(key));
}

/** Its report, which comes when its parent has time for it, says the same. */
function Ended({ words, isGood }: { readonly words: string; readonly isGood: boolean }) {
  return (
    <span class={isGood ? "good" : "bad"}>
      {isGood ? "✓" : "✗"} {cut(oneLine(words), TITLE_CHARS)}
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
    tokens === null ? null : `${count(tokens)} tokens`,
    row === null || row.cost === 0 ? null : money(row.cost),
    ms === null ? null : duration(Math.floor(ms / 1_000) * 1_000 || ms),
  ];
  return <>{parts.filter((part) => part !== null).join(" · ")}</>;
}

/** What it said in the end. The first lines of a report are figures, which stand above. */
function Said({ reported }: { readonly reported: Reported }) {
  const words = wordsOf(reported.item.text);
  if (words.length <= BEGINNING_CHARS) return <Markdown text={words} />;
  return (
    <Fold look="report" label={<span>{cut(oneLine(words.slice(0, 1_000)), BEGINNING_CHARS)}</span>}>
      {() => <Markdown text={words} />}
    </Fold>
  );
}

function wordsOf(text: string): string {
  return clean(text.replace(/^Report of [^\n]*\n[^\n]*\n(?:Its answer:|What it had said:)\n/, ""));
}

/** In the place where it came: a quiet line. */
export function ReportLine({ reported }: { readonly reported: Reported }) {
  const { report, text } = reported.item;
  const figures = [
    report.seconds === null ? null : duration(report.seconds * 1_000),
    report.tokens === null ? null : `${count(report.tokens)} tokens`,
  ].filter((part) => part !== null);
  const label = (
    <>
      <span class={report.isGood ? "good" : "bad"}>{report.isGood ? "✓" : "✗"}</span>
      <span>
        report of {shortKey(report.child)}: {cut(oneLine(report.ended), TITLE_CHARS)}
        {figures.length > 0 && ` · ${figures.join(" · ")}`}
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
