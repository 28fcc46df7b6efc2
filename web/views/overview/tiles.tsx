// The figures that say most, each with how it went in the last minutes.

import type { ComponentChildren } from "preact";
import { bytes, count, counted, many, money, percent, whole } from "../../../src/base/figures.ts";
import { Plot, type PlotLine } from "../../parts/plot.tsx";
import { rangeOf } from "../../parts/range.ts";
import type { Overview } from "../../wire/events.ts";
import { rateNow, SPAN_MS, sumOf, timesOf, valuesOf, type Point } from "./ring.ts";

interface Shown {
  readonly now: Overview;
  readonly ring: readonly Point[];
}

const HOUR_SECONDS = 3_600;
const SPAN_MS_MIN = 60_000; // a minute

export function Tiles(shown: Shown) {
  return (
    <div class="tiles">
      <Tokens {...shown} />
      <Cost {...shown} />
      <ModelCalls {...shown} />
      <Queue {...shown} />
      <Loop {...shown} />
      <Commits {...shown} />
      <Disk {...shown} />
      <Journal {...shown} />
    </div>
  );
}

interface TileParts {
  readonly name: string;
  readonly figure: string;
  readonly unit?: string;
  readonly more: ComponentChildren;
  readonly plot: {
    readonly ring: readonly Point[];
    readonly lines: readonly (Omit<PlotLine, "values"> & { readonly of: (point: Point) => number | null })[];
    readonly least: number;
    readonly isAround?: boolean;
    readonly say: (value: number) => string;
  };
}

function Tile({ name, figure, unit = "", more, plot }: TileParts) {
  const { ring, least, isAround = false, say } = plot;
  const lines = plot.lines.map(({ of, ...line }) => ({ ...line, values: valuesOf(ring, of) }));
  const spanMs = spanOf(ring);
  const [low, high] = rangeOf({ lines, least, isAround });
  return (
    <section class="card tile" aria-label={name}>
      <h3>{name}</h3>
      <p class="figure">
        <strong>{figure}</strong> {unit !== "" && <span class="soft">{unit}</span>}
      </p>
      <Plot
        label={`${name}, the last ${minutesIn(spanMs)}: now ${figure} ${unit}`.trim()}
        timesMs={timesOf(ring)}
        spanMs={spanMs}
        lines={lines}
        least={least}
        isAround={isAround}
        say={say}
      />
      <p class="scale" aria-hidden="true">
        <span>{minutesIn(spanMs)}</span>
        <span>{isAround ? `${say(low)} to ${say(high)}` : `up to ${say(high)}`}</span>
      </p>
      <p class="more">{more}</p>
    </section>
  );
}

/** The colour of a line, beside its name. */
function Key({ of, children }: { readonly of: "one" | "two"; readonly children: ComponentChildren }) {
  return (
    <span class={`key ${of}`}>
      <span class="swatch" aria-hidden="true" />
      {children}
    </span>
  );
}

const ONE = { colour: "--accent", isFilled: true } as const;
const TWO = { colour: "--warn" } as const;

function Tokens({ now, ring }: Shown) {
  const rate = rateNow(ring);
  const { input, cacheRead, cacheWrite, output } = now.totals;
  return (
    <Tile
      name="Tokens"
      figure={rate === null ? "–" : rateText(rate.input + rate.output)}
      unit="/s"
      plot={{
        ring,
        least: 10,
        say: rateText,
        lines: [
          { ...ONE, of: ({ rates }) => rates && rates.input },
          { ...TWO, of: ({ rates }) => rates && rates.output },
        ],
      }}
      more={
        <>
          <Key of="one">{count(input + cacheRead + cacheWrite)} in</Key>
          <Key of="two">{count(output)} out</Key> since the start
        </>
      }
    />
  );
}

function Cost({ now: { today }, ring }: Shown) {
  const rate = rateNow(ring);
  return (
    <Tile
      name="Cost today"
      figure={money(today.cost)}
      plot={{
        ring,
        least: 0.05,
        say: (value) => `${money(value)}/h`,
        lines: [{ ...ONE, of: ({ rates }) => rates && rates.cost * HOUR_SECONDS }],
      }}
      more={
        <>
          {rate !== null && `${money(rate.cost * HOUR_SECONDS)}/h now · `}
          {counted(today.tokens, "token")}, {many(today.turns, "turn")}
          {!today.isWhole && (
            <abbr title="What was done before this start is still being read, is too much to be read, or was archived.">
              {" "}
              or more
            </abbr>
          )}
        </>
      }
    />
  );
}

function ModelCalls({ now: { slots, processes }, ring }: Shown) {
  return (
    <Tile
      name="Model calls"
      figure={whole(sumOf(slots.inUse))}
      unit={`of ${many(slots.total, "slot")}`}
      plot={{ ring, least: slots.total, say: whole, lines: [{ ...ONE, of: ({ level }) => level.inUse }] }}
      more={`${whole(slots.reserved)} kept for people · programs ${whole(sumOf(processes.inUse))} of ${whole(processes.total)}`}
    />
  );
}

function Queue({ now: { slots, processes }, ring }: Shown) {
  const [waiting, programs] = [sumOf(slots.waiting), sumOf(processes.waiting)];
  return (
    <Tile
      name="Queue"
      figure={whole(waiting)}
      unit={waiting === 1 ? "waits for a slot" : "wait for a slot"}
      plot={{
        ring,
        least: 4,
        say: whole,
        lines: [{ colour: "--warn", isFilled: true, of: ({ level }) => level.waiting }],
      }}
      more={`${whole(slots.waiting.interactive)} of them for people · ${whole(programs)} ${programs === 1 ? "waits" : "wait"} to run a program`}
    />
  );
}

function Loop({ now: { totals }, ring }: Shown) {
  const { loopDelayMs } = totals;
  return (
    <Tile
      name="Event-loop delay"
      figure={loopDelayMs === null ? "–" : loopDelayMs.toFixed(loopDelayMs < 10 ? 1 : 0)}
      unit="ms at most"
      plot={{
        ring,
        least: 50,
        say: (value) => `${whole(Math.round(value))} ms`,
        lines: [{ ...ONE, of: ({ level }) => level.loopDelayMs }],
      }}
      more="How long anything new waits for the daemon, 99 times of 100."
    />
  );
}

function Commits({ now: { totals }, ring }: Shown) {
  const rate = rateNow(ring);
  return (
    <Tile
      name="Commits"
      figure={rate === null ? "–" : rateText(rate.commits)}
      unit="/s"
      plot={{ ring, least: 5, say: rateText, lines: [{ ...ONE, of: ({ rates }) => rates && rates.commits }] }}
      more={`${counted(totals.commits, "commit")}, ${counted(totals.turns, "turn")} since the start`}
    />
  );
}

/** So much of a disk is seen at least: what comes and goes in minutes is no crash. */
const DISK_SHARE = 0.1;

function Disk({ now: { disk, upkeep }, ring }: Shown) {
  const { use } = upkeep;
  return (
    <Tile
      name="Disk"
      figure={disk === null ? "–" : bytes(disk.freeBytes)}
      unit={disk === null ? "" : `free, ${percent(disk.freeBytes, disk.totalBytes)}`}
      plot={{
        ring,
        least: disk === null ? 1e9 : disk.totalBytes * DISK_SHARE,
        say: bytes,
        isAround: true,
        lines: [{ ...ONE, of: ({ level }) => level.freeBytes }],
      }}
      more={
        use === null
          ? "Upkeep has not looked yet at what is used."
          : `transcripts ${bytes(use.transcripts)} · archives ${bytes(use.archives)} · blobs ${bytes(use.blobs)}`
      }
    />
  );
}

function Journal({ now: { journal }, ring }: Shown) {
  return (
    <Tile
      name="Journal"
      figure={journal === null ? "–" : bytes(journal.bytes)}
      plot={{ ring, least: 1e6, say: bytes, lines: [{ ...ONE, of: ({ level }) => level.journalBytes }] }}
      more="Every change is written here first. Its space is used again: it does not grow for ever."
    />
  );
}

/** Who has just come sees what there is large: the whole span is there when it was looked at for so long. */
function spanOf(ring: readonly Point[]): number {
  const seenMs = (ring.at(-1)?.atMs ?? 0) - (ring[0]?.atMs ?? 0);
  return Math.min(SPAN_MS, Math.max(SPAN_MS_MIN, seenMs));
}

function minutesIn(spanMs: number): string {
  return `${Math.round(spanMs / SPAN_MS_MIN)} min`;
}

/** Small ones with a place behind the point. */
function rateText(n: number): string {
  return n > 0 && n < 10 ? n.toFixed(1) : count(n);
}
