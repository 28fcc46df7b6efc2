// A small picture of how something went. The figures stand beside it in words; this is for who sees a line faster than a number.

import { signal } from "@preact/signals";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import type uPlot from "uplot";
import { theme } from "../state/theme.ts";
import { clock } from "./clock.ts";
import { rangeOf, type Ranged } from "./range.ts";
import "uplot/dist/uPlot.min.css";

export interface PlotLine {
  /** A variable of style/base.css, such as --accent. */
  readonly colour: string;
  readonly values: readonly (number | null)[]; // null: not known then; the line has a gap
  readonly isFilled?: boolean;
}

interface PlotParts extends Ranged {
  /** What it shows, with its figures: for who does not see it. */
  readonly label: string;
  readonly timesMs: readonly number[]; // the newest is last, and at the right edge
  readonly spanMs: number; //             from the left edge to the right
  readonly lines: readonly PlotLine[];
  /** A value in words, for who points at it. */
  readonly say: (value: number) => string;
}

/** Another number when the machine goes from light to dark, or back. */
const machine = signal(0);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => (machine.value += 1));

type Drawing = typeof uPlot;

/**
 * It is loaded when the first plot is shown. While it is, it asks for the browser's language, and fails where that has a name which no
 * standard knows: then there are the figures without the lines.
 */
let loading: Promise<Drawing | null> | null = null;
function drawing(): Promise<Drawing | null> {
  loading ??= import("uplot").then(
    ({ default: made }) => made,
    () => null,
  );
  return loading;
}

export function Plot(parts: PlotParts) {
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const latest = useRef(parts);
  latest.current = parts;
  const [pointed, setPointed] = useState<number | null>(null);
  useLayoutEffect(() => {
    const element = box.current;
    if (element === null) return;
    let isOver = false;
    void drawing().then((Drawn) => {
      if (isOver || Drawn === null) return;
      plot.current = new Drawn(optionsOf(element, latest, setPointed), dataOf(latest.current), element);
    });
    const watcher = new ResizeObserver(() =>
      plot.current?.setSize({ width: element.clientWidth, height: element.clientHeight }),
    );
    watcher.observe(element);
    return () => {
      isOver = true;
      watcher.disconnect();
      plot.current?.destroy();
      plot.current = null;
    };
  }, [theme.value, machine.value, parts.lines.length]); // Its colours are those of when it was made.
  useEffect(() => plot.current?.setData(dataOf(parts)), [parts.timesMs, parts.lines]);
  return (
    <div class="plot" role="img" aria-label={parts.label}>
      <div class="drawn" ref={box} />
      {pointed !== null && <Reading parts={parts} at={pointed} />}
    </div>
  );
}

/** What was there at the moment that somebody points at. */
function Reading({ parts: { timesMs, lines, say }, at }: { readonly parts: PlotParts; readonly at: number }) {
  const atMs = timesMs[at];
  if (atMs === undefined) return null;
  const values = lines.map(({ values: all }) => all[at]).map((value) => (value == null ? "–" : say(value)));
  return (
    <p class="reading" aria-hidden="true">
      {clock(atMs, "seconds")} · {values.join(" · ")}
    </p>
  );
}

function dataOf({ timesMs, lines }: PlotParts): uPlot.AlignedData {
  return [[...timesMs], ...lines.map(({ values }) => [...values])];
}

const LINE_WIDTH = 1.5;
const FILL_PERCENT = 14;

function optionsOf(
  element: HTMLElement,
  latest: { readonly current: PlotParts },
  point: (at: number | null) => void,
): uPlot.Options {
  return {
    width: element.clientWidth,
    height: element.clientHeight,
    padding: [LINE_WIDTH, 0, LINE_WIDTH, 0],
    legend: { show: false },
    axes: [{ show: false }, { show: false }],
    cursor: { y: false, drag: { x: false, y: false }, points: { size: 5 } },
    scales: {
      x: { time: false, range: () => spanIn(latest.current) },
      y: { range: () => [...rangeOf(latest.current)] },
    },
    series: [
      {},
      ...latest.current.lines.map(({ colour, isFilled = false }) => ({
        stroke: colourOf(element, colour),
        width: LINE_WIDTH,
        points: { show: false },
        ...(isFilled ? { fill: faded(colourOf(element, colour)) } : {}),
      })),
    ],
    hooks: { setCursor: [({ cursor: { idx } }) => point(idx ?? null)] },
  };
}

function spanIn({ timesMs, spanMs }: PlotParts): [number, number] {
  const last = timesMs.at(-1) ?? 0;
  return [last - spanMs, last];
}

function faded(colour: string): string {
  return `color-mix(in srgb, ${colour} ${FILL_PERCENT}%, transparent)`;
}

/** As it is in force here: a variable itself says both, that of light and that of dark. */
function colourOf(element: HTMLElement, name: string): string {
  element.style.color = `var(${name})`;
  const { color } = getComputedStyle(element);
  element.style.removeProperty("color");
  return color;
}
