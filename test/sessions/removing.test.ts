// Finding what was said, and taking it away for good.

import assert from "node:assert/strict";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { test } from "node:test";
import type { Output } from "../../src/index.ts";
import { childOf, MAIN, named, spawn, until } from "./family.ts";
import { fault, Gate, Stage } from "./stage.ts";

/** When search has seen everything. */
async function search(stage: Stage, text: string, more: object = {}): Promise<Output<"search">["hits"]> {
  return await stage.until(async () => {
    const { hits, behind } = await stage.sessions.search(text, more);
    return behind === 0 && hits;
  });
}

test("words are found in all sessions, in those of an agent, or in one, without secrets", async (t) => {
  const stage = await Stage.open(t, { agents: { main: {}, coder: {} } });
  const [owls, coder] = [named("owls"), "agent:coder:main"];
  await stage.sessions.ask(owls, "!say The barn owl hunts at night, password: hunter2hunter2");
  await stage.sessions.ask(coder, "!say An owl again");
  const keys = async (more: object): Promise<string[]> => [
    ...new Set((await search(stage, "owl", more)).map(({ sessionKey }) => sessionKey)),
  ];
  assert.deepEqual((await keys({})).toSorted(), [coder, owls]);
  assert.deepEqual(await keys({ agent: "main" }), [owls]);
  assert.deepEqual(await keys({ sessionKey: coder }), [coder]);
  assert.equal((await search(stage, "owl", { limit: 1 })).length, 1);
  const [hit] = await search(stage, "barn hunts");
  assert.match(hit?.snippet ?? "", /barn owl hunts at night/);
  assert.ok(!JSON.stringify(await search(stage, "night")).includes("hunter2"));
  const { entries } = await stage.sessions.history(owls);
  assert.ok(entries.some(({ seq }) => seq === hit?.seq));
  await assert.rejects(stage.sessions.search(""), fault("bad_input", /text/));
  await assert.rejects(
    stage.sessions.search("owl", { sessionKey: named("nobody") }),
    fault("not_found", /nobody/),
  );
});

test("a hit says who said it, and when, as a history does; where its entry cannot be read, it says neither", async (t) => {
  const stage = await Stage.open(t);
  const envelope = { channel: "telegram", chatType: "direct", peer: "ann" } as const;
  const { sessionKey: chat, id } = await stage.sessions.receive(envelope, "the ptarmigan asks");
  await stage.sessions.wait(chat, id);
  const note = { path: "memory/ptarmigan.md", text: "white in winter" };
  await stage.sessions.ask(MAIN, `!call memory_write ${JSON.stringify(note)}\n!then\n!say A ptarmigan it is`);
  const hits = await search(stage, "ptarmigan");
  for (const { sessionKey, seq, at, kind, from } of hits) {
    const { entries } = await stage.sessions.history(sessionKey, { before: seq + 1, limit: 1 });
    assert.deepEqual(
      [[at, kind, from]],
      entries.map((told) => [told.at, told.kind, told.from]),
    );
  }
  const said = new Set(hits.map(({ kind, from }) => `${kind} ${from}`));
  for (const who of ["user telegram:ann", "user a person", "assistant null", "toolResult memory_write"])
    assert.ok(said.has(who), [...said].join(", "));

  const [newest] = await search(stage, "ptarmigan", { sessionKey: MAIN });
  const file = await stage.file(MAIN);
  await stage.close();
  const lines = readFileSync(file, "utf8").split("\n");
  const at = lines.findIndex(
    (line) => line.includes(`"seq":${newest?.seq},`) || line.includes(`"seq":${newest?.seq}}`),
  );
  lines[at] = "#".repeat(Buffer.byteLength(lines[at] ?? ""));
  writeFileSync(file, lines.join("\n"));
  await stage.reopen();
  const again = await search(stage, "ptarmigan", { sessionKey: MAIN });
  const unread = again.find(({ seq }) => seq === newest?.seq);
  assert.deepEqual([unread?.at, unread?.kind, unread?.from], [null, null, null]);
  assert.ok(again.some(({ kind }) => kind !== null));
});

test("what was said before the question is found, at once", async (t) => {
  const stage = await Stage.open(t);
  for (const bird of ["owl", "wren", "heron"]) {
    await stage.sessions.ask(MAIN, `!say A ${bird}.`);
    const { hits, behind } = await stage.sessions.search(bird);
    assert.ok(hits.length > 0, `${bird}, ${behind} behind`);
  }
});

test("a session is removed with everything below it, and stays removed", async (t) => {
  const stage = await Stage.open(t);
  const top = named("project");
  await stage.sessions.ask(
    top,
    [
      spawn([spawn("!say the deepest word"), "!call sessions_yield", "!then", "!say middle"]),
      "!call sessions_yield",
      "!then",
      "!say top",
    ].join("\n"),
  );
  const middle = await childOf(stage, top);
  const deepest = await childOf(stage, middle);
  const all = [top, middle, deepest];
  const files = await Promise.all(all.map((key) => stage.file(key)));
  await stage.rest(top);
  await stage.until(async () => {
    const ended = await Promise.all(
      [middle, deepest].map(async (key) => (await stage.sessions.status(key)).state),
    );
    return ended.every((state) => state === "ended");
  });
  assert.ok((await search(stage, "deepest")).length > 0);
  assert.deepEqual(await stage.sessions.remove(top), { sessionKey: top, removed: 3, archives: 0, jobs: [] });
  for (const again of [false, true]) {
    if (again) await stage.reopen();
    for (const key of all)
      await assert.rejects(stage.sessions.status(key), fault("not_found", /there is no session/));
    assert.deepEqual(
      (await stage.sessions.list()).sessions.map(({ sessionKey }) => sessionKey),
      [MAIN],
    );
    assert.deepEqual(await search(stage, "deepest"), []);
  }
  assert.deepEqual(
    files.map((file) => existsSync(file)),
    [false, false, false],
  );
  await assert.rejects(stage.sessions.remove(top), fault("not_found", /project/));
  const { text } = await stage.sessions.ask(top, "!say new here");
  assert.equal(text, "new here");
  assert.equal((await stage.letters(top)).length, 1, "nothing is left of the one before");
  assert.equal(stage.log, "[]");
});

test("nothing is removed while one of them does something; what was killed is", async (t) => {
  const gate = new Gate();
  const stage = await Stage.open(t, {}, { tools: [gate.tool] });
  const top = named("project");
  await stage.sessions.ask(top, [spawn("!call gate"), "!then", "!say it works"].join("\n"));
  await gate.reached();
  const child = await childOf(stage, top);
  await stage.until(async () => (await stage.sessions.status(top)).state === "idle");
  await assert.rejects(stage.sessions.remove(child), fault("busy", /runs: nothing was removed/));
  const below = `${child}, which is below ${top}, runs`;
  await assert.rejects(stage.sessions.remove(top), fault("busy", new RegExp(below)));
  assert.equal((await stage.sessions.status(child)).state, "running");
  await stage.sessions.kill(child);
  await until(stage, child, "ended");
  await stage.rest(top);
  assert.deepEqual(await stage.sessions.remove(top), { sessionKey: top, removed: 2, archives: 0, jobs: [] });
});

test("a message opens a removed session anew, at once, and the one that was said before stays said", async (t) => {
  const stage = await Stage.open(t);
  const key = named("notes");
  await stage.sessions.ask(key, "!say old", { id: "1" });
  await stage.rest(key);
  await stage.sessions.remove(key);
  assert.equal((await stage.sessions.send(key, "!say old", { id: "1" })).repeated, true);
  await assert.rejects(stage.sessions.status(key), fault("not_found", /there is no session/));
  assert.equal((await stage.sessions.ask(key, "!say new", { id: "2" })).text, "new");
  assert.deepEqual(await stage.letters(key), ["!say new"]);
});

test("who follows a session that is removed hears so, after all that it said", async (t) => {
  const stage = await Stage.open(t);
  const key = named("notes");
  await stage.sessions.ask(key, "!say old");
  await stage.rest(key);
  const { entries: last } = await stage.sessions.status(key);
  const following = async (): Promise<void> => {
    for await (const event of stage.sessions.follow(key, { from: 0 }))
      if (event.type === "entry" && event.seq === last) await stage.sessions.remove(key);
  };
  await assert.rejects(following(), fault("not_found", /was removed; one that is opened .* begins anew/));
});

test("who is spawned while its parent is being removed keeps it, or is not born", async (t) => {
  const stage = await Stage.open(t);
  for (let n = 0; n < 20; n += 1) {
    const parent = named(`parent-${n}`);
    await stage.sessions.ask(parent, "!say hello");
    await stage.rest(parent);
    const born = stage.sessions.spawn("!say born", { parent });
    const outcomes = await Promise.allSettled([stage.sessions.remove(parent), born]);
    const isThere = await stage.sessions.status(parent).then(
      () => true,
      () => false,
    );
    assert.equal(isThere, outcomes[1].status === "fulfilled", JSON.stringify(outcomes));
  }
});

test("mail that waits keeps a session; a main session is never removed", async (t) => {
  const stage = await Stage.open(t);
  const key = named("notes");
  await stage.sessions.ask(key, "!say hello");
  await stage.sessions.stop(key);
  await stage.sessions.send(key, "!say later");
  await assert.rejects(stage.sessions.remove(key), fault("busy", /has mail that waits/));
  await stage.sessions.cont(key);
  await stage.rest(key);
  assert.equal((await stage.letters(key)).length, 2);
  assert.deepEqual(await stage.sessions.remove(key), { sessionKey: key, removed: 1, archives: 0, jobs: [] });
  await assert.rejects(stage.sessions.remove(MAIN), fault("forbidden", /always exists/));
});

test("a program that embeds sessions has no tokens, and is told who has", async (t) => {
  const { sessions } = await Stage.open(t);
  const none = fault("not_found", /only a gateway has them/);
  await assert.rejects(sessions.call("tokens", {}), none);
  await assert.rejects(sessions.call("createToken", { name: "phone", scope: "read" }), none);
  await assert.rejects(sessions.call("revokeToken", { name: "phone" }), none);
  await assert.rejects(
    sessions.call("createToken", { name: "My phone", scope: "read" }),
    fault("bad_input", /name/),
  );
});
