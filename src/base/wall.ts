// A moment, as a clock on a wall shows it.

/** By zone: to make one takes as long as to use it a hundred times. */
const formats = new Map<string, Intl.DateTimeFormat>();

/** So many are kept; of more zones than people have, the oldest goes first. */
const FORMATS_MAX = 64;

/** "2026-12-24 17:00" by the clock of an IANA zone; with seconds where there are some. */
export function wallTime(atMs: number, zone: string): string {
  const parts = formatOf(zone).formatToParts(atMs);
  const of = (type: Intl.DateTimeFormatPartTypes): string =>
    parts.find((part) => part.type === type)?.value ?? "";
  const seconds = of("second") === "00" ? "" : `:${of("second")}`;
  return `${of("year")}-${of("month")}-${of("day")} ${of("hour")}:${of("minute")}${seconds}`;
}

function formatOf(timeZone: string): Intl.DateTimeFormat {
  const known = formats.get(timeZone);
  if (known) return known;
  const two = "2-digit";
  const made = new Intl.DateTimeFormat("en", {
    ...{ timeZone, calendar: "gregory", numberingSystem: "latn", hourCycle: "h23" },
    ...{ year: "numeric", month: two, day: two, hour: two, minute: two, second: two },
  });
  const [oldest] = formats.keys();
  if (formats.size >= FORMATS_MAX && oldest !== undefined) formats.delete(oldest);
  formats.set(timeZone, made);
  return made;
}
