// An agent's memory, as its sessions and people have it: shared, searched together with what was said, and no wider than sight.

import assert from "node:assert/strict";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import type { Output } from "../../src/index.ts";
import { NOTE_BYTES_MAX, RESULT_BYTES_MAX } from "../../src/limits.ts";
import { Program } from "../fixtures/program.ts";
import { lines, MAIN, RESULTS, spawn, THEN, YIELD } from "./family.ts";
import { fault, Stage } from "./stage.ts";

const INDEX = JSON.stringify(fileURLToPath(new URL("../../src/index.ts", import.meta.url)));
const CODER = "agent:coder:main";

function call(tool: "list" | "read" | "write" | "search", given: object = {}): string {
  return `!call memory_${tool} ${JSON.stringify(given)}`;
}

/** What a call of a tool gave, in a session of its own turn. */
async function made<Of>(stage: Stage, key: string, ...of: Parameters<typeof call>): Promise<Of> {
  const { text } = await stage.sessions.ask(key, lines([call(...of), THEN, "!say done"]));
  assert.equal(text, "done");
  const result = (await stage.results(key)).at(-1);
  assert.equal(result?.isError, false, result?.text);
  return JSON.parse(result?.text ?? "") as Of;
}

/** Why a call was refused. */
async function refused(stage: Stage, key: string, ...of: Parameters<typeof call>): Promise<string> {
  await stage.sessions.ask(key, lines([call(...of), THEN, "!say done"]));
  const result = (await stage.results(key)).at(-1);
  assert.equal(result?.isError, true, result?.text);
  return result?.text ?? "";
}

function fileOf({ home }: Stage, path: string, agent = "main"): string {
  return join(home, "agents", agent, "workspace", path);
}

type Found = Output<"searchMemory">;

test("what one session writes down, all others of its agent list, read, find and begin with", async (t) => {
  const stage = await Stage.open(t, { agents: { coder: {} } });
  const other = "agent:main:channel:other";
  const path = "memory/people/ann.md";
  const { version } = await made<Output<"writeMemory">>(stage, MAIN, "write", {
    path,
    text: "- Ann likes tea",
  });
  await made(stage, MAIN, "write", { path: "MEMORY.md", text: "Ann is the boss." });
  const { notes } = await made<Output<"memory">>(stage, other, "list");
  assert.deepEqual(
    notes.map((note) => [note.path, note.bytes]),
    [
      ["MEMORY.md", 17],
      [path, 16],
    ],
  );
  const read = await made<Output<"readMemory">>(stage, other, "read", { path });
  assert.deepEqual([read.text, read.version, read.next], ["- Ann likes tea\n", version, null]);
  const found = await made<Found>(stage, other, "search", { text: "tea", in: "notes" });
  assert.deepEqual(found.notes, [{ path, line: 1, snippet: "- Ann likes tea" }]);
  assert.deepEqual([found.transcripts, found.behind], [[], 0]);
  assert.match((await stage.sessions.ask(other, "!system")).text, /# MEMORY\.md\n\nAnn is the boss\./);
  assert.deepEqual((await made<Output<"memory">>(stage, CODER, "list")).notes, []);
  // People have the same by the same names.
  await stage.sessions.call("writeMemory", { path, mode: "replace", version, text: "- Ann likes coffee\n" });
  assert.match(
    await refused(stage, other, "write", { path, mode: "delete", version }),
    /Somebody else wrote.*stale_writer/s,
  );
  assert.equal((await stage.sessions.call("searchMemory", { text: "coffee", in: "notes" })).notes.length, 1);
  assert.equal((await stage.sessions.call("memory", { agent: "coder" })).notes.length, 0);
  await assert.rejects(
    stage.sessions.call("memory", { agent: "ghost" }),
    fault("not_found", /there are: main, coder/),
  );
});

describe("two sessions that write at the same time", () => {
  test("lose nothing that they append", async (t) => {
    const stage = await Stage.open(t);
    const keys = ["agent:main:channel:a", "agent:main:channel:b", "agent:main:channel:c"];
    const path = "memory/log.md";
    const words = (of: string): string[] => Array.from({ length: 8 }, (_, at) => `- ${of} ${at}`);
    await Promise.all(
      keys.map((key) =>
        stage.sessions.ask(key, lines(words(key).map((text) => call("write", { path, text })))),
      ),
    );
    const there = readFileSync(fileOf(stage, path), "utf8").trim().split("\n");
    assert.deepEqual(there.toSorted(), keys.flatMap(words).toSorted());
  });

  test("replace one version once, and the other is told which there is now", async (t) => {
    const stage = await Stage.open(t);
    const keys = ["agent:main:channel:a", "agent:main:channel:b"];
    const path = "memory/plan.md";
    const { version } = await stage.sessions.call("writeMemory", { path, text: "first" });
    const given = { path, mode: "replace", version } as const;
    await Promise.all(
      keys.map((key) =>
        stage.sessions.ask(key, lines([call("write", { ...given, text: `by ${key}` }), THEN, "!say done"])),
      ),
    );
    const results = (await Promise.all(keys.map((key) => stage.results(key)))).flat();
    const [won, lost] = results.toSorted((a, b) => Number(a.isError) - Number(b.isError));
    assert.deepEqual([won?.isError, lost?.isError], [false, true]);
    const written = JSON.parse(won?.text ?? "") as Output<"writeMemory">;
    assert.ok(lost?.text.includes(`is at version ${written.version}`), lost?.text);
    assert.equal((await stage.sessions.call("readMemory", { path })).version, written.version);
  });
});

test("writes of two sessions whose process died before a result was committed are made again, and are there once", async (t) => {
  const stage = await Stage.open(t);
  await stage.close();
  const path = "memory/log.md";
  const keys = [MAIN, "agent:main:channel:other"];
  const script = (key: string): string =>
    lines([call("write", { path, text: `- by ${key}` }), THEN, "!say done"]);
  const program = new Program(t, {
    home: stage.home,
    source: `
      const { open: openSessions, openLog: logTo } = await import(${INDEX});
      const store = await open();
      const commit = store.commit.bind(store);
      let results = 0;
      store.commit = (changes) => {
        if (!JSON.stringify(changes).includes('"toolResult"')) return commit(changes);
        results += 1;
        if (results === ${keys.length}) process.kill(process.pid, "SIGKILL");
        return new Promise(() => {});
      };
      const sessions = await openSessions({ home }, { log: logTo("silent"), store });
      ${keys.map((key) => `await sessions.send(${JSON.stringify(key)}, ${JSON.stringify(script(key))});`).join("\n")}
      await forever();
    `,
  });
  assert.equal((await program.ended).code, null);
  const written = (): string[] => readFileSync(fileOf(stage, path), "utf8").trim().split("\n").toSorted();
  const expected = keys.map((key) => `- by ${key}`).toSorted();
  assert.deepEqual(written(), expected, "both had written");
  await stage.reopen();
  for (const key of keys) {
    await stage.until(async () => (await stage.outcomes(key)).length > 0);
    const results = await stage.results(key);
    assert.deepEqual(
      results.map(({ isError, text }) => [isError, (JSON.parse(text) as Output<"writeMemory">).changed]),
      [[false, false]],
    );
  }
  assert.deepEqual(written(), expected);
});

describe("a session finds what was said as far as it may see", () => {
  /** By visibility: which of these a search in a session of main finds. */
  const seen = {
    self: ["own"],
    tree: ["own", "child"],
    agent: ["own", "child", "near"],
    all: ["own", "child", "near", "far"],
  };
  for (const [visibility, expected] of Object.entries(seen))
    test(`with the visibility ${visibility}`, async (t) => {
      const tools = { visibility: visibility as "self" };
      const stage = await Stage.open(t, {
        agents: { main: { tools }, coder: { tools: { visibility: "all" } } },
      });
      const own = "agent:main:channel:own";
      // More hits elsewhere than are told, and newer ones: they must not take the place of those that may be seen.
      await stage.sessions.ask(own, "zebra of own");
      await stage.sessions.ask(own, lines([spawn("zebra of child"), YIELD, THEN, "!say done"]));
      for (let at = 0; at < 15; at += 1) {
        await stage.sessions.ask("agent:main:channel:near", `zebra of near ${at}`);
        await stage.sessions.ask(CODER, `zebra of far ${at}`);
      }
      const kind = (key: string): string =>
        key === own ? "own" : key === CODER ? "far" : key.includes("subagent") ? "child" : "near";
      const ask = async (given: object): Promise<string[]> => {
        const { transcripts } = await made<Found>(stage, own, "search", {
          text: "zebra",
          in: "transcripts",
          ...given,
        });
        return [...new Set(transcripts.map(({ sessionKey }) => kind(sessionKey)))];
      };
      const found = await ask({ limit: 200 });
      assert.deepEqual(found.toSorted(), expected.toSorted());
      const few = await ask({ limit: 2 });
      assert.ok(few.length > 0 && few.every((each) => expected.includes(each)), few.join(" "));
      if (visibility === "all") assert.deepEqual(await ask({ agent: "coder", limit: 200 }), ["far"]);
    });

  test("which a person's search in an agent's memory is not bound by", async (t) => {
    const stage = await Stage.open(t, { agents: { coder: {} } });
    await stage.sessions.ask(CODER, "zebra password=hunter2hunter2");
    await stage.sessions.ask(MAIN, "zebra here");
    const { transcripts, notes, behind } = await stage.sessions.call("searchMemory", {
      text: "zebra",
      agent: "coder",
    });
    assert.ok(transcripts.length > 0 && transcripts.every(({ sessionKey }) => sessionKey === CODER));
    assert.doesNotMatch(JSON.stringify(transcripts), /hunter2/);
    assert.deepEqual([notes, behind], [[], 0]);
    assert.equal(
      (await stage.sessions.call("searchMemory", { text: "zebra", in: "notes" })).transcripts.length,
      0,
    );
  });
});

describe("the memory of a session", () => {
  test("is its root's, also a child's of another agent", async (t) => {
    const agents = { main: { subagents: { agents: ["coder"] } }, coder: {} };
    const stage = await Stage.open(t, { agents });
    mkdirSync(fileOf(stage, "memory", "coder"), { recursive: true });
    writeFileSync(fileOf(stage, "memory/secret.md", "coder"), "coder's own");
    const task = lines([
      call("write", { path: "memory/by-child.md", text: "found" }),
      call("list"),
      THEN,
      RESULTS,
    ]);
    await stage.sessions.ask(MAIN, lines([spawn(task, { agent: "coder" }), YIELD, THEN, "!say done"]));
    assert.equal(readFileSync(fileOf(stage, "memory/by-child.md"), "utf8"), "found\n");
    const said = (await stage.letters(MAIN)).join("\n");
    assert.doesNotMatch(said, /secret/);
    assert.match(said, /by-child/);
  });

  test("is the only one that it has, unless it may see everything", async (t) => {
    const tools = { visibility: "all" } as const;
    const stage = await Stage.open(t, {
      agents: { main: { tools: { visibility: "agent" } }, coder: { tools } },
    });
    await stage.sessions.call("writeMemory", { agent: "main", path: "MEMORY.md", text: "of main" });
    await stage.sessions.call("writeMemory", { agent: "coder", path: "MEMORY.md", text: "of coder" });
    for (const [tool, given] of [
      ["list", {}],
      ["read", { path: "MEMORY.md" }],
      ["write", { path: "MEMORY.md", text: "x" }],
      ["search", { text: "of" }],
    ] as const) {
      const words = await refused(stage, MAIN, tool, { agent: "coder", ...given });
      assert.match(words, /tools\.visibility is agent.*forbidden/s);
      assert.match(await refused(stage, MAIN, tool, { agent: "ghost", ...given }), /forbidden/);
    }
    const read = await made<Output<"readMemory">>(stage, CODER, "read", { agent: "main", path: "MEMORY.md" });
    assert.equal(read.text, "of main\n");
    assert.equal(readFileSync(fileOf(stage, "MEMORY.md", "coder"), "utf8"), "of coder\n");
  });

  test("is shown in pages that stay whole in a result", async (t) => {
    const stage = await Stage.open(t);
    const text = Array.from({ length: 3_000 }, (_, at) => `${at} "quoted" needle\n`).join("");
    await stage.sessions.call("writeMemory", { path: "memory/long.md", text });
    await stage.sessions.call("writeMemory", {
      path: "memory/wide.md",
      text: "\u0001".repeat(NOTE_BYTES_MAX - 1),
    });
    for (let at = 0; at < 300; at += 1)
      writeFileSync(fileOf(stage, `memory/${String(at).padStart(60, "n")}.md`), "needle");
    let [all, pages] = ["", 0];
    for (let from: object | null = {}; from !== null; pages += 1) {
      const page: Output<"readMemory"> = await made(stage, MAIN, "read", { path: "memory/long.md", ...from });
      [all, from] = [all + page.text, page.next];
    }
    assert.ok(all === text && pages > 4, `${pages} pages`);
    const wide = await made<Output<"readMemory">>(stage, MAIN, "read", { path: "memory/wide.md" });
    assert.deepEqual(wide.next, { offset: 1, column: wide.text.length + 1 });
    assert.equal((await made<Output<"memory">>(stage, MAIN, "list")).more, true);
    assert.equal((await made<Output<"memory">>(stage, MAIN, "list", { under: "memory/l" })).notes.length, 1);
    await made(stage, MAIN, "search", { text: "needle", limit: 200 });
    for (const result of await stage.results(MAIN))
      assert.ok(Buffer.byteLength(result.text) <= RESULT_BYTES_MAX, `${result.tool}: ${result.text.length}`);
    assert.equal((await stage.sessions.call("readMemory", { path: "memory/long.md" })).text, text);
    const past = stage.sessions.call("readMemory", { path: "memory/long.md", offset: 3_001 });
    await assert.rejects(past, fault("bad_input", /has 3000 lines/));
  });

  test("is not written by a call that does not say all it has to", async (t) => {
    const stage = await Stage.open(t);
    const path = "memory/a.md";
    for (const [given, words] of [
      [{ path, mode: "replace", text: "x" }, /version: replace needs/],
      [{ path, mode: "delete" }, /version: delete needs/],
      [{ path, mode: "delete", version: null, text: "x" }, /text: /],
      [{ path, mode: "replace", version: null }, /text: replace needs one/],
      [{ path, version: "0123", text: "x" }, /version: an append/],
      [{ path, text: " \n" }, /nothing in it/],
      [{ path }, /text: append needs one/],
      [{ path: "AGENTS.md", text: "x" }, /is no note/],
    ] as const)
      await assert.rejects(stage.sessions.call("writeMemory", given), fault("bad_input", words));
    assert.deepEqual((await stage.sessions.call("memory", {})).notes, []);
  });
});
