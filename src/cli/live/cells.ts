// Rows of a terminal.

import { GRAPHEMES, widthOf } from "../output.ts";

/** The rows that text takes, cut wherever one is full. A letter that is wider than a row has one of its own. */
export function rowsOf(text: string, width: number): readonly string[] {
  return text
    .replaceAll("\t", "    ")
    .split("\n")
    .flatMap((line) => (widthOf(line) <= width ? [line] : cutInto(line, width)));
}

/**
 * The rows that lines take, broken between words: what follows the first row stands below where its words begin. A word that is
 * wider than a row is cut.
 */
export function wordRows(text: string, width: number): readonly string[] {
  return text
    .replaceAll("\t", "    ")
    .split("\n")
    .flatMap((line) => (widthOf(line) <= width ? [line] : brokenIn(line, width)));
}

function brokenIn(line: string, width: number): readonly string[] {
  const hang = " ".repeat(hangOf(line, width));
  const rows: string[] = [];
  let row = "";
  for (const word of line.match(/^\s*\S+|\s+\S+|\s+$/g) ?? []) {
    if (widthOf(row + word) <= width || row === "") row += word;
    else {
      rows.push(row);
      row = hang + word.trimStart();
    }
    const [last = "", ...before] = rowsOf(row, width).toReversed();
    rows.push(...before.toReversed());
    row = last;
  }
  return row.trim() === "" ? rows : [...rows, row];
}

/** Where the words of a line begin: behind a gap, as of a table with two columns; else a little further in than the line itself. */
function hangOf(line: string, width: number): number {
  const [indent = ""] = /^ */.exec(line) ?? [];
  const [gap] = /^ *\S.*? {2,}(?=\S)/.exec(line) ?? [];
  const most = Math.floor(width / 2);
  const hang = gap !== undefined && widthOf(gap) <= most ? widthOf(gap) : indent.length + 2;
  return Math.min(hang, most);
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
