// Rows and columns of a terminal.

import { cut, widthOf } from "../output.ts";

/** Exactly so wide: cut, or filled up. `at` says on which side the text stands. */
export function column(text: string, width: number, at: "left" | "right" = "left"): string {
  const shown = cut(text, width);
  const space = " ".repeat(Math.max(0, width - widthOf(shown)));
  return at === "left" ? shown + space : space + shown;
}

const clusters = new Intl.Segmenter("en", { granularity: "grapheme" });

/** The rows that text takes, cut wherever one is full. A letter that is wider than a row has one of its own. */
export function rowsOf(text: string, width: number): readonly string[] {
  return text
    .replaceAll("\t", "    ")
    .split("\n")
    .flatMap((line) => (widthOf(line) <= width ? [line] : cutInto(line, width)));
}

function cutInto(line: string, width: number): readonly string[] {
  const rows: string[] = [];
  let [row, used] = ["", 0];
  for (const { segment } of clusters.segment(line)) {
    const wide = widthOf(segment);
    if (used + wide > width && row !== "") {
      rows.push(row);
      [row, used] = ["", 0];
    }
    row += segment;
    used += wide;
  }
  return [...rows, row];
}
