// Commands about a session's children. Only its own: whoever is in a chat rules over what that chat has set going.

import { Fault } from "../../base/fault.ts";
import { count, many } from "../../base/figures.ts";
import { cut, oneLine } from "../../base/harmless.ts";
import { shown } from "../../base/fits.ts";
import type { Done } from "../call.ts";
import {
  always,
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
import { statusLines } from "./words.ts";

type Child = Output<"children">["children"][number];

/** Children on a page: so many are listed and numbered. And pages that are looked through for one, or for all. */
const PAGE_CHILDREN = 200;
const PAGES_MAX = 50;

/** What was said last by a child, and of each the cells that fit a line or two. */
const LOG_ENTRIES = 12;
const LOG_CELLS = 160;

/** Candidates that an error names. */
const NAMED_MAX = 8;

const LIST_HINT = "/subagents list says who there is";

/** A session's children, by their birth, so that a number means the same child when others change. */
interface Family {
  readonly own: readonly Child[];
  /** What others opened, and what works for this session now: it is shown, and is not this session's to rule over. */
  readonly lent: readonly Child[];
  /** False: there are more than a page, and a number may mean another child the next time. */
  readonly isNumbered: boolean;
}

/** `pages`: that are looked at; null: all, or else it is refused. */
async function familyOf({ sessionKey, call }: At, pages: number | null): Promise<Family> {
  const found = new Map<string, Child>();
  const look = async (from: string | null): Promise<string | null> => {
    const cursor = from === null ? {} : { cursor: from };
    const page = await seen(await call("children", { sessionKey, limit: PAGE_CHILDREN, ...cursor }));
    for (const child of page.children) found.set(child.sessionKey, child);
    return page.next;
  };
  let next = await look(null);
  const isNumbered = next === null;
  for (let page = 1; next !== null && page < (pages ?? PAGES_MAX); page += 1) next = await look(next);
  if (next !== null && pages === null)
    throw new Fault("overloaded", `${sessionKey} has more than ${PAGES_MAX * PAGE_CHILDREN} children`, {
      todo: "`sessiond kill` and `sessiond steer` take a key",
    });
  // The last that changed are first: who changed while the others were looked at is there now.
  if (!isNumbered && pages === null) await look(null);
  const all = [...found.values()].toSorted(
    (a, b) => Date.parse(a.bornAt) - Date.parse(b.bornAt) || (a.sessionKey < b.sessionKey ? -1 : 1),
  );
  const own = all.filter(({ parent }) => parent === sessionKey);
  return { own, lent: all.filter(({ parent }) => parent !== sessionKey), isNumbered };
}

/** The child that is meant by a number of the list, its label, its key, or how that ends. */
async function childOf(at: At, text: string): Promise<string> {
  const { own, isNumbered } = await familyOf(at, null);
  const isNumber = /^#?\d{1,3}$/.test(text);
  const numbered = isNumber && isNumbered ? own[Number(text.replace("#", "")) - 1] : undefined;
  if (numbered !== undefined) return numbered.sessionKey;
  const exact = own.filter(({ sessionKey, title }) => sessionKey === text || title === text);
  if (isNumber && !isNumbered && exact.length === 0)
    throw new Fault(
      "bad_input",
      `there are more than ${PAGE_CHILDREN} children, too many for numbers: name it by its key or its label`,
    );
  const found = exact.length > 0 ? exact : own.filter(({ sessionKey }) => endsIn(sessionKey, text));
  const [only, ...others] = found;
  if (only === undefined)
    throw new Fault("not_found", `no child of ${at.sessionKey} is meant by ${shown(text)}`, {
      todo: LIST_HINT,
    });
  if (others.length === 0) return only.sessionKey;
  const named = found.slice(0, NAMED_MAX).map(({ sessionKey }) => sessionKey);
  throw new Fault("bad_input", `${shown(text)} may be ${named.join(", ")}: write more of its key`);
}

/** With one letter half of them would be meant; a whole id always may be. */
function endsIn(key: string, text: string): boolean {
  return key.split(":").at(-1) === text || (text.length >= ENDING_CHARS_MIN && key.endsWith(text));
}

const ENDING_CHARS_MIN = 4;

async function list(at: At): Promise<Done<Said>> {
  const { own, lent, isNumbered } = await familyOf(at, 1);
  const words = ({ sessionKey, title, why, tokens }: Child): string => {
    const name = title === "" ? "" : `"${oneLine(title)}" `;
    return `${sessionKey} ${name}· ${oneLine(why)} · ${count(tokens)} tokens`;
  };
  const lines = [
    ...own.map((child, index) => `${isNumbered ? `${index + 1}.` : "–"} ${words(child)}`),
    ...(isNumbered ? [] : ["… and more, which `sessiond ps --tree` shows; name one by its key or its label"]),
    ...lent.map((each) => `– ${words(each)} · works for this session, and is no child of it`),
  ];
  return told(lines.length === 0 ? ["no children"] : lines);
}

async function info(at: At, rest: string): Promise<Done<Said>> {
  if (rest === "") throw missing("/subagents info <child>", LIST_HINT);
  const sessionKey = await childOf(at, rest);
  const done = await at.call("status", { sessionKey });
  return said(done, (out) => statusLines(out, at.system.world.nowMs()));
}

async function log(at: At, rest: string): Promise<Done<Said>> {
  if (rest === "") throw missing("/subagents log <child>", LIST_HINT);
  const sessionKey = await childOf(at, rest);
  const { entries } = await seen(await at.call("history", { sessionKey, limit: LOG_ENTRIES }));
  const lines = entries.map(({ seq, kind, text, calls }) => {
    const words = oneLine([text, ...calls.map(({ name }) => `▸ ${name}`)].join(" "));
    return `#${seq} ${kind}: ${cut(words, LOG_CELLS)}`;
  });
  return told([sessionKey, ...(lines.length === 0 ? ["nothing was said in it yet"] : lines)]);
}

async function steer(at: At, rest: string): Promise<Done<Said>> {
  const [who, message] = split(rest);
  if (message === "") throw missing("/subagents steer <child> <text>", LIST_HINT);
  const sessionKey = await childOf(at, who);
  const done = await at.call("steer", { sessionKey, message });
  return said(done, () => [`${sessionKey} reads it before its next step`]);
}

async function kill(at: At, rest: string): Promise<Done<Said>> {
  if (rest === "") throw missing("/subagents kill <child>, or all", LIST_HINT);
  if (rest === "all") return await killAll(at);
  const sessionKey = await childOf(at, rest);
  return said(await at.call("kill", { sessionKey }), ({ killed }) => [
    killed.length === 0 ? `${sessionKey} had ended` : `killed ${killed.join(", ")}`,
  ]);
}

/** In one commit: all of them, or none. */
async function killAll(at: At): Promise<Done<Said>> {
  const { own } = await familyOf(at, null);
  const living = own.filter(({ state }) => state !== "ended");
  if (living.length === 0) return told(["no child works"]);
  const each = await Promise.all(living.map(({ sessionKey }) => at.call("kill", { sessionKey })));
  const changes = each.flatMap((done) => done.changes);
  return said({ changes, output: () => null }, () => [`killed ${many(living.length, "child", "children")}`]);
}

async function spawn(at: At, task: string): Promise<Done<Said>> {
  if (task === "") throw missing("/subagents spawn <task>", "the task is all that it is told");
  const done = await at.call("spawn", { parent: at.sessionKey, task });
  return said(done, ({ sessionKey }) => [`${sessionKey} works on it; its report comes here`]);
}

const ACTIONS = { list, info, log, steer, kill, spawn } as const;

const subagents: Command = {
  name: "subagents",
  takes: `[${Object.keys(ACTIONS).join("|")}]`,
  words: Object.keys(ACTIONS),
  looks: doing("list", "info", "log"),
  about:
    "its children: which, one's status, its last words, tell it something, end it (or all), a new one for a task",
  run: async (at, rest) => {
    const [action, others] = split(rest);
    const name = action === "" ? "list" : action;
    if (!Object.hasOwn(ACTIONS, name))
      throw new Fault("bad_input", `/subagents takes one of ${Object.keys(ACTIONS).join(", ")}`);
    return await ACTIONS[name as keyof typeof ACTIONS](at, others);
  },
};

export const familyCommands: readonly Command[] = [
  subagents,
  { name: "children", takes: "", about: "short for /subagents list", looks: always, run: list },
  { name: "kill", takes: "<child|all>", words: ["all"], about: "short for /subagents kill", run: kill },
  { name: "steer", takes: "<child> <text>", about: "short for /subagents steer", run: steer },
];
