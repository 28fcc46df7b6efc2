// Jobs as `cron` shows them: a list, one, and its runs.

import { Fault } from "../base/fault.ts";
import { RealWorld } from "../base/world.ts";
import type { Output } from "../calls/door.ts";
import { passes, type Client } from "./client.ts";
import { textOf, type Invocation } from "./command.ts";
import {
  age,
  ago,
  bold,
  clean,
  count,
  cut,
  dim,
  duration,
  json,
  many,
  money,
  oneLine,
  table,
  type Screen,
} from "./output.ts";
import { limitIn } from "./ps.ts";

type Row = Output<"jobs">["jobs"][number];
type Job = Output<"job">;
type Run = Output<"jobRuns">["runs"][number];

const PAGE_ROWS = 200;
/** Runs that are shown if nobody says how many. */
const RUNS_USUALLY = 20;
/** Columns of a message, and of a note. */
const WORDS_COLUMNS = 48;
/** The pause before it is looked again whether a run is over. */
const LOOK_MS = 300;

// ── A list ──────────────────────────────────────────────────────────────────────────────────────────────────

export async function list(invocation: Invocation, words: readonly string[]): Promise<number> {
  const { options, client: find, screen, signal } = invocation;
  if (words.length > 0)
    throw new Fault("bad_input", "cron list: it takes no words; `sessiond cron show <job>` shows one");
  if (options["enabled"] === true && options["disabled"] === true)
    throw new Fault("bad_input", "cron list: either --enabled or --disabled");
  const agent = textOf(options, "agent");
  const only = {
    ...(agent === undefined ? {} : { agent }),
    ...(options["enabled"] === true ? { enabled: true } : {}),
    ...(options["disabled"] === true ? { enabled: false } : {}),
  };
  const { jobs, next } = await pages(await find(), only, limitIn(options, Infinity), signal);
  if (screen.json) json(screen, { jobs, next });
  else if (jobs.length === 0)
    screen.out(
      Object.keys(only).length === 0
        ? 'no jobs yet: sessiond cron add "0 9 * * *" "what is to be done"\n'
        : "no such jobs\n",
    );
  else {
    screen.out(tableOf(jobs));
    if (next !== null) screen.err("(there are more: --limit)\n");
  }
  return 0;
}

async function pages(
  client: Client,
  only: object,
  most: number,
  signal: AbortSignal,
): Promise<Output<"jobs">> {
  const jobs: Row[] = [];
  let cursor: string | null = null;
  do {
    const limit = Math.min(PAGE_ROWS, most - jobs.length);
    const page: Output<"jobs"> = await client.call(
      "jobs",
      { ...only, limit, ...(cursor === null ? {} : { cursor }) },
      signal,
    );
    jobs.push(...page.jobs);
    cursor = page.next;
  } while (cursor !== null && jobs.length < most);
  return { jobs, next: cursor };
}

/** What is due soonest stands first. */
function tableOf(jobs: readonly Row[]): string {
  const nowMs = new RealWorld().nowMs();
  const rows = jobs.toSorted((a, b) => dueIn(a) - dueIn(b));
  const isOfSeveral = new Set(jobs.map(({ agent }) => agent)).size > 1;
  return table(rows, [
    { title: "JOB", of: ({ id }) => id },
    ...(isOfSeveral ? [{ title: "AGENT", of: ({ agent }: Row) => agent }] : []),
    { title: "STATE", of: ({ state }) => state },
    { title: "NEXT", of: ({ next }) => until(next, nowMs) },
    { title: "LAST", of: (row) => lastOf(row, nowMs) },
    { title: "WHEN", max: 40, of: ({ when }) => when },
    { title: "WHAT", max: WORDS_COLUMNS, of: ({ name, message }) => (name === "" ? oneLine(message) : name) },
  ]);
}

function dueIn({ next }: Row): number {
  return next === null ? Infinity : Date.parse(next);
}

function until(next: string | null, nowMs: number): string {
  if (next === null) return "–";
  const ms = Date.parse(next) - nowMs;
  return ms < 1_000 ? "now" : `in ${age(ms)}`;
}

function lastOf({ last, failures }: Row, nowMs: number): string {
  if (last === null) return "–";
  const when = last.endedAt === null ? "" : ` ${ago(Math.max(0, nowMs - Date.parse(last.endedAt)))}`;
  return `${last.outcome ?? ""}${when}${failures > 1 ? ` (${failures} in a row)` : ""}`;
}

// ── One ─────────────────────────────────────────────────────────────────────────────────────────────────────

export async function show({ client: find, screen, signal }: Invocation, name: string): Promise<number> {
  const job = await (await find()).call("job", { job: name }, signal);
  if (screen.json) json(screen, job);
  else screen.out(`${titleOf(screen, job)}\n${linesOf(job)}\n${clean(job.message)}\n`);
  return 0;
}

/** In a line or two, after something was done to it. */
export function tellJob(screen: Screen, job: Job, done: string): void {
  const nowMs = new RealWorld().nowMs();
  const next = job.next === null ? job.state : `next ${localTime(job.next)}, ${until(job.next, nowMs)}`;
  screen.out(`${titleOf(screen, job)} ${done}: ${oneLine(job.when)}; ${next}\n`);
}

function titleOf(screen: Screen, { id, name }: Job): string {
  return name === "" ? bold(screen, id) : `${bold(screen, id)} (${oneLine(name)})`;
}

function linesOf(job: Job): string {
  const nowMs = new RealWorld().nowMs();
  const { current, last, counts } = job;
  const isFresh = job.target === "fresh";
  const rows: readonly (readonly [name: string, value: string | null])[] = [
    ["state", `${job.state}${job.why === null ? "" : `: ${job.why}`}`],
    ["agent", job.agent],
    ["when", job.when],
    ["next", job.times.map(localTime).join(", ") || "never"],
    ["due", job.next === null ? null : until(job.next, nowMs)],
    ["runs in", isFresh ? `fresh sessions, kept for ${job.keep}` : job.target],
    ["answer to", job.delivery],
    ["model", job.model],
    ["thinking", job.thinking],
    ["limits", limitsText(job.limits)],
    ["at most", job.timeout],
    ["missed", job.missed === "skip" ? `skip what is later than ${job.grace}` : job.missed],
    ["stagger", job.stagger === "0s" ? null : job.stagger],
    ["failures", failuresText(job)],
    ["so far", `${many(counts.ran, "run")}, ${counts.skipped} skipped, ${counts.coalesced} coalesced`],
    ["now", current === null ? null : runText(current, nowMs)],
    ["last", last === null ? null : runText(last, nowMs)],
  ];
  return rows
    .flatMap(([name, value]) => (value === null ? [] : [`  ${name.padEnd(10)} ${oneLine(value)}\n`]))
    .join("");
}

function failuresText({ failures, failuresMax }: Job): string {
  const most = failuresMax === 0 ? "never disabled for it" : `disabled after ${failuresMax}`;
  return `${failures} in a row; ${most}`;
}

function limitsText(limits: Job["limits"]): string | null {
  const { stepsPerTurn = null, tokens = null, cost = null } = limits ?? {};
  const words = [
    ...(stepsPerTurn === null ? [] : [`${stepsPerTurn} steps`]),
    ...(tokens === null ? [] : [`${count(tokens)} tokens`]),
    ...(cost === null ? [] : [money(cost)]),
  ];
  return words.length === 0 ? null : words.join(" · ");
}

function runText(run: Run, nowMs: number): string {
  const { outcome, sessionKey, startedAt, note } = run;
  const where = sessionKey === null ? "" : ` in ${sessionKey}`;
  const began = ago(Math.max(0, nowMs - Date.parse(startedAt)));
  return `${outcome ?? "goes on"}${where}, began ${began}${note === null ? "" : `: ${note}`}`;
}

/** By the clock of whoever looks. */
function localTime(text: string): string {
  const time = new Date(text);
  const two = (n: number): string => String(n).padStart(2, "0");
  const day = `${time.getFullYear()}-${two(time.getMonth() + 1)}-${two(time.getDate())}`;
  const seconds = time.getSeconds() === 0 ? "" : `:${two(time.getSeconds())}`;
  return `${day} ${two(time.getHours())}:${two(time.getMinutes())}${seconds}`;
}

// ── Its runs ────────────────────────────────────────────────────────────────────────────────────────────────

export async function runs(invocation: Invocation, name: string): Promise<number> {
  const { options, client: find, screen, signal } = invocation;
  const told = await (
    await find()
  ).call("jobRuns", { job: name, limit: limitIn(options, RUNS_USUALLY) }, signal);
  if (screen.json) json(screen, told);
  else if (told.runs.length === 0) screen.out("it has not run yet\n");
  else {
    const nowMs = new RealWorld().nowMs();
    screen.out(
      table(told.runs, [
        { title: "BEGAN", of: ({ startedAt }) => ago(Math.max(0, nowMs - Date.parse(startedAt))) },
        { title: "FOR", of: ({ asked, dueAt }) => (asked ? "asked" : localTime(dueAt)) },
        {
          title: "TOOK",
          align: "right",
          of: ({ durationMs }) => (durationMs === null ? "–" : duration(durationMs)),
        },
        {
          title: "OUTCOME",
          of: ({ outcome, stands }) => `${outcome ?? "goes on"}${stands > 1 ? ` ×${stands}` : ""}`,
        },
        { title: "SESSION", of: ({ sessionKey }) => sessionKey ?? "–" },
        { title: "NOTE", of: ({ note }) => cut(oneLine(note ?? ""), WORDS_COLUMNS) },
      ]),
    );
  }
  return 0;
}

/** What a shell gets, as with `wait`. */
const EXITS: Readonly<Record<string, number>> = { done: 0, limit: 3, skipped: 75, timeout: 124, killed: 137 };

/** Until it is over. A daemon that restarts meanwhile loses nothing: it is asked again when it is back. */
export async function waitForRun(
  { client: find, screen, signal }: Invocation,
  { id, run }: Output<"runJob">,
): Promise<number> {
  const client = await find();
  const world = new RealWorld();
  for (;;) {
    const ended = await endOf(client, id, run, signal);
    if (ended === "gone") throw new Fault("not_found", `job ${id} keeps nothing of the run ${run}`);
    if (ended !== null) {
      if (screen.json) json(screen, { job: id, ...ended });
      else if (ended.outcome === "done") screen.out(`${clean(ended.note ?? "")}\n`);
      else screen.err(`sessiond: ${ended.outcome}${ended.note === null ? "" : `: ${clean(ended.note)}`}\n`);
      if (!screen.json) screen.err(dim(screen, `(${ended.sessionKey ?? "it ran nowhere"})\n`));
      return EXITS[ended.outcome ?? ""] ?? 1;
    }
    await world.sleep(LOOK_MS, signal);
  }
}

/** Null: it goes on, or nobody could be asked. */
async function endOf(
  client: Client,
  job: string,
  run: string,
  signal: AbortSignal,
): Promise<Run | "gone" | null> {
  try {
    const told = await client.call("jobRuns", { job, limit: 200 }, signal);
    const found = told.runs.find(({ id }) => id === run);
    if (found === undefined) return "gone";
    return found.outcome === null ? null : found;
  } catch (error) {
    if (signal.aborted || !passes(error)) throw error;
    return null;
  }
}
