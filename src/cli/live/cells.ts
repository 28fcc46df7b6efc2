// Rows of a terminal.

import { GRAPHEMES, widthOf } from "../output.ts";

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
  for (const { segment } of GRAPHEMES.segment(line)) {
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
