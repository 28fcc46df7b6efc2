// Agents whose hearts beat, in simulated time, without a turn: what a beat is answered with is said by the test.

import type { TestContext } from "node:test";
import { openLog } from "../../src/base/log.ts";
import { Fault } from "../../src/base/fault.ts";
import { readConfig } from "../../src/config/load.ts";
import type { ConfigInput } from "../../src/config/schema.ts";
import type { Mail } from "../../src/mail/letter.ts";
import { heartbeatKey, mainKey, parseAgent, type SessionKey } from "../../src/routing/key.ts";
import type { Change, Receipt } from "../../src/store/change.ts";
import { heartbeatEnded, type BeatEnd } from "../../src/timers/alert.ts";
import { fitHeartbeats, heartbeatDue, type HeartbeatParts } from "../../src/timers/heartbeat.ts";
import { cameIn, pulseIn, timerOf, type Came, type Pulse } from "../../src/timers/pulse.ts";
import { Stage } from "./stage.ts";

export const MAIN = mainKey(parseAgent("main"));
export const HEART = heartbeatKey(parseAgent("main"));

export class Beating {
  readonly stage: Stage;
  readonly logged: string[] = [];
  /** What the beats came to, as commits say it, with when. */
  readonly came: { readonly came: Came; readonly atMs: number }[] = [];
  /** What the agents' files say; an agent that is not here has none. */
  readonly tasks = new Map<string, string | Fault>();
  looks = 0;
  parts: HeartbeatParts;

  constructor(test: TestContext, config: ConfigInput = {}) {
    this.stage = new Stage(test);
    const { world, at } = this.stage;
    const log = openLog("debug", { write: (line) => void this.logged.push(line) });
    this.parts = {
      ...{ store: at.store, world, log, channels: new Set(["pigeon"]), troubles: new Map() },
      config: configured(config),
      task: async ({ workspace }) => {
        this.looks += 1;
        const agent = workspace.split("/").at(-2) ?? "";
        const task = this.tasks.get(agent) ?? null;
        if (task instanceof Fault) throw task;
        return task;
      },
    };
  }

  /** As a start does: main sessions, timers, and a clock. */
  async start(config?: ConfigInput): Promise<void> {
    if (config !== undefined) this.parts = { ...this.parts, config: configured(config) };
    const { at } = this.stage;
    const mains = [...this.parts.config.agents.keys()].map(mainKey);
    await at.store.commit(mains.map((key) => at.opening(key, { ifExists: "keep" })));
    await fitHeartbeats(this.parts, (changes) => at.store.commit(changes));
    const commit = async (changes: readonly Change[]): Promise<Receipt> => {
      const receipt = await at.store.commit(changes);
      for (const clock of this.stage.clocks) clock.told(changes);
      this.told(changes);
      return receipt;
    };
    this.stage.commit = commit;
    await this.stage.start({ due: (timer) => heartbeatDue(this.parts, timer) });
  }

  told(changes: readonly Change[]): void {
    for (const change of changes) {
      const came = cameIn(change);
      if (came !== null) this.came.push({ came, atMs: this.stage.world.nowMs() });
    }
  }

  /** The letters of beats that wait. */
  async waiting(key: SessionKey = HEART): Promise<readonly Mail[]> {
    return await this.stage.at.mail(key);
  }

  /** The beat that waits is answered, as the turn and its door would do it. */
  async answer(text: string, more: Partial<BeatEnd> = {}): Promise<Came | null> {
    const [beat] = await this.waiting();
    if (!beat) throw new Error("no beat waits");
    await this.stage.at.store.commit([{ do: "take", key: HEART, fence: 0, ids: [beat.id] }]);
    return await this.ended(beat.replyTo?.thread ?? "", { outcome: "done", reason: null, text, ...more });
  }

  async ended(beat: string, end: BeatEnd): Promise<Came | null> {
    const changes = await heartbeatEnded(this.parts, { agent: "main", beat }, end);
    if (changes.length === 0) return null;
    await this.stage.tell(...changes);
    this.told(changes);
    return (await this.pulse()).last?.came ?? null;
  }

  async pulse(agent = "main"): Promise<Pulse> {
    const timer = await timerOf(this.stage.at.store, agent);
    const pulse = timer && pulseIn(timer);
    if (!pulse) throw new Error(`${agent} does not beat`);
    return pulse;
  }
}

function configured(config: ConfigInput) {
  return readConfig({ home: "/simulated", ...config }, { homeDir: "/simulated", cwd: "/", env: {} });
}
