// Run: one plan from its first life to its end, and what is found then.

import { SimulatedWorld } from "../src/base/world.ts";
import { Fault } from "../src/base/fault.ts";
import { opening } from "../src/calls/send.ts";
import { DEFAULT_AGENT, mainKey, parseKey } from "../src/routing/key.ts";
import type { Change } from "../src/store/change.ts";
import { watch } from "./follower.ts";
import { listen } from "./grants.ts";
import { Home } from "./home.ts";
import { judge } from "./judge.ts";
import { Life } from "./life.ts";
import { look } from "./look.ts";
import type { Death, Deed, Plan } from "./plan.ts";
import { KEYS } from "../test/turns/scenes.ts";
import { outlastsLeases } from "./store.ts";
import { NOTHING, tallied, type Tally } from "./tally.ts";

export interface Outcome {
  readonly problems: readonly string[];
  readonly hash: string;
  readonly tally: Tally;
}

/** How long somebody waits before trying again what was refused for now. */
const AGAIN_MS = 150;

const START_MS = Date.UTC(2026, 0, 1);

/** `trace` hears of everything that happens; null: nobody wants to. */
export async function run(plan: Plan, trace: ((line: string) => void) | null = null): Promise<Outcome> {
  const home = new Home(new SimulatedWorld(plan.seed, START_MS), trace);
  const grants = { ...NOTHING.grants };
  listen({ wrong: (what) => home.wrong(what), granted: (of) => void (grants[of] += 1) });
  const stray = (error: unknown): void => home.wrong(`nobody saw to ${String(error)}`);
  process.on("unhandledRejection", stray);
  try {
    const undone = new Set(plan.deeds);
    let startMs = START_MS;
    for (const [number, death] of [...plan.deaths, null].entries()) {
      const life = new Life({ home, plan, number, startMs, death });
      home.note("life", { number, death });
      await live(life, { home, plan, undone, death });
      startMs = life.world.nowMs() + (death?.gapMs ?? 0);
      if (death !== null && !outlastsLeases(death)) await life.store.forgetClaims();
    }
    const seen = await look(home);
    const problems = [...new Set([...home.problems, ...judge(home, seen)])];
    return {
      problems,
      hash: home.hash(),
      tally: tallied(seen, home, { lives: plan.deaths.length + 1, grants }),
    };
  } finally {
    process.off("unhandledRejection", stray);
    listen(null);
  }
}

interface Days {
  readonly home: Home;
  readonly plan: Plan;
  /** What nobody was told the end of. */
  readonly undone: Set<Deed>;
  /** Null: the last life. */
  readonly death: Death | null;
}

async function live(life: Life, days: Days): Promise<void> {
  const { home, plan, undone, death } = days;
  if (!(await life.start().catch(refused))) return;
  void watch(life, home).catch(refused);
  const sinceMs = life.world.nowMs() - START_MS;
  for (const deed of undone) void perform(life, days, deed, Math.max(0, deed.atMs - sinceMs));
  await life.passes(async () => life.store.isClosing || undone.size === 0);
  if (death === null && plan.contAtEnd) await life.until(contAll(life));
  if (!life.store.isDead && !life.store.isClosing) {
    const rests = atRest(life, home);
    await life.passes(async () => life.store.isClosing || (await rests()));
  }
  if (life.store.isClosing && death !== null && death.abortedMs !== null) {
    for (const key of KEYS) void life.sessions.abort(key).catch(refused);
    await life.until(life.world.sleep(death.abortedMs, new AbortController().signal));
  }
  await life.until(life.sessions.close()).catch(refused);
}

/** What the plan refuses a start, or a close, is one that fails: the next life begins. */
function refused(error: unknown): boolean {
  if (!(error instanceof Fault)) throw error;
  return false;
}

/** People do not give up: what was refused for now is tried again. */
async function perform(life: Life, days: Days, deed: Deed, inMs: number): Promise<void> {
  const { world } = life;
  const never = new AbortController().signal;
  await world.sleep(inMs, never);
  for (;;) {
    try {
      await act(life, days.home, deed);
      days.undone.delete(deed);
      return;
    } catch (error) {
      if (!(error instanceof Fault)) return days.home.wrong(`${deed.do} ${deed.n} failed: ${String(error)}`);
      if (error.code === "closed") return; // in the next life
      if (!error.retry) {
        days.home.note("not done", { n: deed.n, code: error.code });
        days.undone.delete(deed);
        return;
      }
      await world.sleep(AGAIN_MS, never);
    }
  }
}

async function act(life: Life, home: Home, deed: Deed): Promise<void> {
  const { sessions } = life;
  switch (deed.do) {
    case "message": {
      const { message } = deed;
      home.say({ trying: message });
      const { by, input } = message;
      const sent = await (by === "send" ? sessions.call("send", input) : sessions.call("receive", input));
      home.say({ acknowledged: message.name, id: sent.id, key: sent.sessionKey });
      if (!deed.waits) return;
      const { outcome, seq } = await sessions.wait(sent.sessionKey, sent.id, 2_000);
      if (outcome !== "unanswered" && seq !== null) home.say({ heard: sent.id, key: sent.sessionKey, seq });
      return;
    }
    case "letter":
      return await post(life, home, deed);
    case "spawn": {
      const given = await sessions.call("spawn", deed.input);
      home.say({ acknowledged: `s${deed.n}`, id: given.id, key: given.sessionKey });
      const { parent = mainKey(DEFAULT_AGENT) } = deed.input;
      return home.given(given.id, {
        by: parent,
        to: given.sessionKey,
        isTold: deed.input.parent !== undefined,
      });
    }
    case "child":
      return await meddle(life, deed);
    case "compact":
    case "handoff":
      return await wish(life, deed);
    case "set":
      return void (await sessions.call("set", deed.input));
    default:
      return void (await sessions[deed.do](deed.key));
  }
}

/** Who is told that a session is paused leaves it at that: nobody may ever go on with it. */
async function wish({ sessions }: Life, deed: Extract<Deed, { do: "compact" | "handoff" }>): Promise<void> {
  try {
    await sessions.call(deed.do, { sessionKey: deed.key, timeoutMs: 2_000 });
  } catch (error) {
    if (!(error instanceof Fault) || error.code !== "busy") throw error;
  }
}

/** As whoever keeps the time would: straight into the store, and then the lane is told. */
async function post(life: Life, home: Home, deed: Extract<Deed, { do: "letter" }>): Promise<void> {
  const to = parseKey(deed.to);
  const change: Change = {
    do: "post",
    to: [to],
    letter: {
      id: `cause:timer:${deed.n}`,
      from: { kind: "internal_system", cause: "timer" },
      class: deed.class,
      mode: null,
      content: [{ type: "text", text: deed.text }],
      replyTo: null,
      origin: null,
    },
  };
  const changes = [await opening(life.system, to), change];
  const receipt = await life.store.commit(changes);
  home.say({ acknowledged: `t${deed.n}`, id: change.letter.id, key: to });
  life.system.lanes.told(changes, receipt);
}

/** One of the children that are there, whichever that is by then. */
async function meddle({ sessions }: Life, { what, at }: Extract<Deed, { do: "child" }>): Promise<void> {
  const { sessions: rows } = await sessions.list({ limit: 200 });
  const children = rows.filter(({ parent, state }) => parent !== null && state !== "ended");
  const child = children[at % Math.max(1, children.length)];
  if (child) await sessions.call(what, { sessionKey: child.sessionKey });
}

async function contAll({ sessions }: Life): Promise<void> {
  const { sessions: rows } = await sessions.list({ limit: 200 });
  for (const { sessionKey } of rows) await sessions.cont(sessionKey).catch(refused); // It may have ended just now.
}

/** A moment in which nothing is left to do may be one between two commits: so it has to last. */
const REST_MS = 100;

function atRest({ world }: Life, home: Home): () => Promise<boolean> {
  let since = { atMs: world.nowMs(), commits: -1 };
  return async () => {
    const isNew = since.commits !== home.commits || !(await isAtRest(home));
    if (isNew) since = { atMs: world.nowMs(), commits: home.commits };
    return !isNew && world.nowMs() - since.atMs >= REST_MS;
  };
}

/** Nothing is left to do but what is paused, and what waits for that. */
async function isAtRest({ store }: Home): Promise<boolean> {
  const { rows } = await store.sessions({ limit: 500 });
  const isPaused = rows.some(({ signal }) => signal === "pause");
  for (const { key, state, signal } of rows) {
    if (state.kind === "ended" || (signal === "pause" && state.kind !== "running")) continue;
    if (signal === "none" && state.kind === "waiting" && isPaused) continue; // and so do its letters
    if (signal !== "none" || state.kind !== "idle") return false;
    if ((await store.mail(key, { limit: 1 })).rows.length > 0) return false;
  }
  return (await store.outbox({ refused: false, limit: 1 })).rows.length === 0;
}
