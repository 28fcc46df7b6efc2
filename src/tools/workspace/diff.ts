// What an edit changed, in the form that people and models know (unified), bounded.

/** Lines around a change. */
const CONTEXT_LINES = 2;

/** Lines, and characters of a line, that are shown. */
const SHOWN_LINES_MAX = 120;
const LINE_CHARS_MAX = 200;

/** Lines on both sides, multiplied, up to which it is found out which of them stayed. Above, all between is shown as changed. */
const COMPARED_MAX = 1_000_000;

interface Row {
  readonly sign: " " | "-" | "+";
  readonly line: string;
}

export function diffOf(before: string, after: string): string {
  const [old, now] = [linesOf(before), linesOf(after)];
  const same = (a: number, b: number): boolean => old[a] === now[b];
  const least = Math.min(old.length, now.length);
  let head = 0;
  while (head < least && same(head, head)) head += 1;
  let tail = 0;
  while (tail < least - head && same(old.length - 1 - tail, now.length - 1 - tail)) tail += 1;
  const rows: Row[] = [
    ...staying(old.slice(Math.max(0, head - CONTEXT_LINES), head)),
    ...changes(old.slice(head, old.length - tail), now.slice(head, now.length - tail)),
    ...staying(old.slice(old.length - tail, old.length - tail + CONTEXT_LINES)),
  ];
  return hunks(rows, Math.max(0, head - CONTEXT_LINES));
}

/** A newline at the end begins no line. That a file has none there is a difference of its last line. */
function linesOf(text: string): string[] {
  const lines = text.split("\n");
  if (lines.at(-1) === "") lines.pop();
  else lines.push(`${lines.pop()} [no newline at the end]`);
  return lines;
}

function staying(lines: readonly string[]): Row[] {
  return lines.map((line) => ({ sign: " ", line }));
}

function changes(old: readonly string[], now: readonly string[]): Row[] {
  if (old.length * now.length > COMPARED_MAX)
    return [
      ...old.map((line) => ({ sign: "-", line }) as const),
      ...now.map((line) => ({ sign: "+", line }) as const),
    ];
  const width = now.length + 1;
  // How many lines can stay from here on, for each pair of places.
  const stay = new Uint16Array((old.length + 1) * width);
  const stays = (a: number, b: number): number => stay[a * width + b] ?? 0;
  for (let a = old.length - 1; a >= 0; a -= 1)
    for (let b = now.length - 1; b >= 0; b -= 1)
      stay[a * width + b] =
        old[a] === now[b] ? stays(a + 1, b + 1) + 1 : Math.max(stays(a + 1, b), stays(a, b + 1));
  const rows: Row[] = [];
  for (let [a, b] = [0, 0]; a < old.length || b < now.length;) {
    if (a < old.length && b < now.length && old[a] === now[b]) {
      rows.push({ sign: " ", line: old[a] ?? "" });
      [a, b] = [a + 1, b + 1];
    } else if (a < old.length && (b === now.length || stays(a + 1, b) >= stays(a, b + 1))) {
      rows.push({ sign: "-", line: old[a++] ?? "" });
    } else {
      rows.push({ sign: "+", line: now[b++] ?? "" });
    }
  }
  return rows;
}

/** `at`: how many lines of the file stand before the first row; the same on both sides. */
function hunks(rows: readonly Row[], at: number): string {
  const isNear = rows.map((_, index) =>
    rows
      .slice(Math.max(0, index - CONTEXT_LINES), index + CONTEXT_LINES + 1)
      .some(({ sign }) => sign !== " "),
  );
  const out: string[] = [];
  let [old, now] = [at + 1, at + 1];
  for (const [index, { sign, line }] of rows.entries()) {
    if (isNear[index] && isNear[index - 1] !== true) out.push(`@@ -${old} +${now} @@`);
    if (isNear[index]) out.push(`${sign}${line.slice(0, LINE_CHARS_MAX)}`);
    if (sign !== "+") old += 1;
    if (sign !== "-") now += 1;
  }
  if (out.length <= SHOWN_LINES_MAX) return out.join("\n");
  return `${out.slice(0, SHOWN_LINES_MAX).join("\n")}\n[${out.length - SHOWN_LINES_MAX} more lines]`;
}
