import assert from "node:assert/strict";
import { test } from "node:test";
import { everything, isGone, odd, program, Rig, run, textOf, until } from "../../../test/mcp/rig.ts";
import { McpServers } from "./tools.ts";

const LONG = { duration: 60, steps: 1 };

test("tools of the everything server are ours: listed in order, with their forms, and run", async (test) => {
  const rig = await Rig.open(test);
  const servers = rig.servers(everything());
  assert.deepEqual(servers.status(), [
    { name: "all", state: "not started", why: null, tools: 0, retryAtMs: null },
  ]);
  const tools = await servers.tools(servers.names);
  const names = tools.map(({ name }) => name);
  assert.deepEqual(names, names.toSorted());
  assert.deepEqual(tools.find(({ name }) => name === "all__echo")?.form, {
    type: "object",
    properties: { message: { type: "string", description: "Message to echo" } },
    required: ["message"],
  });
  assert.equal(textOf(await run(tools, "all__echo", { message: "hello" })), "Echo: hello");
  assert.match(textOf(await run(tools, "all__get-sum", { a: 2, b: 40 })), /\b42\b/);
  const { content } = await run(tools, "all__get-tiny-image");
  assert.ok(Array.isArray(content));
  const image = content.find(({ type }) => type === "image");
  assert.ok(image && "data" in image);
  assert.equal(Buffer.from(image.data, "base64").toString("latin1", 1, 4), "PNG");
  const wrong = await run(tools, "all__echo", {});
  assert.equal(wrong.isError, true);
  assert.deepEqual(await servers.tools(servers.names), tools);
  assert.equal(rig.started.length, 1);
  assert.equal(servers.status()[0]?.state, "ready");
});

test("nothing is started for who asks for no tools, and nothing is left after close", async (test) => {
  const rig = await Rig.open(test);
  const servers = rig.servers(everything(), odd("plain"));
  assert.deepEqual(await servers.tools([]), []);
  assert.equal(rig.started.length, 0);
  const tools = await servers.tools(["plain"]);
  assert.equal(rig.started.length, 1);
  assert.ok(tools.every(({ name }) => name.startsWith("plain__")));
  await servers.tools(servers.names);
  assert.equal(rig.started.length, 2);
  await servers.close();
  assert.ok(rig.started.every(isGone));
  await assert.rejects(run(tools, "plain__call"), /closing/);
  assert.equal(rig.started.length, 2);
});

test("a server killed in a call fails that call alone; it is shown all the time, and works again after a pause", async (test) => {
  const rig = await Rig.open(test);
  const servers = rig.servers(everything(), odd("plain"));
  await servers.tools(["all"]);
  const [victim] = rig.started;
  assert.ok(victim);
  const tools = await servers.tools(servers.names);
  const calls = [
    run(tools, "all__trigger-long-running-operation", LONG),
    run(tools, "all__trigger-long-running-operation", LONG),
  ];
  for (const call of calls) call.catch(() => {});
  await run(tools, "all__echo", { message: "both of them have been sent" });
  process.kill(-victim.pid, "SIGKILL");
  for (const call of calls)
    await assert.rejects(
      call,
      /^Error: all died during the call \(.*\); it may or may not have taken effect$/,
    );
  assert.equal(textOf(await run(tools, "plain__call")), "call 0");
  await assert.rejects(
    run(tools, "all__echo", { message: "?" }),
    /^Error: the server all is down \(.+\); it is started again in 1 s$/,
  );
  assert.deepEqual(await servers.tools(servers.names), tools);
  rig.world.push(1_000);
  assert.equal(textOf(await run(tools, "all__echo", { message: "back" })), "Echo: back");
  assert.equal(rig.started.length, 3);
});

test("a server that dies by itself leaves its last words, and is trusted again after ten minutes", async (test) => {
  const rig = await Rig.open(test);
  const servers = rig.servers(odd("plain"));
  const tools = await servers.tools(servers.names);
  const died = /^Error: plain died during the call \(exit 3: the last words\); it may or may not/;
  for (let lives = 0; lives < 3; lives += 1) {
    await assert.rejects(run(tools, "plain__die"), died);
    await until(() => servers.status()[0]?.state === "down");
    rig.world.push(60_000);
  }
  assert.deepEqual(rig.warned("pauseMs"), [1_000, 2_000, 4_000]);
  await run(tools, "plain__call");
  rig.world.push(10 * 60_000);
  await assert.rejects(run(tools, "plain__die"), died);
  assert.deepEqual(rig.warned("pauseMs"), [1_000, 2_000, 4_000, 1_000]);
});

test("a server that cannot start has no tools and says why; it is not tried again on every turn", async (test) => {
  const rig = await Rig.open(test);
  const servers = rig.servers(odd("dies"), program("none", ["no-such-program-anywhere"]), odd("plain"));
  const names = (await servers.tools(servers.names)).map(({ name }) => name);
  assert.ok(names.length > 0 && names.every((name) => name.startsWith("plain__")));
  const [dies, none] = servers.status();
  assert.equal(dies?.state, "down");
  assert.match(dies.why ?? "", /^exit 1: no luck/);
  assert.match(none?.why ?? "", /no-such-program-anywhere/);
  const before = rig.started.length;
  for (let turns = 0; turns < 5; turns += 1) await servers.tools(servers.names);
  assert.equal(rig.started.length, before);
  for (let tries = 2; tries < 12; tries += 1) {
    rig.world.push(5 * 60_000);
    await servers.tools(["dies"]);
    await until(() => servers.status()[0]?.state === "down");
    assert.equal(rig.started.length, before + tries - 1);
  }
  const pauses = rig.logged.filter(({ server, pauseMs }) => server === "dies" && pauseMs !== undefined);
  assert.deepEqual(
    pauses.map(({ pauseMs }) => pauseMs),
    [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300].map((seconds) => seconds * 1_000),
  );
});

test("garbage on its output is skipped and told once", async (test) => {
  const rig = await Rig.open(test);
  const servers = rig.servers(odd("garbage"));
  const tools = await servers.tools(servers.names);
  assert.equal(textOf(await run(tools, "garbage__call")), "call 0");
  assert.deepEqual(rig.warned("line"), ["Welcome!"]);
});

test("a line without an end breaks the call off, with the reason, and the server is started again", async (test) => {
  const rig = await Rig.open(test);
  const servers = rig.servers(odd("plain"));
  const tools = await servers.tools(servers.names);
  await assert.rejects(
    run(tools, "plain__long"),
    /died during the call \(it sent a line of more than 16777216 bytes\)/,
  );
  await until(() => servers.status()[0]?.state === "down");
  rig.world.push(1_000);
  assert.equal(textOf(await run(tools, "plain__call")), "call 0");
  assert.ok(rig.started[0] && isGone(rig.started[0]));
});

test("an aborted call is cancelled at the server and rejects with the reason; the server goes on", async (test) => {
  const rig = await Rig.open(test);
  const servers = rig.servers(odd("plain"), everything());
  const tools = await servers.tools(servers.names);
  const early = AbortSignal.abort(new Error("before it began"));
  await assert.rejects(run(tools, "plain__die", {}, early), { message: "before it began" });
  assert.equal(textOf(await run(tools, "plain__call")), "call 0");
  for (const [name, given, other] of [
    ["all__trigger-long-running-operation", LONG, "all__get-tiny-image"],
    ["plain__hang", {}, "plain__call"],
  ] as const) {
    const stop = new AbortController();
    const call = run(tools, name, given, stop.signal);
    call.catch(() => {});
    await run(tools, other); // The call has been sent before.
    stop.abort(new Error("enough"));
    await assert.rejects(call, { message: "enough" });
    await run(tools, other);
  }
  assert.equal(textOf(await run(tools, "plain__call")), "call 1");
  assert.equal(rig.started.length, 2);
});

test("a server that never answers holds up one turn for a while, and is given up at last", async (test) => {
  const rig = await Rig.open(test);
  const servers = rig.servers(odd("deaf"));
  const first = servers.tools(servers.names);
  await until(() => rig.started.length === 1);
  rig.world.push(15_000);
  assert.deepEqual(await first, []);
  assert.equal(servers.status()[0]?.state, "starting");
  assert.deepEqual(await servers.tools(servers.names), []); // It is not waited for once more.
  rig.world.push(45_000);
  await until(() => servers.status()[0]?.state === "down");
  assert.match(servers.status()[0]?.why ?? "", /did not answer within 60 s/);
  assert.ok(rig.started[0] && isGone(rig.started[0]));
});

test("what a hostile server lists is made harmless or left out", async (test) => {
  const rig = await Rig.open(test);
  const servers = rig.servers(odd("hostile"));
  const tools = await servers.tools(servers.names);
  for (const { name, description, form } of tools) {
    assert.match(name, /^hostile__[a-zA-Z0-9_-]{1,55}$/);
    assert.ok(description.length <= 2_002);
    assert.ok(!JSON.stringify([description, form]).includes("[[sessiond"));
  }
  const hashed = tools.filter(({ name }) => /_[0-9a-f]{8}$/.test(name)).map(({ name }) => name.slice(9, 13));
  assert.deepEqual(hashed, ["a_b_", "a_b_", "nnnn", "twin", "twin"]);
  assert.equal(tools.length, 7);
  assert.deepEqual(rig.warned("count"), [8]);
  for (const { name } of tools) assert.match(textOf(await run(tools, name)), / 0$/); // by its own name there
});

test("a list without an end has one, and a list that goes round is read once", async (test) => {
  const rig = await Rig.open(test);
  const servers = rig.servers(odd("endless"), odd("circling"));
  await servers.tools(servers.names);
  assert.deepEqual(
    servers.status().map(({ tools }) => tools),
    [200, 2],
  );
});

test("a list that changed is read again for the next turn", async (test) => {
  const rig = await Rig.open(test);
  const servers = rig.servers(odd("changing"));
  const tools = await servers.tools(servers.names);
  assert.deepEqual(
    tools.map(({ name }) => name),
    ["changing__change"],
  );
  await run(tools, "changing__change");
  const more = (await servers.tools(servers.names)).map(({ name }) => name);
  assert.deepEqual(more, ["changing__change", "changing__new-0"]);
});

test("a server that wants to sample, to elicit or to see roots is refused", async (test) => {
  const rig = await Rig.open(test);
  const servers = rig.servers(odd("plain"));
  assert.equal(textOf(await run(await servers.tools(servers.names), "plain__ask")), "-32601 -32601 -32601");
});

test("a server has its own secrets and none of ours, and its secrets reach no log", async (test) => {
  const rig = await Rig.open(test);
  process.env["SECRET_OF_OURS"] = "a key of ours";
  test.after(() => delete process.env["SECRET_OF_OURS"]);
  const servers = rig.servers(odd("plain", { GIVEN: "open-sesame" }));
  const env = textOf(await run(await servers.tools(servers.names), "plain__env"));
  assert.match(env, /"GIVEN":"open-sesame"/);
  assert.doesNotMatch(env, /SECRET_OF_OURS/);
  await until(() => rig.logged.some(({ stderr }) => stderr === "I was given [secret]"));
  assert.doesNotMatch(JSON.stringify(rig.logged), /open-sesame/);
});

test("no half of a secret is told where the words of a server are cut", async (test) => {
  const rig = await Rig.open(test);
  const secret = "supersecret-token-0123456789abcdef";
  const servers = rig.servers(odd("plain", { GIVEN: secret }));
  const tools = await servers.tools(servers.names);
  const told = await run(tools, "plain__blurt").then(
    () => assert.fail("it is an error"),
    (error: unknown) => String(error),
  );
  assert.match(told, /^Error: m{1990} \[secret\]$/);
  await until(() => rig.logged.some(({ stderr }) => stderr === "that was all"));
  assert.equal(rig.warned("line").length, 1);
  assert.doesNotMatch(JSON.stringify(rig.logged), /super|cdef/);
});

test("without servers there is nothing to wait for", async (test) => {
  const rig = await Rig.open(test);
  const servers: McpServers = rig.servers();
  assert.deepEqual([await servers.tools(servers.names), servers.names, servers.status()], [[], [], []]);
});

test("a server that is being started when all is closed is not left running, and none is started afterwards", async (test) => {
  const rig = await Rig.open(test);
  const servers = rig.servers(odd("plain"));
  const asked = servers.tools(servers.names);
  await rig.asked.promise;
  assert.deepEqual(rig.started.map(isGone), []);
  await servers.close();
  assert.deepEqual(rig.started.map(isGone), [true]);
  assert.deepEqual([await asked, await servers.tools(servers.names)], [[], []]);
  assert.equal(rig.started.length, 1);
});

test("a server that was killed between two calls is found dead by the next, and is no trouble to anybody", async (test) => {
  const rig = await Rig.open(test);
  const servers = rig.servers(odd("plain"));
  const tools = await servers.tools(servers.names);
  const [victim] = rig.started;
  assert.ok(victim);
  process.kill(-victim.pid, "SIGKILL");
  await assert.rejects(
    run(tools, "plain__call"),
    /^Error: (?:plain died during the call|the server plain is down)/,
  );
  rig.world.push(1_000);
  assert.equal(textOf(await run(tools, "plain__call")), "call 0");
});
