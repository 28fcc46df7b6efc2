// What is due when: a lane for each, marks at its times. Whoever does not see it is told the same in words.

import { useEffect, useState } from "preact/hooks";
import { many } from "../../../src/base/figures.ts";
import { Button } from "../../parts/button.tsx";
import { clock } from "../../parts/clock.ts";
import { nowMs } from "../../state/now.ts";
import { hrefOf, place, replace } from "../../state/place.ts";
import { call } from "../../wire/call.ts";
import { nameOf } from "./deeds.tsx";
import type { Heartbeat, TimedOnes } from "../../wire/jobs.ts";
import { laneOf, shareOf, ticksOf, TIMES_ASKED, type Lane, type Timed, type Window } from "./lanes.ts";
import { exactly } from "./exactly.ts";
import { minutesText, whenWords } from "./words.ts";

const HOUR_MS = 3_600_000;
const SPANS = [
  ["1h", "1 hour", HOUR_MS],
  ["24h", "24 hours", 24 * HOUR_MS],
  ["7d", "7 days", 168 * HOUR_MS],
] as const;
const LANES_MAX = 12;
/** Of the window is past: so what is due now can be seen. */
const PAST = 1 / 48;
/** Moves once in so long: marks that crawl are not read better. */
const STEP_MS = 15_000;

type Entry = Omit<Timed, "times"> & {
  readonly of: string; // as a place names it
  readonly name: string;
};

export function Timeline({ jobs, heartbeats }: TimedOnes) {
  const [chosen, , spanMs] = SPANS.find(([name]) => name === place.value.query["span"]) ?? SPANS[1];
  const now = Math.floor(nowMs.value / STEP_MS) * STEP_MS;
  const window = { fromMs: now - spanMs * PAST, toMs: now + spanMs };
  const entries = [
    ...jobs.map((job): Entry => ({ ...job, of: job.id, name: nameOf(job) })),
    ...heartbeats.filter(({ task }) => task !== "none").map(entryOf),
  ].filter(({ next }) => next !== null);
  const due = entries.filter(({ next }) => next !== null && Date.parse(next) <= window.toMs);
  const shown = due.slice(0, LANES_MAX);
  const times = useTimes(shown);
  if (entries.length === 0) return null;
  const words = SPANS.find(([name]) => name === chosen)?.[1] ?? "";
  return (
    <section class="timeline card" aria-label={`What is due in the next ${words}`}>
      <div class="head">
        <h2>Next {words}</h2>
        <div class="spans" role="group" aria-label="How far ahead">
          {SPANS.map(([name]) => (
            <Button
              key={name}
              look="quiet"
              isOn={name === chosen}
              onClick={() => replace({ ...place.value.query, span: name })}
            >
              {name}
            </Button>
          ))}
        </div>
      </div>
      <Ticks window={window} now={now} />
      <ul>
        {shown.map((entry) => (
          <LaneLine
            key={entry.of}
            entry={entry}
            lane={laneOf({ ...entry, times: times.get(entry.of) ?? [] }, window)}
            window={window}
          />
        ))}
      </ul>
      {due.length === 0 && <p class="soft">Nothing is due so soon.</p>}
      {due.length > LANES_MAX && (
        <p class="soft">{many(due.length - LANES_MAX, "more lane")}: filter to see them.</p>
      )}
    </section>
  );
}

/** In its hours only it beats: then no more than the next time is known. */
function entryOf({ agent, everyMinutes, hours, nextAt }: Heartbeat): Entry {
  return {
    of: `heartbeat:${agent}`,
    name: `heartbeat of ${agent}`,
    when: hours === null ? `every ${minutesText(everyMinutes)}` : "",
    next: nextAt,
  };
}

/** Labels stand in the middle above their moment: near an edge, or beside "now", there is no room for them, also on a phone. */
const LABELLED = { from: 0.14, to: 0.95 } as const;

function Ticks({ window, now }: { readonly window: Window; readonly now: number }) {
  const isDays = window.toMs - window.fromMs > 48 * HOUR_MS;
  const ticks = ticksOf(window, -new Date(now).getTimezoneOffset() * 60_000);
  const shown = ticks.filter((ms) => {
    const share = shareOf(ms, window);
    return share > LABELLED.from && share < LABELLED.to;
  });
  return (
    <div class="ticks" aria-hidden="true">
      <span class="track">
        {shown.map((ms, at) => (
          <span
            key={ms}
            class={`tick${at % 2 === 0 ? "" : " second"}`}
            style={{ left: `${shareOf(ms, window) * 100}%` }}
          >
            {isDays
              ? new Date(ms).toLocaleDateString(undefined, { weekday: "short", day: "numeric" })
              : clock(ms)}
          </span>
        ))}
        <span class="tick now" style={{ left: `${shareOf(now, window) * 100}%` }}>
          now
        </span>
      </span>
    </div>
  );
}

interface LaneParts {
  readonly entry: Entry;
  readonly lane: Lane;
  readonly window: Window;
}

function LaneLine({ entry, lane, window }: LaneParts) {
  const { of, name, when } = entry;
  const often = when === "" ? "" : whenWords(when).replace(/ \([^()]*\)$/, "");
  return (
    <li>
      <a href={hrefOf("schedule", of)} title={name}>
        {name}
      </a>
      <span class="track" role="img" aria-label={laneWords(entry, lane)}>
        <span class="line now" style={{ left: `${shareOf(nowMs.value, window) * 100}%` }} />
        {lane.marks.map((ms) => (
          <span key={ms} class="mark" style={{ left: `${shareOf(ms, window) * 100}%` }} title={at(ms)} />
        ))}
        {lane.bars.map((bar) => (
          <Bar key={bar.fromMs} bar={bar} often={often} window={window} />
        ))}
      </span>
    </li>
  );
}

interface BarParts {
  readonly bar: Window;
  readonly often: string;
  readonly window: Window;
}

/** One that goes on has its words in it; one that ends may be too short for them. */
function Bar({ bar: { fromMs, toMs }, often, window }: BarParts) {
  const left = `${shareOf(fromMs, window) * 100}%`;
  if (toMs >= window.toMs)
    return (
      <span class="bar" title={`${often}, from ${at(fromMs)} on`} style={{ left }}>
        {often}
      </span>
    );
  const width = `${(shareOf(toMs, window) - shareOf(fromMs, window)) * 100}%`;
  return (
    <span class="bar ends" title={`${often}, from ${at(fromMs)} to ${at(toMs)}`} style={{ left, width }} />
  );
}

function at(ms: number): string {
  return exactly(new Date(ms).toISOString());
}

const MARKS_SAID = 5;

function laneWords({ when, next }: Entry, { marks, bars }: Lane): string {
  const said = marks.slice(0, MARKS_SAID).map(at);
  const more = marks.length > MARKS_SAID ? [`${marks.length - MARKS_SAID} more`] : [];
  const often = bars.map(({ fromMs }) => `from ${at(fromMs)} on ${whenWords(when)}`);
  const due = [...said, ...more, ...often].join(", ");
  return due === "" ? `due ${next ?? "never"}` : `due ${due}`;
}

/** Of which expression times are, with its zone: another may have the same next time, and no other that is the same. */
interface Told {
  readonly when: string;
  readonly times: readonly string[];
}

/** The next times of those that are told by an expression: asked for once for each next time of each expression, and kept. */
function useTimes(entries: readonly Entry[]): ReadonlyMap<string, readonly string[]> {
  const [kept, setKept] = useState<ReadonlyMap<string, Told>>(new Map());
  const told = entries.filter(({ when }) => when !== "" && !/^(?:every|at) /.test(when));
  const timesOf = ({ of, when }: Entry): readonly string[] => {
    const had = kept.get(of);
    return had?.when === when ? had.times : [];
  };
  const wanted = told.filter((entry) => timesOf(entry)[0] !== entry.next);
  const named = wanted.map(({ of, when, next }) => `${of} ${when} ${next}`).join("\n");
  useEffect(() => {
    if (wanted.length === 0) return;
    const over = new AbortController();
    const found = wanted.map(
      async ({ of, when, next }) => [of, { when, times: await timesFrom(of, next, over.signal) }] as const,
    );
    void Promise.all(found).then((all) => {
      if (!over.signal.aborted) setKept((was) => new Map([...was, ...all]));
    });
    return () => over.abort();
  }, [named]);
  return new Map(
    told.map((entry) => [entry.of, timesOf(entry).filter((time) => time >= (entry.next ?? ""))]),
  );
}

/** From the next time that the list has; if it cannot be had, that is all that is known. */
async function timesFrom(job: string, next: string | null, signal: AbortSignal): Promise<readonly string[]> {
  const told = await call("jobTimes", { job, limit: TIMES_ASKED }, signal).catch(() => null);
  return told === null || told.times[0] !== next ? [String(next)] : told.times;
}
