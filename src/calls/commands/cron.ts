// Commands about what is done at times. Only the jobs that work in this session: whoever is in a chat rules over what that chat has
// set going. In an agent's main session all of the agent's.

import { Fault } from "../../base/fault.ts";
import { shown } from "../../base/fits.ts";
import { cut, oneLine } from "../../base/harmless.ts";
import { agentOf, mainKey, parseKey } from "../../routing/key.ts";
import { checkSchedule } from "../../timers/schedule.ts";
import type { Done } from "../call.ts";
import {
  doing,
  missing,
  said,
  seen,
  split,
  told,
  type At,
  type Command,
  type Output,
  type Said,
} from "./command.ts";

type Job = Output<"jobs">["jobs"][number];

/** Jobs on a page, and pages that are looked through. */
const PAGE_JOBS = 200;
const PAGES_MAX = 5;

/** Of what a job is to do, in a list; and of how a run went. */
const MESSAGE_CELLS = 60;
const NOTE_CELLS = 120;

/** Runs that are told. */
const RUNS_TOLD = 10;

/** Characters of an id that are a beginning. */
const BEGIN_CHARS_MIN = 4;

const LIST_HINT = "/cron list says which there are";

async function jobsOf({ sessionKey, call }: At): Promise<readonly Job[]> {
  const key = parseKey(sessionKey);
  const agent = agentOf(key);
  const jobs: Job[] = [];
  let cursor: string | null = null;
  for (let page = 0; page < PAGES_MAX; page += 1) {
    const from: { readonly cursor?: string } = cursor === null ? {} : { cursor };
    const found: Output<"jobs"> = await seen(await call("jobs", { agent, limit: PAGE_JOBS, ...from }));
    jobs.push(...found.jobs);
    cursor = found.next;
    if (cursor === null) break;
  }
  return key === mainKey(agent) ? jobs : jobs.filter(({ target }) => target === key);
}

/** The job that is meant by a number of the list, its name, its id, or how that begins. */
async function jobOf(at: At, text: string, usage: string): Promise<string> {
  if (text === "") throw missing(usage, LIST_HINT);
  const jobs = await jobsOf(at);
  const numbered = /^#?\d{1,3}$/.test(text) ? jobs[Number(text.replace("#", "")) - 1] : undefined;
  if (numbered !== undefined) return numbered.id;
  const exact = jobs.filter(({ id, name }) => id === text || name === text);
  const begun = text.length < BEGIN_CHARS_MIN ? [] : jobs.filter(({ id }) => id.startsWith(text));
  const [only, ...others] = exact.length > 0 ? exact : begun;
  if (only === undefined)
    throw new Fault("not_found", `no job here is meant by ${shown(text)}`, { todo: LIST_HINT });
  if (others.length > 0)
    throw new Fault("bad_input", `${shown(text)} may be several jobs: write its whole id`);
  return only.id;
}

async function list(at: At): Promise<Done<Said>> {
  const jobs = await jobsOf(at);
  if (jobs.length === 0) return told(["no jobs; /cron add every 1h <what to do>"]);
  return told(
    jobs.map((job, index) => {
      const name = job.name === "" ? "" : `"${oneLine(job.name)}" `;
      const next = job.next === null ? job.state : `next ${job.next}`;
      return `${index + 1}. ${job.id} ${name}· ${job.when} · ${next} · ${cut(oneLine(job.message), MESSAGE_CELLS)}`;
    }),
  );
}

const ADD_USAGE =
  "/cron add every <15m> <message>, /cron add at <20m or a time> <message>, or /cron add cron <five or six fields> <message>";

async function add(at: At, rest: string): Promise<Done<Said>> {
  const { when, message, note = [] } = timeIn(rest);
  if (when === null || message === "")
    throw missing(ADD_USAGE, "it is done in this session, and answered here");
  const done = await at.call("addJob", { ...when, message, target: at.sessionKey });
  return said(done, (job) => [
    `job ${job.id}: ${job.when}${job.next === null ? "" : `, next ${job.next}`}`,
    ...note,
  ]);
}

/** When, and what. */
interface Planned {
  readonly when: { readonly every: string } | { readonly at: string } | { readonly cron: string } | null;
  readonly message: string;
  readonly note?: readonly string[]; // what was not said, and is taken to be meant
}

function timeIn(text: string): Planned {
  const [kind, others] = split(text);
  if (kind === "cron") return fieldsIn(others);
  const [time, message] = split(others);
  if (time === "") return { when: null, message };
  if (kind === "every") return { when: { every: time }, message };
  return { when: kind === "at" ? { at: time } : null, message };
}

/** Phones write the second pair. */
const QUOTED = /^(?:"([^"]+)"|[“„]([^“”„]+)[“”])\s+(.*)$/s;
const FIVE = /^((?:\S+\s+){4}\S+)\s+((\S+)\s*(.*))$/s;

/**
 * In quotes the fields are those. Else they are five, and the sixth word begins the message; unless only six make an expression, or
 * that word is one that people do not begin with (`*`, `1-5`, `1,3`): then they are six, and that is told. A number or the name of
 * a day may be either.
 */
function fieldsIn(text: string): Planned {
  const [, straight, curved, said = ""] = QUOTED.exec(text) ?? [];
  const quoted = straight ?? curved;
  if (quoted !== undefined) return { when: { cron: quoted }, message: said };
  const [, five, message = "", sixth = "", others = ""] = FIVE.exec(text) ?? [];
  if (five === undefined) return { when: null, message };
  const six = `${five} ${sixth}`;
  if (!isExpression(six)) return { when: { cron: five }, message };
  if (isExpression(five) && /^\w+$/.test(sixth))
    throw new Fault(
      "bad_input",
      `${shown(sixth)} may be the sixth field or the first word: write /cron add cron "${five}" ${sixth} …, ` +
        `or /cron add cron "${six}" …`,
    );
  const note = [`the six fields ${six}, seconds first; five are meant with quotes around them`];
  return { when: { cron: six }, message: others, note };
}

/** In whatever zone. */
function isExpression(expression: string): boolean {
  try {
    checkSchedule({ kind: "cron", expression: expression.replaceAll(/\s+/g, " "), zone: "UTC" });
    return true;
  } catch (error) {
    if (error instanceof Fault) return false;
    throw error;
  }
}

async function show(at: At, rest: string): Promise<Done<Said>> {
  const job = await jobOf(at, rest, "/cron show <job>");
  return said(await at.call("job", { job }), (out) => [
    `${out.id}${out.name === "" ? "" : ` "${oneLine(out.name)}"`} · ${out.state} · ${out.when}`,
    `does     ${oneLine(out.message)}`,
    `in       ${out.target}; its answer: ${out.delivery}`,
    `next     ${out.times.length === 0 ? "never" : out.times.join(", ")}`,
    `so far   ${out.counts.ran} ran, ${out.counts.skipped} skipped, ${out.counts.coalesced} coalesced; ${out.failures} failures in a row`,
    ...(out.why === null ? [] : [`why      ${oneLine(out.why)}`]),
  ]);
}

async function run(at: At, rest: string): Promise<Done<Said>> {
  const job = await jobOf(at, rest, "/cron run <job>");
  return said(await at.call("runJob", { job }), ({ sessionKey }) => [`runs in ${sessionKey}`]);
}

async function runs(at: At, rest: string): Promise<Done<Said>> {
  const job = await jobOf(at, rest, "/cron runs <job>");
  const done = await seen(await at.call("jobRuns", { job, limit: RUNS_TOLD }));
  if (done.runs.length === 0) return told(["it has not run yet"]);
  return told(
    done.runs.map(
      ({ startedAt, outcome, note }) =>
        `${startedAt} ${outcome ?? "goes on"}${note === null ? "" : `: ${cut(oneLine(note), NOTE_CELLS)}`}`,
    ),
  );
}

function switched(enabled: boolean): (at: At, rest: string) => Promise<Done<Said>> {
  return async (at, rest) => {
    const job = await jobOf(at, rest, `/cron ${enabled ? "on" : "off"} <job>`);
    return said(await at.call("editJob", { job, enabled }), (out) => [
      enabled ? `on; next ${out.next ?? "never"}` : "off; /cron on lets it go on",
    ]);
  };
}

async function remove(at: At, rest: string): Promise<Done<Said>> {
  const job = await jobOf(at, rest, "/cron rm <job>");
  return said(await at.call("removeJob", { job }), ({ id }) => [`job ${id} is gone`]);
}

const ACTIONS: Readonly<Record<string, (at: At, rest: string) => Promise<Done<Said>>>> = {
  list,
  add,
  show,
  run,
  runs,
  on: switched(true),
  off: switched(false),
  rm: remove,
};

export const cronCommands: readonly Command[] = [
  {
    name: "cron",
    takes: `[${Object.keys(ACTIONS).join("|")}]`,
    about: "what is done here at times: which jobs, a new one, one of them now or never again",
    looks: doing("list", "show", "runs"),
    run: async (at, rest) => {
      const [action, others] = split(rest);
      const act = ACTIONS[action === "" ? "list" : action];
      if (act === undefined || !Object.hasOwn(ACTIONS, action === "" ? "list" : action))
        throw new Fault("bad_input", `/cron takes one of ${Object.keys(ACTIONS).join(", ")}`);
      return await act(at, others);
    },
  },
];
