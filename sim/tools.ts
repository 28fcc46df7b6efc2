// Tools and a door that leave a mark outside of every life, and look whether they may run at all.

import { createHash } from "node:crypto";
import { z } from "zod";
import type { World } from "../src/base/world.ts";
import type { Deliver } from "../src/mail/outbox.ts";
import { tool, type Tool } from "../src/tools/tool.ts";
import type { Effect } from "../test/turns/tools.ts";
import type { Home } from "./home.ts";

interface Around {
  readonly home: Home;
  readonly world: World;
  /** What a life does that has died leaves no mark. */
  readonly isDead: () => boolean;
}

const input = z.strictObject({ ms: z.int().min(0).max(10_000) });

/** Of results: some can leave a context, of some it only becomes larger. */
const RESULT_CHARS = [4, 390, 390, 390, 6_000];

/** Which step of a session has tools running: two at once are two turns in one lane. */
type Running = Map<string, { readonly step: string; calls: number }>;

export function toolsFor(around: Around): readonly Tool[] {
  const running: Running = new Map();
  return [
    leaving("mark", "never", around, running),
    leaving("peek", "safe", around, running),
    leaving("slow", "never", around, running),
  ];
}

function leaving(name: string, replay: Tool["replay"], around: Around, running: Running): Tool {
  const { home, world, isDead } = around;
  const mark = (cause: string, what: Effect["what"]): void => {
    if (isDead()) return;
    home.note(what, { cause, name });
    home.effects.push({ cause, tool: name, what, atMs: world.nowMs() });
  };
  return tool({
    name,
    description: "Leaves a mark.",
    input,
    replay,
    run: async ({ ms }, { cause, session, signal }) => {
      mark(cause, "begun");
      if (!isDead() && home.settled.has(cause)) home.wrong(`J3 ${name} ${cause} runs, and has a result`);
      const leave = enter(around, running, session.key, cause);
      try {
        await world.sleep(ms, signal);
      } finally {
        leave();
      }
      mark(cause, "done");
      return "done".padEnd(RESULT_CHARS[ms % RESULT_CHARS.length] ?? 0, ".");
    },
  });
}

/** J7. */
function enter({ home, isDead }: Around, running: Running, key: string, cause: string): () => void {
  const step = cause.slice(0, cause.lastIndexOf(":"));
  const now = running.get(key);
  if (now && now.step !== step && !isDead())
    home.wrong(`J7 ${key}: a call of ${step} begins while those of ${now.step} run`);
  const here = now?.step === step ? now : { step, calls: 0 };
  running.set(key, here);
  here.calls += 1;
  return () => {
    here.calls -= 1;
    if (here.calls === 0 && running.get(key) === here) running.delete(key);
  };
}

/** Sometimes it fails, and sometimes it says so of what it took. */
export function doorFor({ home, isDead }: Around, dice: World, failures: number): Deliver {
  return async ({ id, key, content }) => {
    if (dice.random() < failures) throw new Error("the door is shut");
    if (isDead()) return;
    const hash = createHash("sha256").update(JSON.stringify(content)).digest("hex").slice(0, 16);
    home.note("delivered", { id, key, hash });
    home.deliveries.push({ id, key, hash });
    if (dice.random() < failures) throw new Error("the door fell shut");
  };
}
