// Jobs as `cron` shows them: a list, one, and its runs.

import { Fault } from "../base/fault.ts";
import { wallTime } from "../base/wall.ts";
import { RealWorld } from "../base/world.ts";
import {
  countsText,
  nextText,
  noteText,
  outcomeText,
  shortId,
  soonestFirst,
  timesText,
  until,
  type Reader,
} from "../calls/cron-words.ts";
import type { Output } from "../calls/door.ts";
import { runLetterId } from "../mail/task.ts";
import { passes, type Client } from "./client.ts";
import { textOf, type Invocation } from "./command.ts";
import {
  ago,
  bold,
  clean,
  count,
  dim,
  duration,
  json,
  money,
  oneLine,
  roomOn,
  table,
  type Column,
  type Screen,
} from "./output.ts";
import { limitIn } from "./ps.ts";

type Row = Output<"jobs">["jobs"][number];
type Job = Output<"job">;
type Run = Output<"jobRuns">["runs"][number];

const PAGE_ROWS = 200;
/** Runs that are shown if nobody says how many. */
const RUNS_USUALLY = 20;
/** Columns of a message; and of a note, which may say why nobody heard of it. */
const WORDS_COLUMNS = 48;
const NOTE_COLUMNS = 96;
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
  const most = limitIn(options, Infinity);
  const all = soonestFirst(await every(await find(), only, signal));
  const jobs = all.slice(0, most);
  if (screen.json) json(screen, { jobs, left: all.length - jobs.length });
  else if (jobs.length === 0)
    screen.out(
      Object.keys(only).length === 0
        ? 'no jobs yet: sessiond cron add "0 9 * * *" "what is to be done"\n'
        : "no such jobs\n",
    );
  else {
    screen.out(table(jobs, columnsOf(jobs), roomOn(screen)));
    if (all.length > jobs.length) screen.err(`(${all.length - jobs.length} more: --limit)\n`);
  }
  return 0;
}

/** All of them: pages are by id, and which are due soonest is known when all are here. An agent has at most a thousand. */
async function every(client: Client, only: object, signal: AbortSignal): Promise<readonly Row[]> {
  const jobs: Row[] = [];
  let cursor: string | null = null;
  do {
    const page: Output<"jobs"> = await client.call(
      "jobs",
      { ...only, limit: PAGE_ROWS, ...(cursor === null ? {} : { cursor }) },
      signal,
    );
    jobs.push(...page.jobs);
    cursor = page.next;
  } while (cursor !== null);
  return jobs;
}

function columnsOf(jobs: readonly Row[]): readonly Column<Row>[] {
  const nowMs = new RealWorld().nowMs();
  const isOfSeveral = new Set(jobs.map(({ agent }) => agent)).size > 1;
  return [
    { title: "JOB", of: shortId },
    ...(isOfSeveral ? [{ title: "AGENT", least: 8, keep: 2, of: ({ agent }: Row) => agent }] : []),
    { title: "STATE", of: ({ state }) => state },
    { title: "NEXT", of: ({ next }) => until(next, nowMs) },
    { title: "LAST", least: 8, keep: 3, of: (row) => lastOf(row, nowMs) },
    { title: "WHEN", max: 40, least: 12, of: ({ when }) => when },
    { title: "RUNS IN → TO", max: 40, keep: 1, least: 12, of: placesOf },
    {
      title: "WHAT",
      max: WORDS_COLUMNS,
      least: 12,
      of: ({ name, message }) => (name === "" ? oneLine(message) : name),
    },
  ];
}

/** Where it runs, and who hears of it: without its agent, which is that of the job. */
function placesOf({ agent, target, delivery }: Row): string {
  const own = `agent:${agent}:`;
  const short = (text: string): string => (text.startsWith(own) ? text.slice(own.length) : text);
  return `${short(target)} → ${short(delivery)}`;
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
  const next = nextText(job, reader());
  const then = next === null ? job.state : `next ${next}`;
  screen.out(`${titleOf(screen, job)} ${done}: ${oneLine(job.when)}; ${then}\n`);
}

function titleOf(screen: Screen, { id, name }: Job): string {
  return name === "" ? bold(screen, id) : `${bold(screen, id)} (${oneLine(name)})`;
}

function linesOf(job: Job): string {
  const own = reader();
  const { nowMs } = own;
  const { current, last, counts } = job;
  const isFresh = job.target === "fresh";
  const rows: readonly (readonly [name: string, value: string | null])[] = [
    ["state", `${job.state}${job.why === null ? "" : `: ${job.why}`}`],
    ["agent", job.agent],
    ["when", job.when],
    ["next", job.times.length === 0 ? "never" : timesText(job.timezone, job.times, own)],
    ["due", job.next === null ? null : until(job.next, nowMs)],
    ["runs in", isFresh ? `fresh sessions, kept for ${job.keep}` : job.target],
    ["answer to", job.delivery],
    ["model", job.model],
    ["thinking", job.thinking],
    ["limits", limitsText(job.limits)],
    ["timeout", job.timeout],
    ["missed", job.missed === "skip" ? `skip what is later than ${job.grace}` : job.missed],
    ["stagger", job.stagger === "0s" ? null : job.stagger],
    ["failures", failuresText(job)],
    ["added", `${timesText(job.timezone, [job.madeAt], own)} by ${job.madeBy ?? "a person"}`],
    ["so far", countsText(counts)],
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
  const { outcome, sessionKey, startedAt } = run;
  const where = sessionKey === null ? "" : ` in ${sessionKey}`;
  const began = ago(Math.max(0, nowMs - Date.parse(startedAt)));
  const note = noteText(run);
  return `${outcome ?? "goes on"}${where}, began ${began}${note === "" ? "" : `: ${note}`}`;
}

/** What has no clock of its own is told by that of whoever looks. */
function reader(): Reader {
  return { nowMs: new RealWorld().nowMs(), zone: OWN_ZONE };
}

const OWN_ZONE = new Intl.DateTimeFormat().resolvedOptions().timeZone;

/** What a time means, and when that is. */
export function timesLines({ when, timezone, times }: Output<"jobTimes">): string {
  const own = reader();
  const lines = times.map((time) => `  ${timesText(timezone, [time], own)}, ${until(time, own.nowMs)}\n`);
  return `${oneLine(when)}\n${lines.length === 0 ? "  never\n" : lines.join("")}`;
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
    screen.out(table(told.runs, runColumns(told.timezone ?? OWN_ZONE), roomOn(screen)));
  }
  return 0;
}

function runColumns(zone: string): readonly Column<Run>[] {
  const nowMs = new RealWorld().nowMs();
  return [
    { title: "BEGAN", of: ({ startedAt }) => ago(Math.max(0, nowMs - Date.parse(startedAt))) },
    {
      title: `FOR (${zone})`,
      of: ({ asked, dueAt: due }) => (asked ? "asked" : wallTime(Date.parse(due), zone)),
    },
    {
      title: "TOOK",
      align: "right",
      of: ({ durationMs }) => (durationMs === null ? "–" : duration(durationMs)),
    },
    { title: "OUTCOME", of: outcomeText },
    { title: "SESSION", least: 24, keep: 1, cut: "middle", of: ({ sessionKey }) => sessionKey ?? "–" },
    { title: "NOTE", max: NOTE_COLUMNS, least: 12, of: (run) => oneLine(noteText(run)) },
  ];
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
      else if (ended.outcome === "done") screen.out(`${clean(await answerOf(client, id, ended, signal))}\n`);
      else screen.err(`sessiond: ${ended.outcome}${ended.note === null ? "" : `: ${clean(ended.note)}`}\n`);
      const untold = ended.untold === null ? "" : `; ${clean(ended.untold)}`;
      if (!screen.json) screen.err(dim(screen, `(${ended.sessionKey ?? "it ran nowhere"}${untold})\n`));
      return EXITS[ended.outcome ?? ""] ?? 1;
    }
    await world.sleep(LOOK_MS, signal);
  }
}

/** All of it, from the session that it ran in; where that does not have it any more, how it begins. */
async function answerOf(
  client: Client,
  job: string,
  { id: run, sessionKey, note }: Run,
  signal: AbortSignal,
): Promise<string> {
  if (sessionKey === null) return note ?? "";
  try {
    const asked = { sessionKey, id: runLetterId(job, run), timeoutMs: 0 };
    const { outcome, text } = await client.call("wait", asked, signal);
    return outcome === "done" ? text : (note ?? "");
  } catch (error) {
    if (signal.aborted || !(error instanceof Fault)) throw error;
    return note ?? "";
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
