// What an edit changed, in the form that people and models know (unified), bounded.

/** Lines around a change. */
const CONTEXT_LINES = 2;

/** Lines, and characters of a line, that are shown. */
const SHOWN_LINES_MAX = 120;
const LINE_CHARS_MAX = 200;

/**
 * Lines on both sides, multiplied, up to which it is found out which of them stayed; and lines together. Above, all between
 * is shown as changed, and only the first lines are looked at.
 */
const COMPARED_MAX = 1_000_000;
const CHANGED_LINES_MAX = 4_000;

interface Row {
  readonly sign: " " | "-" | "+";
  readonly line: string;
}

/** Lines are made only of what changed and of what is around it: the texts may have a million. */
export function diffOf(before: string, after: string): string {
  const { head, tail } = alike(before, after);
  const above = lineBack(before, head, CONTEXT_LINES);
  const behind = before.length - tail;
  const old = before.slice(head, behind);
  const now = after.slice(head, after.length - tail);
  const { rows, left } = changes(old, now);
  const all = [
    ...staying(linesOf(before.slice(above, head))),
    ...rows,
    ...staying(linesOf(before.slice(behind, lineOn(before, behind, CONTEXT_LINES)))),
  ];
  return hunks(all, { at: endsIn(before, above), left });
}

/** Characters at the beginning and at the end that are the same, in whole lines. */
function alike(one: string, other: string): { readonly head: number; readonly tail: number } {
  const least = Math.min(one.length, other.length);
  let head = 0;
  while (head < least && one.charCodeAt(head) === other.charCodeAt(head)) head += 1;
  head = head === 0 ? 0 : one.lastIndexOf("\n", head - 1) + 1;
  const backFrom = (text: string, back: number): number => text.charCodeAt(text.length - 1 - back);
  let tail = 0;
  while (tail < least - head && backFrom(one, tail) === backFrom(other, tail)) tail += 1;
  // What is the same at the end begins in the middle of a line, unless a line ends right before it on both sides.
  const isStart = (text: string): boolean => text.length - tail === head || backFrom(text, tail) === 10;
  if (!isStart(one) || !isStart(other)) {
    const end = one.indexOf("\n", one.length - tail);
    tail = end < 0 ? 0 : one.length - end - 1;
  }
  return { head, tail };
}

/** Where the line begins that is so many before the one that begins at `from`, or after it. */
function lineBack(text: string, from: number, lines: number): number {
  let at = from;
  for (let line = 0; line < lines && at > 0; line += 1) at = at < 2 ? 0 : text.lastIndexOf("\n", at - 2) + 1;
  return at;
}

function lineOn(text: string, from: number, lines: number): number {
  let at = from;
  for (let line = 0; line < lines && at < text.length; line += 1) {
    const end = text.indexOf("\n", at);
    at = end < 0 ? text.length : end + 1;
  }
  return at;
}

/** Lines that end before `to`. */
function endsIn(text: string, to: number): number {
  let ends = 0;
  for (let at = 0; at < to; at += 1) if (text.charCodeAt(at) === 10) ends += 1;
  return ends;
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

/** `left`: how many more there would be. */
function changes(before: string, after: string): { readonly rows: readonly Row[]; readonly left: number } {
  const count = (text: string): number =>
    endsIn(text, text.length) + (text === "" || text.endsWith("\n") ? 0 : 1);
  const [olds, nows] = [count(before), count(after)];
  if (olds * nows <= COMPARED_MAX && olds + nows <= CHANGED_LINES_MAX)
    return { rows: compared(linesOf(before), linesOf(after)), left: 0 };
  const first = (text: string): string[] => linesOf(text.slice(0, lineOn(text, 0, SHOWN_LINES_MAX)));
  const rows = [
    ...first(before).map((line) => ({ sign: "-", line }) as const),
    ...first(after).map((line) => ({ sign: "+", line }) as const),
  ];
  return { rows, left: olds + nows - rows.length };
}

function compared(before: readonly string[], after: readonly string[]): Row[] {
  // Lines that are the same have the same number: long ones are not compared again and again.
  const numbers = new Map<string, number>();
  const numberOf = (line: string): number => {
    const number = numbers.get(line) ?? numbers.size;
    numbers.set(line, number);
    return number;
  };
  const [old, now] = [before.map(numberOf), after.map(numberOf)];
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
      rows.push({ sign: " ", line: before[a] ?? "" });
      [a, b] = [a + 1, b + 1];
    } else if (a < old.length && (b === now.length || stays(a + 1, b) >= stays(a, b + 1))) {
      rows.push({ sign: "-", line: before[a++] ?? "" });
    } else {
      rows.push({ sign: "+", line: after[b++] ?? "" });
    }
  }
  return rows;
}

interface Around {
  readonly at: number; //   lines of the file before the first row; the same on both sides
  readonly left: number; // rows that were not even made
}

function hunks(rows: readonly Row[], { at, left }: Around): string {
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
  return `${out.slice(0, SHOWN_LINES_MAX).join("\n")}\n[${out.length - SHOWN_LINES_MAX + left} more lines]`;
}
