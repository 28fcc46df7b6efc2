// The program that the campaign kills: sessions whose turns call tools, write to each other and answer through a door.
//
//   node test/turns/life.ts FOLDER SEED RUN [MUCH]
//
// MUCH is how many messages each of its people sends before it closes; without it they go on until somebody kills it.
// "rest" is the last life: it sends nothing, goes on with everybody who was paused, and closes when nothing is left to do.
//
// It has no memory of its own but a list of messages that nobody acknowledged to the life before: these it sends again.

import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { Fault, open, openLog, SimulatedWorld, type Sessions } from "../../src/index.ts";
import type { Message, Said } from "./reports.ts";
import { KEYS, messageOf, pick, settingOf } from "./scenes.ts";
import { doorFor, openTrace, toolsFor, type Delivery, type Effect } from "./tools.ts";
import { sayLine } from "../crash/say.ts";

const [folder = "", seed = "1", run = "0", much = "Infinity"] = process.argv.slice(2);

/** Whoever started it has died: nobody will kill it. */
process.stdin.on("end", () => process.exit(3)).resume();
say({ starting: true });

const PEOPLE = 5;
const REST_MS_MAX = 90_000;
const isLast = much === "rest";
const dice = new SimulatedWorld(Number(seed) * 1_000 + (Number(run) || 0));

const sessions = await open(
  {
    home: join(folder, "home"),
    // So small that results leave it and older parts are summarised all the time.
    agents: {
      defaults: { workspace: folder, tools: { visibility: "all" }, context: { sizeTokens: 2_000 } },
    },
    session: { dmScope: "per-channel-peer", threads: "parent", collectMs: 40 },
    scheduler: { slots: 3 },
  },
  {
    log: openLog("error", { write: (line) => say({ wrong: line.slice(0, 600) }) }),
    tools: toolsFor(await openTrace<Effect>(join(folder, "effects"))),
    channels: {
      door: doorFor(await openTrace<Delivery>(join(folder, "deliveries")), dice, isLast ? 0 : 0.05),
    },
    died: (fault) => say({ wrong: `the store died: ${fault.message}` }),
  },
);
say({ ready: true });

function say(said: Said): void {
  sayLine(said);
}

async function send(message: Message): Promise<{ readonly id: string; readonly sessionKey: string }> {
  say({ trying: message });
  const { by, input } = message;
  const sent = by === "send" ? await sessions.call("send", input) : await sessions.call("receive", input);
  say({ acknowledged: message.name, id: sent.id, key: sent.sessionKey });
  return sent;
}

/** Now and then somebody waits for the answer, so that messages come as fast as they are answered, or a bit faster. */
async function ask(message: Message): Promise<void> {
  const { id, sessionKey } = await send(message);
  if (dice.random() < 0.3) return;
  const { outcome, seq } = await sessions.wait(sessionKey, id, 400);
  if (outcome !== "unanswered" && seq !== null) say({ heard: id, key: sessionKey, seq });
}

/** What people do besides writing. A session that is not there yet is not found. */
async function meddle(key: string): Promise<void> {
  const rolled = dice.random();
  try {
    if (rolled < 0.35) await sessions.call("set", settingOf(dice));
    else if (rolled < 0.5) await sessions.stop(key);
    else if (rolled < 0.75) await sessions.cont(key);
    else if (rolled < 0.85) await sessions.abort(key);
    else if (rolled < 0.93) await sessions.call("compact", { sessionKey: key, timeoutMs: 400 });
    else if (rolled < 0.95) await sessions.call("handoff", { sessionKey: key, timeoutMs: 400 });
    else await sessions.status(key);
  } catch (error) {
    if (!(error instanceof Fault) || !["not_found", "busy"].includes(error.code)) throw error;
  }
}

async function person(who: number, messages: number): Promise<void> {
  for (let sent = 0; sent < messages; sent += 1) {
    if (dice.random() < 0.2) await meddle(pick(dice, KEYS));
    await ask(messageOf(dice, `r${run}p${who}m${sent}`));
    await sleep(dice.random() * 20);
  }
}

async function sendAgain(): Promise<void> {
  const path = join(folder, "again.json");
  if (!existsSync(path)) return;
  for (const message of JSON.parse(readFileSync(path, "utf8")) as Message[]) await send(message);
}

/** Whether there is nothing left to do, as far as a person can see. */
async function isQuiet(of: Sessions): Promise<boolean> {
  const { sessions: rows } = await of.list({ limit: 200 });
  const asked = await Promise.all(rows.map(({ sessionKey }) => of.status(sessionKey)));
  const { answers } = await of.outbox();
  return answers.length === 0 && asked.every((each) => each.state === "idle" && each.waitingLetters === 0);
}

async function rest(): Promise<void> {
  const { sessions: rows } = await sessions.list({ limit: 200 });
  for (const { sessionKey } of rows) await sessions.cont(sessionKey);
  const until = Date.now() + REST_MS_MAX;
  for (let quiet = 0; quiet < 3;) {
    quiet = (await isQuiet(sessions)) ? quiet + 1 : 0;
    if (Date.now() > until) return say({ wrong: `it does not come to rest within ${REST_MS_MAX} ms` });
    await sleep(50);
  }
}

if (isLast) {
  await sendAgain();
  await rest();
} else if (much !== "0") {
  await sendAgain();
  await Promise.all(Array.from({ length: PEOPLE }, (_, who) => person(who, Number(much))));
}
await sessions.close();
say({ closed: true });
process.exit(0);
