// What is due when: a lane for each, marks at its times. Whoever does not see it is told the same in words.

import { useEffect, useState } from "preact/hooks";
import { many } from "../../../src/base/figures.ts";
import { Button } from "../../parts/button.tsx";
import { clock } from "../../parts/clock.ts";
import { nowMs } from "../../state/now.ts";
import { hrefOf, place, replace } from "../../state/place.ts";
import { call } from "../../wire/call.ts";
import { nameOf } from "./deeds.tsx";
import type { Heartbeat, JobRow, TimedOnes } from "../../wire/jobs.ts";
import { laneOf, shareOf, ticksOf, type Lane, type Timed, type Window } from "./lanes.ts";
import { exactly } from "./lines.tsx";
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

interface Entry extends Timed {
  readonly of: string; // as a place names it
  readonly name: string;
}

export function Timeline({ jobs, heartbeats }: TimedOnes) {
  const times = useTimes(jobs);
  const [chosen, , spanMs] = SPANS.find(([name]) => name === place.value.query["span"]) ?? SPANS[1];
  const now = Math.floor(nowMs.value / STEP_MS) * STEP_MS;
  const window = { fromMs: now - spanMs * PAST, toMs: now + spanMs };
  const entries = [
    ...jobs.map((job): Entry => ({ ...job, of: job.id, name: nameOf(job), times: times.get(job.id) ?? [] })),
    ...heartbeats.filter(({ task }) => task !== "none").map(entryOf),
  ].filter(({ next }) => next !== null);
  const lanes = entries.map((entry) => ({ entry, lane: laneOf(entry, window) }));
  const seen = lanes.filter(({ lane: { marks, bar } }) => marks.length > 0 || bar !== null);
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
        {seen.slice(0, LANES_MAX).map(({ entry, lane }) => (
          <LaneLine key={entry.of} entry={entry} lane={lane} window={window} />
        ))}
      </ul>
      {seen.length === 0 && <p class="soft">Nothing is due so soon.</p>}
      {seen.length > LANES_MAX && (
        <p class="soft">{many(seen.length - LANES_MAX, "more lane")}: filter to see them.</p>
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
    times: [],
  };
}

function Ticks({ window, now }: { readonly window: Window; readonly now: number }) {
  const isDays = window.toMs - window.fromMs > 48 * HOUR_MS;
  const ticks = ticksOf(window, -new Date(now).getTimezoneOffset() * 60_000);
  return (
    <div class="ticks" aria-hidden="true">
      <span class="track">
        {ticks
          .filter((ms) => shareOf(ms, window) > 0.1 && shareOf(ms, window) < 0.97)
          .map((ms) => (
            <span key={ms} class="tick" style={{ left: `${shareOf(ms, window) * 100}%` }}>
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

function LaneLine({ entry, lane: { marks, bar }, window }: LaneParts) {
  const { of, name, when, next } = entry;
  const often = when === "" ? "" : whenWords(when).replace(/ \([^()]*\)$/, "");
  return (
    <li>
      <a href={hrefOf("schedule", of)} title={name}>
        {name}
      </a>
      <span class="track" role="img" aria-label={laneWords(entry, marks, bar)}>
        <span class="line now" style={{ left: `${shareOf(nowMs.value, window) * 100}%` }} />
        {marks.map((ms) => (
          <span
            key={ms}
            class="mark"
            style={{ left: `${shareOf(ms, window) * 100}%` }}
            title={exactly(new Date(ms).toISOString())}
          />
        ))}
        {bar !== null && (
          <span
            class="bar"
            title={next === null ? often : `${often}; next ${exactly(next)}`}
            style={{ left: `${shareOf(bar.fromMs, window) * 100}%` }}
          >
            {often}
          </span>
        )}
      </span>
    </li>
  );
}

const MARKS_SAID = 5;

function laneWords({ when, next }: Entry, marks: readonly number[], bar: Window | null): string {
  const said = marks.slice(0, MARKS_SAID).map((ms) => exactly(new Date(ms).toISOString()));
  const more = marks.length > MARKS_SAID ? [`${marks.length - MARKS_SAID} more`] : [];
  const often =
    bar === null ? [] : [`from ${exactly(new Date(bar.fromMs).toISOString())} on ${whenWords(when)}`];
  const due = [...said, ...more, ...often].join(", ");
  return due === "" ? `due ${next ?? "never"}` : `due ${due}`;
}

/** The next times of those that are told by an expression: asked for once for each next time, and kept. */
function useTimes(jobs: readonly JobRow[]): ReadonlyMap<string, readonly string[]> {
  const [times, setTimes] = useState<ReadonlyMap<string, readonly string[]>>(new Map());
  const wanted = jobs
    .filter(
      ({ when, next, id }) => next !== null && !/^(?:every|at) /.test(when) && times.get(id)?.[0] !== next,
    )
    .slice(0, LANES_MAX);
  const named = wanted.map(({ id, next }) => `${id} ${next}`).join(" ");
  useEffect(() => {
    if (wanted.length === 0) return;
    const over = new AbortController();
    const asked = wanted.map(async ({ id, next }) => {
      const told = await call("job", { job: id }, over.signal).catch(() => null); // Then its next time is all that is known.
      return [id, told === null || told.times[0] !== next ? [String(next)] : told.times] as const;
    });
    void Promise.all(asked).then((found) => {
      if (!over.signal.aborted) setTimes((was) => new Map([...was, ...found]));
    });
    return () => over.abort();
  }, [named]);
  return times;
}
