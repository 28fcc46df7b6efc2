// Somebody who writes through a channel, and what comes back to them.

import assert from "node:assert/strict";
import type { TestContext } from "node:test";
import type { ConfigInput, Tool } from "../../src/index.ts";
import type { Outgoing } from "../../src/mail/letter.ts";
import { Forward } from "../fixtures/forward.ts";
import { Stage, until } from "./stage.ts";

export const ANN = "agent:main:pigeon:direct:ann";

export class Chatting {
  readonly stage: Stage;
  readonly came: Outgoing[];

  constructor(stage: Stage, came: Outgoing[]) {
    this.stage = stage;
    this.came = came;
  }

  static async open(
    test: TestContext,
    {
      config = {},
      tools = [],
      world = new Forward(),
    }: { config?: ConfigInput; tools?: Tool[]; world?: Forward } = {},
  ): Promise<Chatting> {
    const came: Outgoing[] = [];
    const pigeon = async (outgoing: Outgoing): Promise<void> => void came.push(outgoing);
    return new Chatting(await Stage.open(test, config, { channels: { pigeon }, tools, world }), came);
  }

  get texts(): string[] {
    return this.came.map(({ content: [block] }) => (block?.type === "text" ? block.text : ""));
  }

  get sessions() {
    return this.stage.sessions;
  }

  receive(message: string, more: object = {}) {
    return this.sessions.receive({ channel: "pigeon", chatType: "direct", peer: "ann" }, message, more);
  }

  /** What comes back through the channel. */
  async say(message: string, more: object = {}): Promise<string> {
    const before = this.came.length;
    await this.receive(message, more);
    await until(() => this.came.length > before);
    assert.equal(this.came.length, before + 1, `one answer to ${message}`);
    return this.texts.at(-1) ?? "";
  }

  async letters(): Promise<string[]> {
    const { entries } = await this.sessions.history(ANN, { limit: 200 });
    return entries.filter(({ kind }) => kind === "user").map(({ text }) => text);
  }

  async reminders(): Promise<number> {
    const { rows } = await this.stage.wired.system.store.timers({ dueByMs: Number.MAX_SAFE_INTEGER });
    return rows.filter(({ id }) => id.startsWith("command:")).length;
  }

  async settings() {
    return (await this.sessions.status(ANN)).settings;
  }
}
