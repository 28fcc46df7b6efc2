// The children of a conversation as a small tree that fills in: who was given a task, what each does now, what became of it.
// It stands below while somebody is missing, and is written down for good when all have reported.

import type { Report, Spawned, ToolCalled } from "../../calls/told.ts";
import { duration, count, oneLine } from "../output.ts";
import type { Line } from "./talk.ts";

/** Of the call `children`. */
export interface ChildRow {
  readonly sessionKey: string;
  readonly state: string;
  readonly since: string | null; // when it ended, if it has
  readonly bornAt: string;
  readonly why: string | null;
  readonly tokens: number;
}

interface Child {
  readonly key: string;
  readonly task: string;
  readonly name: string;
  seen: ChildRow | null; //     what it does; null: nobody has looked yet
  report: Report | null; //     null: it works, as far as is known
}

/** Characters of a child's name. */
const NAME_CHARS_MAX = 40;

export class Family {
  readonly #called = new Map<string, { readonly call: ToolCalled; readonly atMs: number }>();
  #children: Child[] = [];

  get absent(): readonly string[] {
    return this.#children.filter(({ report }) => report === null).map(({ key }) => key);
  }

  /** A spawn that the model asks for. */
  called(call: ToolCalled, atMs: number): void {
    this.#called.set(call.id, { call, atMs });
  }

  /** What was asked for and did not come about; null: it was nothing of ours. */
  refused(id: string): { readonly call: ToolCalled; readonly atMs: number } | null {
    const called = this.#called.get(id) ?? null;
    this.#called.delete(id);
    return called;
  }

  spawned(id: string, { key, task, isTold }: Spawned): readonly Line[] {
    const name = nameOf(this.refused(id)?.call, key);
    if (!isTold) return [{ tone: "good", text: `  ✓ spawn ${name} (reports to nobody)` }];
    this.#children.push({ key, task, name, seen: null, report: null });
    return [];
  }

  seen(rows: readonly ChildRow[]): void {
    const seen = new Map(rows.map((row) => [row.sessionKey, row]));
    for (const child of this.#children) {
      const row = seen.get(child.key);
      if (row !== undefined && child.report === null) child.seen = row;
    }
  }

  reported(report: Report): readonly Line[] {
    const child = this.#children.find(({ task }) => task === report.task);
    if (child === undefined)
      return [{ tone: report.isGood ? "good" : "bad", text: `  ${endOf(report, report.child)}` }];
    child.report = report;
    return this.absent.length === 0 ? this.left() : [];
  }

  /** The tree as it is, for good: nothing more comes of it. */
  left(): readonly Line[] {
    const lines = this.#lines(null);
    this.#children = [];
    return lines;
  }

  live(spinner: string): readonly Line[] {
    const asked = [...this.#called.values()].map(({ call }): Line => ({
      tone: "busy",
      text: `  ${spinner} spawn ${nameOf(call, "")}`,
    }));
    return [...this.#lines(spinner), ...asked];
  }

  #lines(spinner: string | null): readonly Line[] {
    if (this.#children.length === 0) return [];
    const isGood = this.#children.every(({ report }) => report?.isGood);
    const mark = spinner ?? (isGood ? "✓" : "✗");
    const names = this.#children.map(({ name }) => name).join(", ");
    const head: Line = {
      tone: spinner === null ? (isGood ? "good" : "bad") : "busy",
      text: `  ${mark} spawn ${names}`,
    };
    const width = Math.max(...this.#children.map(({ name }) => name.length));
    const each = this.#children.map(({ name, report, seen }, at): Line => {
      const branch = at === this.#children.length - 1 ? "└" : "├";
      const start = `  ${branch} ${name.padEnd(width)}  `;
      if (report !== null) return { tone: report.isGood ? "good" : "bad", text: start + endOf(report, "") };
      if (seen?.state === "ended") return { tone: "good", text: start + overOf(seen) };
      return { tone: "busy", text: `${start}${spinner ?? "–"} ${doingOf(seen)}`.trimEnd() };
    });
    return [head, ...each];
  }
}

function nameOf(call: ToolCalled | undefined, key: string): string {
  const { label, name, sessionKey, task } = call?.given ?? {};
  const given = [label, name, sessionKey, task].find(
    (each) => typeof each === "string" && each.trim() !== "",
  );
  const words = oneLine(typeof given === "string" ? given : key);
  return words.length <= NAME_CHARS_MAX ? words : `${words.slice(0, NAME_CHARS_MAX - 1).toWellFormed()}…`;
}

function endOf({ isGood, ended, seconds, tokens }: Report, who: string): string {
  const figures = [
    seconds === null ? "" : duration(seconds * 1_000),
    tokens === null ? "" : `${count(tokens)} tokens`,
  ];
  const words = [who, isGood ? "" : oneLine(ended), ...figures].filter((word) => word !== "");
  return `${isGood ? "✓" : "✗"} ${words.join(" · ")}`;
}

/** It has ended, and its report is on its way. */
function overOf({ why, since, bornAt, tokens }: ChildRow): string {
  const took = since === null ? "" : ` ${duration(Date.parse(since) - Date.parse(bornAt))} ·`;
  return `${/\(done\)/.test(why ?? "") ? "✓" : "✗"}${took} ${count(tokens)} tokens`;
}

function doingOf(seen: ChildRow | null): string {
  if (seen === null) return "";
  return `${doingWords(seen.why ?? "")}${seen.tokens === 0 ? "" : ` · ${count(seen.tokens)} tokens`}`;
}

/** As the call says it, without what only machines want: since when, and in which step. */
export function doingWords(why: string): string {
  const words = oneLine(why);
  return /^step \d+ of a turn since \S+?: (.*)$/.exec(words)?.[1] ?? words.replace(/ since \d{4}-\S+Z/, "");
}
