// A small picture of how something went. The figures stand beside it in words; this is for who sees a line faster than a number.

import { signal } from "@preact/signals";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { theme } from "../state/theme.ts";

export interface PlotLine {
  /** A variable of style/base.css, such as --accent. */
  readonly colour: string;
  readonly values: readonly (number | null)[]; // null: not known then; the line has a gap
  readonly isFilled?: boolean;
}

interface PlotParts {
  /** What it shows, with its figures: for who does not see it. */
  readonly label: string;
  readonly timesMs: readonly number[]; // the newest is last, and at the right edge
  readonly spanMs: number; //             from the left edge to the right
  readonly lines: readonly PlotLine[];
  /** What the top is at least, so that next to nothing looks like next to nothing. */
  readonly least: number;
  /** True: from the lowest to the highest, for what is never near nothing. */
  readonly isAround?: boolean;
}

/** Another number when the machine goes from light to dark, or back. */
const machine = signal(0);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => (machine.value += 1));

export function Plot(parts: PlotParts) {
  const box = useRef<HTMLCanvasElement>(null);
  const [size, setSize] = useState({ width: 0, height: 0 });
  useLayoutEffect(() => {
    const element = box.current;
    if (element === null) return;
    const watcher = new ResizeObserver(() =>
      setSize({ width: element.clientWidth, height: element.clientHeight }),
    );
    watcher.observe(element);
    return () => watcher.disconnect();
  }, []);
  useEffect(() => {
    if (box.current !== null && size.width > 0) draw(box.current, parts);
  }, [parts.timesMs, parts.lines, size, theme.value, machine.value]);
  return <canvas class="plot" ref={box} role="img" aria-label={parts.label} />;
}

const LINE_WIDTH = 1.5;
const FILL_SHARE = 0.14;

function draw(canvas: HTMLCanvasElement, parts: PlotParts): void {
  const { clientWidth: width, clientHeight: height } = canvas;
  const perPixel = window.devicePixelRatio;
  [canvas.width, canvas.height] = [Math.round(width * perPixel), Math.round(height * perPixel)];
  const pen = canvas.getContext("2d");
  if (pen === null) return;
  pen.scale(perPixel, perPixel);
  pen.lineWidth = LINE_WIDTH;
  pen.lineJoin = "round";
  const [low, high] = rangeOf(parts);
  const lastMs = parts.timesMs.at(-1) ?? 0;
  const x = (at: number): number => width - ((lastMs - (parts.timesMs[at] ?? 0)) / parts.spanMs) * width;
  const y = (value: number): number =>
    height - LINE_WIDTH - ((value - low) / (high - low)) * (height - 2 * LINE_WIDTH);
  for (const { colour, values, isFilled = false } of parts.lines) {
    pen.strokeStyle = pen.fillStyle = colourOf(canvas, colour);
    for (const stretch of stretchesOf(values)) {
      const path = new Path2D();
      for (const [at, value] of stretch) path.lineTo(x(at), y(value));
      pen.stroke(path);
      if (!isFilled) continue;
      path.lineTo(x(stretch.at(-1)?.[0] ?? 0), height);
      path.lineTo(x(stretch[0]?.[0] ?? 0), height);
      pen.globalAlpha = FILL_SHARE;
      pen.fill(path);
      pen.globalAlpha = 1;
    }
  }
}

function rangeOf({ lines, least, isAround = false }: PlotParts): readonly [low: number, high: number] {
  const all = lines.flatMap(({ values }) => values.filter((value) => value !== null));
  const top = all.reduce((most, each) => Math.max(most, each), 0);
  if (!isAround) return [0, Math.max(top, least)];
  const bottom = all.reduce((fewest, each) => Math.min(fewest, each), top);
  const room = Math.max((top - bottom) / 10, least);
  return [bottom - room, top + room];
}

/** Between the gaps: where each value stands, and it. */
function stretchesOf(values: readonly (number | null)[]): readonly (readonly (readonly [number, number])[])[] {
  const stretches: (readonly [number, number])[][] = [[]];
  for (const [at, value] of values.entries())
    if (value === null) stretches.push([]);
    else stretches.at(-1)?.push([at, value]);
  return stretches.filter(({ length }) => length > 0);
}

/** As it is in force here: a variable itself says both, that of light and that of dark. */
function colourOf(element: HTMLElement, name: string): string {
  element.style.color = `var(${name})`;
  const { color } = getComputedStyle(element);
  element.style.removeProperty("color");
  return color;
}
