// Commands about what is done at times. Only the jobs that work in this session: whoever is in a chat rules over what that chat has
// set going. In an agent's main session all of the agent's.

import { Fault } from "../../base/fault.ts";
import { shown } from "../../base/fits.ts";
import { ago } from "../../base/figures.ts";
import { cut, oneLine } from "../../base/harmless.ts";
import { agentOf, mainKey, parseKey } from "../../routing/key.ts";
import { checkSchedule } from "../../timers/schedule.ts";
import type { Done } from "../call.ts";
import { meant } from "../cron-found.ts";
import {
  countsText,
  nextText,
  noteText,
  outcomeText,
  shortId,
  soonestFirst,
  timesText,
  whenIn,
  type Reader,
} from "../cron-words.ts";
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
const RUNS_TOLD = 20; // as many as `sessiond cron runs` shows

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

/** The job that is meant by its name, its id, or how that begins. A name may be in quotes, as elsewhere. */
async function jobOf(at: At, text: string, usage: string): Promise<Job> {
  if (text === "") throw missing(usage, LIST_HINT);
  return meant(bare(text), await jobsOf(at), LIST_HINT);
}

/** As people are to name it. */
function nameOf(job: Pick<Job, "id" | "name">): string {
  return job.name === "" ? shortId(job) : oneLine(job.name);
}

/** By the clock of the job; one that has none is told by the configuration's. */
function readerAt({ system: { world, config } }: At): Reader {
  return { nowMs: world.nowMs(), zone: config.timezone };
}

/** When it runs, and when next. */
function whenOf(at: At, job: Pick<Job, "when" | "next" | "timezone" | "state">): string {
  const next = nextText(job, readerAt(at));
  return `${job.when} · ${next === null ? job.state : `next ${next}`}`;
}

async function list(at: At): Promise<Done<Said>> {
  const jobs = soonestFirst(await jobsOf(at));
  if (jobs.length === 0) return told(["no jobs; /cron add every 1h <what to do>"]);
  return told(
    jobs.map((job) => `${nameOf(job)} · ${whenOf(at, job)} · ${cut(oneLine(job.message), MESSAGE_CELLS)}`),
  );
}

const ADD_USAGE =
  '/cron add every <15m> <message>, or in <20m>, at <time>, @daily, "<five or six fields>" in place of every';

async function add(at: At, rest: string): Promise<Done<Said>> {
  const { when, message, note = [] } = timeIn(rest);
  if (when === null || message === "")
    throw missing(ADD_USAGE, "it is done in this session, and answered here");
  const done = await at.call("addJob", { ...when, message, target: at.sessionKey });
  return said(done, (job) => [`job ${nameOf(job)}: ${whenOf(at, job)}`, ...note]);
}

/** When, and what. */
interface Planned {
  readonly when: ReturnType<typeof whenIn>["when"] | null;
  readonly message: string;
  readonly note?: readonly string[]; // what was not said, and is taken to be meant
}

/** A word, or several in quotes. */
const WORD = /"[^"]+"|[“„][^“”„]+[“”]|\S+/g;

/** Without its quotes; phones write the second pair. */
function bare(word: string): string {
  return word.replace(/^"([^"]+)"$|^[“„]([^“”„]+)[“”]$/, "$1$2");
}

/** Of what whenIn looks at there are at most three. */
const WORDS_LOOKED_AT = 3;

/** As at a shell, but for fields without quotes, which a chat takes after the word cron. */
function timeIn(text: string): Planned {
  const [first, others] = split(text);
  if (first === "") return { when: null, message: "" };
  if (first.toLowerCase() === "cron") return fieldsIn(others);
  const words = text.matchAll(WORD).take(WORDS_LOOKED_AT).toArray();
  const { when, taken } = whenIn(words.map(([word]) => bare(word)));
  const from = words[taken]?.index;
  return { when, message: from === undefined ? "" : text.slice(from) };
}

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
  const { id: job } = await jobOf(at, rest, "/cron show <job>");
  return said(await at.call("job", { job }), (out) => [
    `${out.id}${out.name === "" ? "" : ` (${oneLine(out.name)})`} · ${out.state} · ${out.when}`,
    `does     ${oneLine(out.message)}`,
    `in       ${out.target}; its answer: ${out.delivery}`,
    `next     ${nextText(out, readerAt(at)) ?? "never"}`,
    ...(out.times.length < 2
      ? []
      : [`then     ${timesText(out.timezone, out.times.slice(1), readerAt(at))}`]),
    `so far   ${countsText(out.counts)}; ${out.failures} failures in a row`,
    ...(out.why === null ? [] : [`why      ${oneLine(out.why)}`]),
  ]);
}

const EDIT_USAGE = "/cron edit <job> <when> [message]: another time, and another message if one follows";

/** Its first word, or what is in quotes, is the job: more words follow here than its name has. */
async function edit(at: At, rest: string): Promise<Done<Said>> {
  const [named = ""] = rest.match(WORD) ?? [];
  const { when, message, note = [] } = timeIn(rest.slice(named.length).trim());
  if (when === null) throw missing(EDIT_USAGE, "a name of several words is in quotes, and so are fields");
  const { id: job } = await jobOf(at, named, EDIT_USAGE);
  const done = await at.call("editJob", { job, ...when, ...(message === "" ? {} : { message }) });
  return said(done, (out) => [`job ${nameOf(out)}: ${whenOf(at, out)}`, ...note]);
}

async function run(at: At, rest: string): Promise<Done<Said>> {
  const { id: job } = await jobOf(at, rest, "/cron run <job>");
  return said(await at.call("runJob", { job }), ({ sessionKey }) => [`runs in ${sessionKey}`]);
}

async function runs(at: At, rest: string): Promise<Done<Said>> {
  const { id: job } = await jobOf(at, rest, "/cron runs <job>");
  const done = await seen(await at.call("jobRuns", { job, limit: RUNS_TOLD }));
  if (done.runs.length === 0) return told(["it has not run yet"]);
  const reader = readerAt(at);
  return told(
    done.runs.map((each) => {
      const began = ago(Math.max(0, reader.nowMs - Date.parse(each.startedAt)));
      const due = each.asked ? "asked for" : `for ${timesText(done.timezone, [each.dueAt], reader)}`;
      const note = noteText(each);
      return `${began} · ${due} · ${outcomeText(each)}${note === "" ? "" : `: ${cut(oneLine(note), NOTE_CELLS)}`}`;
    }),
  );
}

function switched(enabled: boolean): (at: At, rest: string) => Promise<Done<Said>> {
  return async (at, rest) => {
    const { id: job } = await jobOf(at, rest, `/cron ${enabled ? "on" : "off"} <job>`);
    return said(await at.call("editJob", { job, enabled }), (out) => [
      enabled ? `on; next ${nextText(out, readerAt(at)) ?? "never"}` : "off; /cron on lets it go on",
    ]);
  };
}

async function remove(at: At, rest: string): Promise<Done<Said>> {
  const { id: job } = await jobOf(at, rest, "/cron rm <job>");
  return said(await at.call("removeJob", { job }), (out) => [`job ${nameOf(out)} is gone`]);
}

const ACTIONS: Readonly<Record<string, (at: At, rest: string) => Promise<Done<Said>>>> = {
  list,
  add,
  show,
  edit,
  run,
  runs,
  on: switched(true),
  off: switched(false),
  rm: remove,
};

/** Other words for the same, as people know them from elsewhere. They are obeyed, and not listed. */
const ALSO: Readonly<Record<string, string>> = {
  "": "list",
  ls: "list",
  enable: "on",
  disable: "off",
  remove: "rm",
};

/** What is called so in ACTIONS. */
function meantBy(action: string): string {
  return Object.hasOwn(ALSO, action) ? (ALSO[action] ?? action) : action;
}

export const cronCommands: readonly Command[] = [
  {
    name: "cron",
    takes: `[${Object.keys(ACTIONS).join("|")}]`,
    words: Object.keys(ACTIONS),
    about: "what is done here at times: which jobs, a new one, one of them now or never again",
    more: [
      ADD_USAGE,
      "/cron add every 15m look at the mail",
      '/cron add "0 9 * * 1-5" what is in the calendar today?',
      EDIT_USAGE,
      "/cron show|run|runs|on|off|rm <job>: by its name, its id or how that begins",
    ],
    looks: doing("list", "ls", "show", "runs"),
    run: async (at, rest) => {
      const [action, others] = split(rest);
      const name = meantBy(action);
      const act = ACTIONS[name];
      if (act === undefined || !Object.hasOwn(ACTIONS, name))
        throw new Fault("bad_input", `/cron takes one of ${Object.keys(ACTIONS).join(", ")}`);
      return await act(at, others);
    },
  },
];
