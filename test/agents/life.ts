// The program that the campaign kills: people ask for things that fan out, and meddle with whoever works on them.
//
//   node test/agents/life.ts FOLDER SEED RUN [MUCH]
//
// As test/turns/life.ts: MUCH is how much each person asks before it closes, without it they go on until it is killed; "rest"
// only finishes what is left. What nobody acknowledged to the life before is asked again.

import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { Fault, open, openLog, SimulatedWorld, type Output } from "../../src/index.ts";
import { sayLine } from "../crash/say.ts";
import { pick } from "../turns/scenes.ts";
import { openTrace, toolsFor, type Effect } from "../turns/tools.ts";
import type { Asked, Told } from "./reports.ts";
import { askedBy, greetings } from "./scenes.ts";

const [folder = "", seed = "1", run = "0", much = "Infinity"] = process.argv.slice(2);

/** Whoever started it has died: nobody will kill it. */
process.stdin.on("end", () => process.exit(3)).resume();
say({ starting: true });

const PEOPLE = 2;

/** So long nothing has happened, and something is left to do: then it never comes to rest. */
const STUCK_MS = 20_000;

/** So often a session that was killed between two looks at it is written to again. */
const TRIES_MAX = 5;

const isLast = much === "rest";
const dice = new SimulatedWorld(Number(seed) * 1_000 + (Number(run) || 0));

const sessions = await open(
  {
    home: join(folder, "home"),
    agents: { defaults: { workspace: folder, tools: { visibility: "all" } } },
    session: { collectMs: 20 },
    scheduler: { slots: 4 },
  },
  {
    log: openLog("error", { write: (line) => say({ wrong: line.slice(0, 600) }) }),
    tools: toolsFor(await openTrace<Effect>(join(folder, "effects"))),
    died: (fault) => say({ wrong: `the store died: ${fault.message}` }),
  },
);
say({ ready: true });

function say(said: Told): void {
  sayLine(said);
}

type Row = Output<"list">["sessions"][number];

async function rowsOf(): Promise<readonly Row[]> {
  const rows: Row[] = [];
  for (let cursor: string | null | undefined = undefined; cursor !== null;) {
    const page: Output<"list"> = await sessions.list({ limit: 200, ...(cursor ? { cursor } : {}) });
    rows.push(...page.sessions);
    cursor = page.next;
  }
  return rows;
}

async function ask(asked: Asked): Promise<{ readonly id: string; readonly sessionKey: string }> {
  say({ trying: asked });
  for (let tries = 1; ; tries += 1) {
    try {
      const told =
        asked.by === "send"
          ? await sessions.call("send", asked.input)
          : await sessions.call("spawn", asked.input);
      say({ acknowledged: asked.name, id: told.id, key: told.sessionKey });
      return told;
    } catch (error) {
      if (!isRefused(error, ["ended"]) || tries === TRIES_MAX) throw error;
    }
  }
}

function isRefused(error: unknown, codes: readonly string[]): boolean {
  return error instanceof Fault && codes.includes(error.code);
}

/**
 * What people do besides asking, mostly to children that work. Whoever is gone or has ended by then is not found, and who has
 * nothing to do is not steered.
 */
async function meddle(): Promise<void> {
  const living = (await rowsOf()).filter(({ state }) => state !== "ended");
  const working = living.filter(({ parent, state }) => parent !== null && state !== "idle");
  const { sessionKey: key } = pick(dice, working.length > 0 && dice.random() < 0.8 ? working : living);
  const parents = working.filter(({ state }) => state === "waiting"); // these have children that work
  const rolled = dice.random();
  try {
    if (rolled < 0.1) say({ killed: (await sessions.kill(key)).killed });
    else if (rolled < 0.25 && parents.length > 0)
      say({ killed: (await sessions.kill(pick(dice, parents).sessionKey)).killed });
    else if (rolled < 0.4) await sessions.steer(key, '!call mark {"ms":3}\n!then\n!say steered');
    else if (rolled < 0.55) await sessions.stop(key);
    else if (rolled < 0.85) await sessions.cont(key);
    else await sessions.abort(key);
  } catch (error) {
    if (!isRefused(error, ["not_found", "ended", "forbidden", "bad_input"])) throw error;
  }
}

async function person(who: number, asks: number): Promise<void> {
  for (let asked = 0; asked < asks; asked += 1) {
    if (dice.random() < 0.5) await meddle();
    const { id, sessionKey } = await ask(askedBy(dice, `r${run}p${who}m${asked}`));
    const { outcome, seq } = await sessions.wait(sessionKey, id, 300);
    if (outcome !== "unanswered" && seq !== null) say({ heard: id, key: sessionKey, seq });
    await meddle();
  }
}

async function askAgain(): Promise<void> {
  const path = join(folder, "again.json");
  const unsure = existsSync(path) ? (JSON.parse(readFileSync(path, "utf8")) as Asked[]) : [];
  await Promise.all(greetings().map(ask));
  for (const asked of unsure) await ask(asked);
}

/** Null: the session has ended, or was deleted, after it was listed. */
async function unlessGone<Of>(asked: Promise<Of>): Promise<Of | null> {
  return await asked.catch((error: unknown) => {
    if (isRefused(error, ["not_found", "ended"])) return null;
    throw error;
  });
}

/** Whether there is nothing left to do, as far as a person can see. */
async function isQuiet(): Promise<boolean> {
  const living = (await rowsOf()).filter(({ state }) => state !== "ended");
  if (living.some(({ state }) => state !== "idle")) return false;
  const asked = await Promise.all(living.map(({ sessionKey }) => unlessGone(sessions.status(sessionKey))));
  return asked.every((status) => status?.waitingLetters === 0);
}

async function rest(): Promise<void> {
  for (const { sessionKey, state } of await rowsOf())
    if (state !== "ended") await unlessGone(sessions.cont(sessionKey));
  let [before, sinceMs] = ["", Date.now()];
  for (let quiet = 0; quiet < 3;) {
    quiet = (await isQuiet()) ? quiet + 1 : 0;
    const now = JSON.stringify((await rowsOf()).map(({ sessionKey, entries }) => [sessionKey, entries]));
    if (now !== before) [before, sinceMs] = [now, Date.now()];
    if (Date.now() - sinceMs > STUCK_MS) return say({ wrong: "it does not come to rest" });
    await sleep(50);
  }
}

if (much !== "0") {
  await askAgain();
  if (isLast) await rest();
  else await Promise.all(Array.from({ length: PEOPLE }, (_, who) => person(who, Number(much))));
}
await sessions.close();
say({ closed: true });
process.exit(0);
