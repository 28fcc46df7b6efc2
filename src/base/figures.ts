// Times, amounts and sizes as people read them.

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** One unit: 12s, 41m, 3h, 26d. */
export function age(ms: number): string {
  if (ms < SECOND) return "now";
  if (ms < MINUTE) return `${Math.floor(ms / SECOND)}s`;
  if (ms < HOUR) return `${Math.floor(ms / MINUTE)}m`;
  return ms < DAY ? `${Math.floor(ms / HOUR)}h` : `${Math.floor(ms / DAY)}d`;
}

/** How long ago something was: "now", "12s ago". */
export function ago(ms: number): string {
  const text = age(ms);
  return text === "now" ? text : `${text} ago`;
}

/** How long something took, in two units at most: 340 ms, 2.1 s, 4 min 19 s, 3 h 12 min, 2 d 5 h. */
export function duration(ms: number): string {
  if (ms < SECOND) return `${Math.round(ms)} ms`;
  if (ms < MINUTE) return `${(Math.floor(ms / 100) / 10).toFixed(1)} s`;
  if (ms < HOUR) return both(ms, [MINUTE, "min"], [SECOND, "s"]);
  return ms < DAY ? both(ms, [HOUR, "h"], [MINUTE, "min"]) : both(ms, [DAY, "d"], [HOUR, "h"]);
}

type Unit = readonly [ms: number, name: string];

function both(ms: number, [large, name]: Unit, [small, smallName]: Unit): string {
  const rest = Math.floor((ms % large) / small);
  return `${Math.floor(ms / large)} ${name}${rest === 0 ? "" : ` ${rest} ${smallName}`}`;
}

/** 980, 184.2k, 12.4M, 3.1G. */
export function count(n: number): string {
  if (n < 1_000) return String(Math.round(n));
  const [unit, size] = n < 999_950 ? ["k", 1e3] : n < 999_950_000 ? ["M", 1e6] : ["G", 1e9];
  return `${(n / Number(size)).toFixed(1)}${unit}`;
}

/** With separators: 1,204. */
export function whole(n: number): string {
  return n.toLocaleString("en-US");
}

/** In US dollars: three places, and more than ten dollars two. */
export function money(n: number): string {
  return `$${n.toFixed(n >= 10 ? 2 : 3)}`;
}

/** Of a part; "–" where the whole is not known. */
export function percent(part: number, of: number): string {
  return of > 0 ? `${Math.round((part / of) * 100)}%` : "–";
}

export function bytes(n: number): string {
  if (n < 1_000) return `${n} B`;
  const [unit, size] = n < 1e6 ? ["kB", 1e3] : n < 1e9 ? ["MB", 1e6] : ["GB", 1e9];
  return `${(n / Number(size)).toFixed(1)} ${unit}`;
}

export function many(n: number, what: string, more = `${what}s`): string {
  return `${whole(n)} ${n === 1 ? what : more}`;
}

/** The same of what may be very many: 1 turn, 12 turns, 18.4k turns. */
export function counted(n: number, what: string, more = `${what}s`): string {
  return `${count(n)} ${n === 1 ? what : more}`;
}
