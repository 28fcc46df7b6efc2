// Almanac: when jobs are due, found in another way than the source does it. A zone's distance from UTC is looked up every quarter of an
// hour, and every minute of the months is looked at. It knows no croner, and no expression: it is told what each of them means.

const MINUTE_MS = 60_000;
const QUARTER_MS = 15 * MINUTE_MS;
const DAY_MS = 24 * 60 * MINUTE_MS;

/** What a cron expression means. One hour and one minute: it is due once on each of its days, whatever clocks do. */
export interface Pattern {
  readonly expression: string;
  readonly hours: readonly number[];
  readonly minutes: readonly number[];
  readonly weekdays: readonly number[] | null; // 0 is Sunday; null: every day
}

export interface Months {
  readonly fromMs: number;
  readonly toMs: number;
}

export class Almanac {
  readonly #months: Months;
  readonly #offsets = new Map<string, readonly number[]>();
  readonly #times = new Map<string, readonly number[]>();

  constructor(months: Months) {
    this.#months = months;
  }

  /** Every time in these months, the first one after their beginning. */
  cron(pattern: Pattern, zone: string): readonly number[] {
    const name = `${zone} ${pattern.expression}`;
    let times = this.#times.get(name);
    if (times === undefined) {
      const isDaily = pattern.hours.length === 1 && pattern.minutes.length === 1;
      times = isDaily ? this.#daily(pattern, zone) : this.#shown(pattern, zone);
      this.#times.set(name, times);
    }
    return times;
  }

  every(everyMs: number, startMs: number): readonly number[] {
    const times: number[] = [];
    for (let at = startMs; at <= this.#months.toMs; at += everyMs)
      if (at > this.#months.fromMs) times.push(at);
    return times;
  }

  /** Whenever the clock shows it. */
  #shown({ hours, minutes, weekdays }: Pattern, zone: string): number[] {
    const times: number[] = [];
    const { fromMs, toMs } = this.#months;
    for (let at = Math.floor(fromMs / MINUTE_MS) * MINUTE_MS + MINUTE_MS; at <= toMs; at += MINUTE_MS) {
      const local = new Date(at + this.#offset(zone, at));
      if (!minutes.includes(local.getUTCMinutes()) || !hours.includes(local.getUTCHours())) continue;
      if (weekdays === null || weekdays.includes(local.getUTCDay())) times.push(at);
    }
    return times;
  }

  /** Once on each day: the first time that the clock shows it, or else when it is set past it. */
  #daily({ hours: [hour = 0], minutes: [minute = 0], weekdays }: Pattern, zone: string): number[] {
    const times: number[] = [];
    const { fromMs, toMs } = this.#months;
    const first = Math.floor(fromMs / DAY_MS) * DAY_MS - DAY_MS;
    for (let day = first; day <= toMs + DAY_MS; day += DAY_MS) {
      if (weekdays !== null && !weekdays.includes(new Date(day).getUTCDay())) continue;
      const at = this.#firstShown(zone, day + hour * 60 * MINUTE_MS + minute * MINUTE_MS);
      if (at > fromMs && at <= toMs) times.push(at);
    }
    return times;
  }

  #firstShown(zone: string, localMs: number): number {
    const before = this.#offset(zone, localMs - DAY_MS);
    const after = this.#offset(zone, localMs + DAY_MS);
    const shown = [before, after]
      .map((offset) => ({ at: localMs - offset, offset }))
      .filter(({ at, offset }) => this.#offset(zone, at) === offset)
      .map(({ at }) => at);
    if (shown.length > 0) return Math.min(...shown);
    let change = Math.floor((localMs - before) / QUARTER_MS) * QUARTER_MS - 8 * QUARTER_MS;
    while (this.#offset(zone, change) === before) change += QUARTER_MS;
    return change;
  }

  #offset(zone: string, atMs: number): number {
    let table = this.#offsets.get(zone);
    if (table === undefined) this.#offsets.set(zone, (table = this.#table(zone)));
    return table[Math.floor((atMs - this.#tableFromMs) / QUARTER_MS)] ?? 0;
  }

  get #tableFromMs(): number {
    return Math.floor(this.#months.fromMs / QUARTER_MS) * QUARTER_MS - 4 * DAY_MS;
  }

  #table(zone: string): readonly number[] {
    const format = new Intl.DateTimeFormat("sv-SE", {
      ...{ timeZone: zone, year: "numeric", month: "2-digit", day: "2-digit" },
      ...{ hour: "2-digit", minute: "2-digit", second: "2-digit" },
    });
    const table: number[] = [];
    for (let at = this.#tableFromMs; at <= this.#months.toMs + 4 * DAY_MS; at += QUARTER_MS)
      table.push(Date.parse(`${format.format(at).replace(" ", "T")}Z`) - at);
    return table;
  }
}
