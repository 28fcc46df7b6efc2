// The door for OpenAI's clients on a port of its own, and the official client before it. Whatever is opened here is closed and
// gone after the test, also when it fails.

import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { createAdaptorServer } from "@hono/node-server";
import { Hono } from "hono";
import OpenAI from "openai";
import { Fault } from "../../src/base/fault.ts";
import { openLog } from "../../src/base/log.ts";
import { Sessions } from "../../src/calls/library.ts";
import type { Person } from "../../src/calls/call.ts";
import { readConfig } from "../../src/config/load.ts";
import type { ConfigInput } from "../../src/config/schema.ts";
import type { LetIn } from "../../src/gateway/gate.ts";
import { openaiDoor } from "../../src/gateway/openai/door.ts";
import { openWired, type Parts } from "../../src/main.ts";
import { afterwards, scratch } from "../fixtures/home.ts";

const SOMEBODY: Person = { kind: "person", principal: "owner", scope: "admin" };

export class OpenaiStage {
  readonly sessions: Sessions;
  #url = "";
  readonly heard: string[]; //          what was logged
  readonly closing = new AbortController();

  static async open(test: TestContext, config: ConfigInput = {}, parts: Parts = {}): Promise<OpenaiStage> {
    const home = join(scratch(test), "home");
    const heard: string[] = [];
    const log = openLog("warn", { write: (line) => void heard.push(line) });
    const given = readConfig({ home, ...config }, { homeDir: home, cwd: home, env: {} });
    const { system, door, bus } = await openWired(given, { log, ...parts });
    const sessions = new Sessions({ system, door, bus });
    afterwards(test, () => sessions.close());
    const stage = new OpenaiStage(sessions, heard);
    const { closing } = stage;
    const app = new Hono<LetIn>();
    app.use(async (context, next) => {
      const gone = new AbortController();
      const { outgoing } = context.env;
      outgoing.once("close", () => gone.abort(new Fault("closed", "the client has gone")));
      context.set("caller", SOMEBODY);
      context.set("over", AbortSignal.any([gone.signal, closing.signal]));
      await next();
    });
    app.route("/v1", openaiDoor({ door, system, log, closing: closing.signal, followed: new Set() }));
    const server = createAdaptorServer({ fetch: app.fetch }) as Server;
    const { promise, resolve } = Promise.withResolvers<void>();
    server.listen(0, "127.0.0.1", resolve);
    await promise;
    afterwards(test, async () => {
      closing.abort(new Fault("closed", "the gateway is closing"));
      const closed = new Promise((done) => server.close(done));
      server.closeAllConnections();
      await closed;
    });
    const { port } = server.address() as AddressInfo;
    stage.#url = `http://127.0.0.1:${port}/v1`;
    return stage;
  }

  private constructor(sessions: Sessions, heard: string[]) {
    this.sessions = sessions;
    this.heard = heard;
  }

  get url(): string {
    return this.#url;
  }

  get client(): OpenAI {
    return new OpenAI({ baseURL: this.#url, apiKey: "any" });
  }

  /** The content of a completion for one message of a user. */
  async say(
    content: string,
    more: Partial<OpenAI.ChatCompletionCreateParamsNonStreaming> = {},
  ): Promise<string> {
    const { choices } = await this.client.chat.completions.create({
      model: "sessiond",
      messages: [{ role: "user", content }],
      ...more,
    });
    return choices[0]?.message.content ?? "";
  }

  /** The same as it comes. */
  async pieces(
    content: string,
    more: Partial<OpenAI.ChatCompletionCreateParamsStreaming> = {},
  ): Promise<OpenAI.ChatCompletionChunk[]> {
    const stream = await this.client.chat.completions.create({
      model: "sessiond",
      messages: [{ role: "user", content }],
      stream: true,
      ...more,
    });
    return await Array.fromAsync(stream);
  }
}

export function textIn(chunks: readonly OpenAI.ChatCompletionChunk[]): string {
  return chunks.map(({ choices }) => choices[0]?.delta.content ?? "").join("");
}
