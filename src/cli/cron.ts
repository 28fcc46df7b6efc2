// `cron`: jobs, which are done at times. Added, listed, looked at, changed, run now, removed. What is shown of them is in jobs.ts.

import { text as streamText } from "node:stream/consumers";
import { Fault } from "../base/fault.ts";
import { whenIn } from "../calls/cron-words.ts";
import type { Input } from "../calls/door.ts";
import { textOf, type Command, type Invocation, type Option, type Options } from "./command.ts";
import { keyOf } from "./key.ts";
import { list, runs, show, tellJob, timesLines, waitForRun } from "./jobs.ts";
import { json, oneLine } from "./output.ts";
import { limitIn } from "./ps.ts";

const ACTIONS = ["add", "when", "list", "show", "edit", "run", "runs", "enable", "disable", "rm"] as const;

/** Other words for the same, as people know them from elsewhere. They are obeyed, and not listed. */
const ALSO: ReadonlyMap<string, string> = new Map([
  ["ls", "list"],
  ["on", "enable"],
  ["off", "disable"],
  ["remove", "rm"],
]);

const LEVELS = ["off", "minimal", "low", "medium", "high", "default"] as const;
/** Times that are told if nobody says how many. */
const TIMES_USUALLY = 5;
const MISSED = ["run", "skip", "coalesce"] as const;

const SPEC: readonly Option[] = [
  { flags: "--name <name>", about: "what it is called; it can be named by it" },
  {
    flags: "--tz <zone>",
    about: "whose clock is meant, such as Europe/Zurich (the configuration's timezone)",
  },
  {
    flags: "--session <key>",
    about: "it runs in this session, and the conversation carries over",
    completes: "session",
  },
  { flags: "--thread <name>", about: "the same in a thread of that name" },
  { flags: "--fresh", about: "it runs in a new session each time; so it is if you do not say" },
  { flags: "--model <model>", about: "of fresh sessions (default: the agent's own)" },
  { flags: "--think <level>", about: "of fresh sessions", completes: LEVELS },
  { flags: "--steps <n>", about: "of fresh sessions: model calls in a run" },
  { flags: "--tokens <n>", about: "of fresh sessions: tokens of a run and all below it" },
  { flags: "--cost <dollars>", about: "of fresh sessions: the same in US dollars" },
  { flags: "--timeout <span>", about: "how long a run may take (as long as a turn)" },
  {
    flags: "--deliver <where>",
    about: "where the answer goes: none, route, main, a session, webhook:<channel>:<to>",
  },
  {
    flags: "--missed <what>",
    about: "runs that were due while the daemon was away (coalesce)",
    completes: MISSED,
  },
  { flags: "--grace <span>", about: "so late it is not missed (60s)" },
  { flags: "--stagger <span>", about: "it fires up to so much later, each time the same (0s)" },
  { flags: "--keep <span>", about: "how long fresh sessions are kept (3d)" },
  { flags: "--failures <n>", about: "after so many in a row it is disabled; 0: never (5)" },
];

export const cron: Command = {
  name: "cron",
  summary: `jobs, which are done at times: ${ACTIONS.join(", ")}`,
  arguments: [
    { name: "action", about: ACTIONS.join(", "), required: false, completes: ACTIONS },
    {
      name: "words",
      about:
        "add: when, and what to do (-: standard input); when: a time to be tried. Of the others: a job, by its id or name",
      required: false,
      variadic: true,
      completes: "job",
    },
  ],
  options: [
    ...SPEC,
    { flags: "--agent <agent>", about: "add: who does it (main); list: only of this agent" },
    { flags: "--id <id>", about: "add: your own id of it: sent again, it is there once" },
    { flags: "--disabled", about: "add: it does not fire yet; list: only such" },
    { flags: "--enabled", about: "list: only those that fire" },
    { flags: "--when <when>", about: "edit: another time" },
    { flags: "--message <text>", about: "edit: something else to do" },
    { flags: "--enable", about: "edit: it fires again" },
    { flags: "--disable", about: "edit: it does not fire by itself" },
    { flags: "-w, --wait", about: "run: wait for its end, and exit as it went" },
    {
      flags: "-n, --limit <rows>",
      about: "list, runs, when: how many at most, up to 200 (list: all; runs: 20), of when up to 50 (5)",
    },
  ],
  more: `When: a cron expression in quotes ("0 9 * * 1-5", with seconds "*/30 * * * * *", @daily), every <span>, in <span>, or
at <time>. Spans: 90s, 15m, 1h30m, 2d. Times: 2026-10-05T09:00 by the clock of --tz, 2026-10-05T09:00+02:00, ...Z.

Examples:
  sessiond cron add "0 9 * * 1-5" "what is in the calendar today?" --tz Europe/Zurich --name morning
  sessiond cron add every 15m "look after the queue; say nothing if it is short" --thread queue
  sessiond cron add in 20m "remind me of the tea" --session main
  sessiond cron when "0 9 * * 1-5" --tz Europe/Zurich
  sessiond cron edit morning --when "30 8 * * 1-5"
  sessiond cron runs morning

Exit codes of run --wait: 0 done, 1 failed, 3 limit reached, 75 skipped, 124 its time was up, 137 killed.`,
  run: async (invocation) => {
    const [said = "list", ...rest] = invocation.args;
    const action = ALSO.get(said) ?? said;
    switch (action) {
      case "add":
        return await add(invocation, rest);
      case "when":
        return await tellTimes(invocation, rest);
      case "list":
        return await list(invocation, rest);
      case "show":
        return await show(invocation, jobIn(action, rest));
      case "edit":
        return await edit(invocation, jobToEdit(invocation.options, rest));
      case "enable":
      case "disable":
        return await change(invocation, jobIn(action, rest), { enabled: action === "enable" });
      case "run":
        return await run(invocation, jobIn(action, rest));
      case "runs":
        return await runs(invocation, jobIn(action, rest));
      case "rm":
        return await remove(invocation, jobIn(action, rest));
      default:
        throw new Fault(
          "bad_input",
          `cron: there is no ${JSON.stringify(action)}; say ${ACTIONS.join(", ")}`,
        );
    }
  },
};

type Words = readonly string[];
type Spec = Omit<Input<"editJob">, "job">;

function jobIn(action: string, [job, ...more]: Words): string {
  if (job === undefined) throw new Fault("bad_input", `cron ${action}: say which job, by its id or its name`);
  if (more.length > 0)
    throw new Fault("bad_input", `cron ${action}: one job at a time; put a name of several words in quotes`);
  return job;
}

/** A time that has no quotes around it is cut off after its first word. */
function jobToEdit(options: Options, words: Words): string {
  const when = textOf(options, "when") ?? "";
  const more = words.slice(1);
  if (more.length > 0 && /^[^\s@]+$/.test(when))
    throw new Fault("bad_input", `cron edit: put the time in quotes: --when "${when} ${more.join(" ")}"`);
  return jobIn("edit", words);
}

async function add(invocation: Invocation, words: Words): Promise<number> {
  const { options, client: find, screen, signal } = invocation;
  const { when, taken } = whenIn(words);
  const message = await messageIn(words.slice(taken));
  const client = await find();
  const { model, thinking, limits, ...spec } = await specIn(invocation);
  const fresh = {
    ...(typeof model === "string" ? { model } : {}),
    ...(typeof thinking === "string" ? { thinking } : {}),
    ...(limits ? { limits: limitsGiven(limits) } : {}),
  };
  const [agent, id] = [textOf(options, "agent"), textOf(options, "id")];
  const input: Input<"addJob"> = {
    ...spec,
    ...when,
    ...fresh,
    message,
    ...(agent === undefined ? {} : { agent }),
    ...(id === undefined ? {} : { id }),
    ...(options["disabled"] === true ? { enabled: false } : {}),
  };
  const job = await client.call("addJob", input, signal);
  if (screen.json) json(screen, job);
  else tellJob(screen, job, job.repeated ? "was there already" : "added");
  return 0;
}

/** Without adding anything: what a time means is seen before. */
async function tellTimes(
  { options, client: find, screen, signal }: Invocation,
  words: Words,
): Promise<number> {
  const { when, taken } = whenIn(words);
  if (words.length > taken)
    throw new Fault("bad_input", "cron when: a time, and nothing else; put an expression in quotes");
  const timezone = textOf(options, "tz");
  const limit = limitIn(options, TIMES_USUALLY);
  const input = { ...when, ...(timezone === undefined ? {} : { timezone }), limit };
  const told = await (await find()).call("jobTimes", input, signal);
  if (screen.json) json(screen, told);
  else screen.out(timesLines(told));
  return 0;
}

async function edit(invocation: Invocation, name: string): Promise<number> {
  const { options } = invocation;
  if (options["enable"] === true && options["disable"] === true)
    throw new Fault("bad_input", "cron edit: either --enable or --disable");
  const [when, message] = [textOf(options, "when"), textOf(options, "message")];
  const spec: Spec = {
    ...(await specIn(invocation)),
    ...(when === undefined ? {} : whenIn([when]).when),
    ...(message === undefined ? {} : { message }),
    ...(options["enable"] === true ? { enabled: true } : {}),
    ...(options["disable"] === true ? { enabled: false } : {}),
  };
  if (Object.keys(spec).length === 0)
    throw new Fault("bad_input", "cron edit: say what to change, such as --when, --message or --disable");
  if (spec.timezone !== undefined && when === undefined) await mustHaveFields(invocation, name);
  return await change(invocation, name, spec);
}

/** The daemon refuses it too, in the words of the call. */
async function mustHaveFields({ client: find, signal }: Invocation, name: string): Promise<void> {
  const { when } = await (await find()).call("job", { job: name }, signal);
  if (/^(?:every|at) /.test(when))
    throw new Fault(
      "bad_input",
      `cron edit: --tz alone moves only a cron expression, and this job is "${oneLine(when)}"; say --when with it`,
    );
}

async function change(
  { client: find, screen, signal }: Invocation,
  name: string,
  spec: Spec,
): Promise<number> {
  const job = await (await find()).call("editJob", { job: name, ...spec }, signal);
  if (screen.json) json(screen, job);
  else tellJob(screen, job, "changed");
  return 0;
}

async function run(invocation: Invocation, name: string): Promise<number> {
  const { options, client: find, screen, signal } = invocation;
  const client = await find();
  const begun = await client.call("runJob", { job: name }, signal);
  if (options["wait"] === true) return await waitForRun(invocation, begun);
  if (screen.json) json(screen, begun);
  else screen.out(`runs in ${begun.sessionKey}. Its end: sessiond cron runs ${begun.id}\n`);
  return 0;
}

async function remove({ client: find, screen, signal }: Invocation, name: string): Promise<number> {
  const done = await (await find()).call("removeJob", { job: name }, signal);
  if (screen.json) json(screen, done);
  else screen.out(`${done.id}${done.name === "" ? "" : ` (${oneLine(done.name)})`} is removed\n`);
  return 0;
}

// ── What was typed ──────────────────────────────────────────────────────────────────────────────────────────

async function messageIn(words: Words): Promise<string> {
  if (words.length === 0)
    throw new Fault("bad_input", "cron add: say what is to be done, after the time; - is standard input");
  return words.length === 1 && words[0] === "-" ? await streamText(process.stdin) : words.join(" ");
}

const TEXTS = [
  ["name", "name"],
  ["tz", "timezone"],
  ["timeout", "timeout"],
  ["missed", "missed"],
  ["grace", "grace"],
  ["stagger", "stagger"],
  ["keep", "keep"],
] as const;

/** What add and edit have in common. */
async function specIn({ options, client: find, signal }: Invocation): Promise<Spec> {
  const texts = TEXTS.flatMap(([option, name]) => {
    const value = textOf(options, option);
    return value === undefined ? [] : [[name, value]];
  });
  const [model, think, failures] = ["model", "think", "failures"].map((each) => textOf(options, each));
  const target = await targetIn(options, async (text) => await keyOf(await find(), text, signal));
  const deliver = textOf(options, "deliver");
  const limits = limitsIn(options);
  return {
    ...(Object.fromEntries(texts) as Spec),
    ...(target === null ? {} : { target }),
    ...(model === undefined ? {} : { model: model === "default" ? null : model }),
    ...(think === undefined ? {} : { thinking: think === "default" ? null : (think as "low") }),
    ...(limits === undefined ? {} : { limits }),
    ...(failures === undefined ? {} : { failuresMax: numberIn("failures", failures) }),
    ...(deliver === undefined
      ? {}
      : { delivery: IS_SAID.test(deliver) ? deliver : await keyOf(await find(), deliver, signal) }),
  };
}

/** What the daemon understands by itself: main is that of the job's agent. */
const IS_SAID = /^(?:none|route|main|(?:webhook|thread|agent):.*)$/s;

async function targetIn(options: Options, keyFor: (text: string) => Promise<string>): Promise<string | null> {
  const said = ["session", "thread", "fresh"].filter((each) => options[each] !== undefined);
  if (said.length > 1) throw new Fault("bad_input", `cron: either --${said.join(" or --")}`);
  const [session, thread] = [textOf(options, "session"), textOf(options, "thread")];
  if (session !== undefined) return IS_SAID.test(session) ? session : await keyFor(session);
  if (thread !== undefined) return `thread:${thread}`;
  return options["fresh"] === true ? "fresh" : null;
}

type Limits = NonNullable<Spec["limits"]>;

/** Only what is named; null of it: as the agent has it. */
function limitsIn(options: Options): Limits | undefined {
  const named = (["steps", "tokens", "cost"] as const).flatMap((option) => {
    const text = textOf(options, option);
    if (text === undefined) return [];
    const value = text === "default" ? null : numberIn(option, text);
    return [[option === "steps" ? "stepsPerTurn" : option, value] as const];
  });
  return named.length === 0 ? undefined : Object.fromEntries(named);
}

/** Of a new job: what it does not have need not be taken away. */
function limitsGiven(limits: Limits): NonNullable<Input<"addJob">["limits"]> {
  return Object.fromEntries(Object.entries(limits).filter(([, value]) => value !== null));
}

function numberIn(option: string, text: string): number {
  if (/^\d+(?:\.\d+)?$/.test(text)) return Number(text);
  throw new Fault("bad_input", `--${option} is a number of 0 or more, not ${JSON.stringify(text)}`);
}
