// Tools that come from elsewhere: from servers, whose trouble is theirs alone, and from the program that opens sessions.

import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test, type TestContext } from "node:test";
import * as v from "valibot";
import type { ConfigInput, Parts, Tool } from "../../src/index.ts";
import { RESULT_BYTES_MAX } from "../../src/limits.ts";
import { tool as typed } from "../../src/tools/tool.ts";
import { afterwards } from "../fixtures/home.ts";
import { freePort } from "../fixtures/port.ts";
import { everything, odd, Rig } from "../mcp/rig.ts";
import { alive } from "../sandbox/stage.ts";
import { fault, Glass, Stage } from "./stage.ts";

const skip = process.platform === "linux" ? false : "processes are found through /proc";
const MAIN = "agent:main:main";
const ANN = "agent:main:direct:ann";
const SENT = '!call everything__echo {"message":"sent"}';
const LONG = '!call everything__trigger-long-running-operation {"duration":600,"steps":1}';

/** As it is written in a configuration. */
function configured(server: ReturnType<typeof everything>): { command: string; args: string[] } {
  assert.equal(server.kind, "stdio");
  return { command: server.command, args: [...server.args] };
}

const EVERYTHING: ConfigInput = { mcpServers: { everything: configured(everything()) } };

function echo(message: string, server = "everything"): string {
  return `!call ${server}__echo ${JSON.stringify({ message })}\n!then\n!results`;
}

/** A stage with servers. Their processes are gone after the test, also when it fails. */
class Yard {
  readonly stage: Stage;
  readonly #ids: Set<string>;

  static async open(test: TestContext, config: ConfigInput, parts: Parts = {}): Promise<Yard> {
    const ids = new Set<string>();
    // By itself, not by what is tested: it may be broken.
    afterwards(test, () => {
      for (let left = alive([...ids]); left.length > 0; left = alive([...ids])) left.forEach(kill);
    });
    return new Yard(await Stage.open(test, config, parts), ids);
  }

  private constructor(stage: Stage, ids: Set<string>) {
    this.stage = stage;
    this.#ids = ids;
  }

  get records(): readonly { readonly id: string; readonly pid: number; readonly session: string | null }[] {
    const folder = join(this.stage.home, "processes");
    const records = readdirSync(folder).map((name) => JSON.parse(readFileSync(join(folder, name), "utf8")));
    for (const { id } of records) this.#ids.add(id);
    return records;
  }

  /** Processes of all servers that were ever seen here. */
  get alive(): readonly number[] {
    return alive([...this.#ids]);
  }

  async servers(): Promise<
    {
      readonly name: string;
      readonly state: string;
      readonly why: string | null;
      readonly retryAt: string | null;
    }[]
  > {
    return (await this.stage.sessions.call("overview", {})).servers;
  }

  async states(): Promise<string[]> {
    return (await this.servers()).map(({ name, state }) => `${name} ${state}`);
  }
}

function kill(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // It ended meanwhile.
  }
}

describe("a server of tools", { skip }, () => {
  test("is started by the first turn of an agent that may use it, and by no other; its tools bear its name", async (t) => {
    const glass = new Glass();
    const agents = {
      defaults: { model: glass.id },
      main: {},
      hermit: { tools: { deny: ["everything__*"] } },
    };
    const yard = await Yard.open(t, { ...EVERYTHING, agents }, { models: [glass] });
    const { sessions } = yard.stage;
    assert.deepEqual([await yard.states(), yard.records], [["everything not started"], []]);
    await sessions.ask("agent:hermit:main", "hello");
    assert.deepEqual([await yard.states(), yard.records], [["everything not started"], []]);
    await sessions.ask(MAIN, "hello");
    assert.deepEqual(await yard.states(), ["everything ready"]);
    assert.deepEqual(
      yard.records.map(({ session }) => session),
      [null],
    );
    await sessions.ask("agent:hermit:main", "hello again");
    const names = glass.requests.map(({ tools }) => tools.map(({ name }) => name));
    const theirs = names.map((each) => each.filter((name) => name.startsWith("everything__")));
    assert.deepEqual([theirs[0], theirs[2]], [[], []]);
    for (const name of ["echo", "get-sum", "get-tiny-image"])
      assert.ok(theirs[1]?.includes(`everything__${name}`));
    assert.ok(names[1]?.includes("read") && !names[1].includes("echo"));
    const form = glass.requests[1]?.tools.find(({ name }) => name === "everything__echo");
    assert.deepEqual(form?.input["required"], ["message"]);
  });

  test("is called by agents: results are in the transcript, bounded, and its refusals are errors", async (t) => {
    const { stage } = await Yard.open(t, EVERYTHING);
    const { sessions } = stage;
    assert.equal((await sessions.ask(MAIN, echo("hello"))).text, "Echo: hello");
    await sessions.ask(MAIN, '!call everything__get-sum {"a":2,"b":40}');
    await sessions.ask(MAIN, "!call everything__get-tiny-image");
    await sessions.ask(MAIN, '!call everything__echo {"massage":"hello"}');
    await sessions.ask(MAIN, echo(`begin${"x".repeat(100_000)}end`));
    await sessions.ask(MAIN, '!call echo {"message":"hello"}');
    const [first, sum, picture, wrong, long, bare] = await stage.results(MAIN);
    assert.deepEqual(first, { tool: "everything__echo", text: "Echo: hello", isError: false });
    assert.match(sum?.text ?? "", /\b42\b/);
    assert.equal(picture?.isError, false);
    assert.equal(wrong?.isError, true);
    assert.match(wrong.text, /message/);
    assert.match(
      long?.text ?? "",
      /^Echo: beginx+\n\[… \d+ bytes left out; all \d+ are in blob [0-9a-f]{64} …\]\nx+end$/,
    );
    assert.ok((long?.text.length ?? 0) <= RESULT_BYTES_MAX);
    assert.match(bare?.text ?? "", /^There is no tool "echo"\. You have: .*everything__echo/);
    const blocks = (await stage.messages(MAIN)).flatMap(({ content }) =>
      typeof content === "string" ? [] : content,
    );
    assert.ok(blocks.some((block) => block.type === "image" && block.mimeType === "image/png"));
  });

  test("that is killed in a call is the error of that call; others are answered, and it comes back when it is needed", async (t) => {
    const yard = await Yard.open(t, EVERYTHING);
    const { sessions } = yard.stage;
    // Both are sent together: when the first is answered, the second is there.
    const { id } = await sessions.send(MAIN, `${SENT}\n${LONG}\n!then\n!results`);
    await yard.stage.until(async () => (await yard.stage.results(MAIN)).length === 1);
    const [server] = yard.records;
    assert.ok(server && yard.records.length === 1);
    assert.equal((await sessions.ask(ANN, echo("meanwhile"))).text, "Echo: meanwhile");
    process.kill(-server.pid, "SIGKILL");
    const { outcome, text } = await sessions.wait(MAIN, id);
    assert.equal(outcome, "done");
    assert.match(
      text ?? "",
      /^Echo: sent\neverything__trigger-long-running-operation failed: everything died during the call \(.+\); it may or may not have taken effect$/,
    );
    assert.deepEqual(
      (await yard.stage.results(MAIN)).map(({ isError }) => isError),
      [false, true],
    );

    const [down] = await yard.servers();
    assert.equal(down?.state, "down");
    assert.ok(down.why);
    assert.equal((await sessions.ask(ANN, "!say still here")).text, "still here");
    await yard.stage.until(async () => new Date().toISOString() > (down.retryAt ?? ""));
    assert.equal((await sessions.ask(MAIN, echo("back"))).text, "Echo: back");
    assert.deepEqual(await yard.states(), ["everything ready"]);
    const after = yard.records.map(({ id: each }) => each);
    assert.equal(after.length, 1);
    assert.notEqual(after[0], server.id);
    assert.deepEqual(yard.alive, alive(after));
  });

  test("that is in a call when a person stops it goes on, and so does the session", async (t) => {
    const yard = await Yard.open(t, EVERYTHING);
    const { sessions } = yard.stage;
    const { id } = await sessions.send(MAIN, `${SENT}\n${LONG}`);
    await yard.stage.until(async () => (await yard.stage.results(MAIN)).length === 1);
    const before = yard.records;
    await sessions.abort(MAIN);
    assert.equal((await sessions.wait(MAIN, id)).outcome, "aborted");
    assert.match(
      (await yard.stage.results(MAIN))[1]?.text ?? "",
      /was given up: .* It may or may not have taken effect/,
    );
    assert.equal((await sessions.ask(MAIN, echo("on"))).text, "Echo: on");
    assert.deepEqual(yard.records, before);
  });

  test("leaves nothing behind when sessions are closed in the middle of calls; after that it is as the server says of each", async (t) => {
    const yard = await Yard.open(t, {
      mcpServers: { ...EVERYTHING.mcpServers, plain: configured(odd("plain")) },
    });
    const ids = [];
    for (const [key, line] of [
      [MAIN, "!call plain__call\n!call plain__hang"],
      [ANN, `${SENT}\n${LONG.replace("600", "8")}`],
    ] as const) {
      ids.push((await yard.stage.sessions.send(key, `${line}\n!then\n!results`)).id);
      await yard.stage.until(async () => (await yard.stage.results(key)).length === 1);
    }
    assert.equal(yard.records.length, 2);
    assert.ok(yard.alive.length >= 4);
    await yard.stage.close();
    assert.deepEqual([yard.records, yard.alive], [[], []]);

    await yard.stage.reopen();
    const { sessions } = yard.stage;
    const { text } = await sessions.wait(MAIN, ids[0] ?? "");
    assert.match(
      text ?? "",
      /^call 0\nThe process stopped while this ran\. It may or may not have taken effect/,
    );
    // The other one only reads, its server says: so it is run again, and the one that was answered is not.
    const again = (await sessions.wait(ANN, ids[1] ?? "")).text ?? "";
    assert.match(again, /^Echo: sent\nLong running operation completed\./);
  });

  test("that cannot be started leaves its tools out: turns go on, and people can see why", async (t) => {
    const mcpServers = {
      ...EVERYTHING.mcpServers,
      absent: { command: "no-such-program-anywhere" },
      dying: configured(odd("dies")),
    };
    const yard = await Yard.open(t, { mcpServers });
    assert.equal((await yard.stage.sessions.ask(MAIN, echo("anyway"))).text, "Echo: anyway");
    const [good, absent, dying] = await yard.servers();
    assert.deepEqual([good?.state, absent?.state, dying?.state], ["ready", "down", "down"]);
    assert.match(absent?.why ?? "", /no-such-program-anywhere/);
    assert.match(dying?.why ?? "", /^exit 1: no luck/);
    const { text } = await yard.stage.sessions.ask(MAIN, "!call dying__call\n!then\n!results");
    assert.match(text ?? "", /^There is no tool "dying__call"\. You have: /);
  });

  test("that takes its time to start holds nobody's slot, and an abort is heard meanwhile", async (t) => {
    const agents = { main: {}, other: { tools: { deny: ["slow__*"] } } };
    const mcpServers = { slow: { command: "sleep", args: ["1000"] } };
    const stage = await Stage.open(t, { agents, mcpServers, scheduler: { slots: 1 } });
    const { sessions } = stage;
    const { id } = await sessions.send(MAIN, "hello");
    await stage.until(async () => (await sessions.call("overview", {})).servers[0]?.state === "starting");
    assert.equal((await sessions.ask("agent:other:main", "!say here")).text, "here");
    assert.equal((await sessions.status(MAIN)).state, "running");
    await sessions.abort(MAIN);
    assert.equal((await sessions.wait(MAIN, id)).outcome, "aborted");
    assert.equal((await sessions.call("overview", {})).servers[0]?.state, "starting"); // nobody waited for that
  });

  test("at an address is the same: it is called, its death is an error of the call, and it comes back", async (t) => {
    const port = await freePort();
    const rig = await Rig.open(t);
    const first = await rig.everythingAt(port);
    const yard = await Yard.open(t, { mcpServers: { web: { url: `http://127.0.0.1:${port}/mcp` } } });
    const { sessions } = yard.stage;
    assert.deepEqual(await yard.states(), ["web not started"]);
    assert.equal((await sessions.ask(MAIN, echo("hello", "web"))).text, "Echo: hello");
    assert.deepEqual(yard.records, [], "it is not ours to start or to end");
    const long = LONG.replace("everything", "web");
    const { id } = await sessions.send(MAIN, `!call web__echo {"message":"sent"}\n${long}\n!then\n!results`);
    await yard.stage.until(async () => (await yard.stage.results(MAIN)).length === 2);
    process.kill(-first.pid, "SIGKILL");
    await first.ended;
    assert.match(
      (await sessions.wait(MAIN, id)).text ?? "",
      /\nweb__trigger-long-running-operation failed: web .*/,
    );
    assert.match((await sessions.ask(MAIN, echo("?", "web"))).text ?? "", /^web__echo failed: /);
    await rig.everythingAt(port);
    await yard.stage.until(async () => {
      const [web] = await yard.servers();
      return new Date().toISOString() > (web?.retryAt ?? "");
    });
    assert.equal((await sessions.ask(MAIN, echo("back", "web"))).text, "Echo: back");
  });
});

describe("a tool of the program", () => {
  const input = v.strictObject({ city: v.pipe(v.string(), v.minLength(2)), days: v.optional(v.number(), 1) });
  const form = {
    type: "object",
    properties: { city: { type: "string" }, days: { type: "number" } },
    required: ["city"],
  };
  const weather: Tool = typed({
    name: "weather",
    description: "The weather of a city.",
    input,
    form,
    replay: "safe",
    run: async ({ city, days }) => `${city}: rain for ${days} days`,
  });

  test("may have a schema of valibot: the model is shown its form, and run is given what the schema makes", async (t) => {
    const glass = new Glass();
    const agents = { main: {}, seer: { model: glass.id } };
    const { sessions } = await Stage.open(t, { agents }, { models: [glass], tools: [weather] });
    const { text } = await sessions.ask(MAIN, '!call weather {"city":"Ulm"}\n!then\n!results');
    assert.equal(text, "Ulm: rain for 1 days");
    await sessions.ask("agent:seer:main", "hello");
    const shown = glass.requests[0]?.tools.find(({ name }) => name === "weather");
    assert.deepEqual(shown, { name: "weather", description: "The weather of a city.", input: form });
  });

  test("that is called with wrong arguments is not run: the error names the field", async (t) => {
    let runs = 0;
    const counted = { ...weather, run: async () => String((runs += 1)) };
    const stage = await Stage.open(t, {}, { tools: [counted] });
    await stage.sessions.ask(
      MAIN,
      '!call weather {"city":7}\n!then\n!call weather {"city":"Ulm","days":"two"}',
    );
    const [city, days] = await stage.results(MAIN);
    assert.match(city?.text ?? "", /^The arguments of weather are wrong: city: .*Nothing was done/);
    assert.match(days?.text ?? "", /^The arguments of weather are wrong: days: .*Nothing was done/);
    assert.ok(city?.isError && days?.isError);
    assert.equal(runs, 0);
    assert.equal((await stage.sessions.ask(MAIN, "!say on")).text, "on");
  });

  test("whose schema cannot tell what a model is to be shown is refused at the start", async (t) => {
    const { form: _form, ...formless } = weather;
    await assert.rejects(
      Stage.open(t, {}, { tools: [formless] }),
      fault("bad_input", /^open: the tool weather: its schema cannot tell JSON Schema; give it as `form`/),
    );
  });
});
