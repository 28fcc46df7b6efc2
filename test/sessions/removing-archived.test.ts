// What was archived below a session goes with it, and nobody else's.

import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { ARCHIVE_AT_ONCE } from "../../src/upkeep/limits.ts";
import { parseKey } from "../../src/routing/key.ts";
import type { Change } from "../../src/store/change.ts";
import { MAIN, named } from "./family.ts";
import { openedWired, type Opened } from "../fixtures/wired.ts";
import { fault } from "./stage.ts";

/** A system with its store in reach: sub-agents are put away there as upkeep would. */
class Stage {
  readonly opened: Opened;

  constructor(opened: Opened) {
    this.opened = opened;
  }

  static async open(t: TestContext): Promise<Stage> {
    return new Stage(await openedWired(t));
  }

  get sessions(): Opened["sessions"] {
    return this.opened.sessions;
  }

  get home(): string {
    return this.opened.system.config.home;
  }

  /** Until nothing happens in it, and nothing waits for it. */
  async rest(key: string): Promise<void> {
    const { store } = this.opened.system;
    for (;;) {
      const session = await store.session(parseKey(key));
      const isIdle = session?.state.kind === "idle" || session?.state.kind === "ended";
      if (isIdle && (await store.waiting(parseKey(key), 1)) === 0) return;
      await sleep(5);
    }
  }
}

/** Born, each below the one that is named, and put away in the same moment, the last first. Returns their archives. */
async function archived(
  stage: Stage,
  ...born: readonly (readonly [key: string, parent: string | null])[]
): Promise<readonly string[]> {
  const opens = born.map(([key, parent]) => opened(stage, key, parent));
  const archives = opens.map(({ key, transcript }): Change => ({
    do: "archive",
    key,
    expect: { transcript, lastSeq: 0 },
    why: "asked",
  }));
  await stage.opened.system.store.commit([...opens, ...archives.toReversed()]);
  return opens.map(({ transcript }) => transcript);
}

function opened(stage: Stage, key: string, parent: string | null): Extract<Change, { do: "open" }> {
  const transcript = stage.opened.system.world.newId();
  const how = { settings: {}, copy: null, ifExists: "refuse" } as const;
  return {
    ...{ do: "open", key: parseKey(key), transcript, cwd: "/" },
    ...{ parent: parent === null ? null : parseKey(parent), ...how },
  };
}

function sub(n: number | string): string {
  return `agent:main:subagent:${n}`;
}

async function archivedKeys(stage: Stage): Promise<string[]> {
  const { archives } = await stage.sessions.call("archives", { limit: 200 });
  return archives.map(({ sessionKey }) => sessionKey).toSorted();
}

/** Transcripts, in either form. */
function files(stage: Stage): string[] {
  return ["sessions", "archive"].flatMap((folder) => {
    try {
      return readdirSync(join(stage.home, "agents/main", folder));
    } catch {
      return []; // Nothing was ever packed.
    }
  });
}

test("whoever was archived below a session goes with it, however deep, and nothing of them is left", async (t) => {
  const stage = await Stage.open(t);
  const { sessions } = stage;
  const top = named("project");
  await sessions.ask(MAIN, "!say I stay");
  await sessions.ask(top, "!say hello");
  await stage.rest(top);
  const { sessionKey: child, id } = await sessions.spawn("!say a secret word", { parent: top });
  await sessions.wait(child, id);
  await stage.rest(top);
  await archived(stage, [sub("one"), top], [sub("grand"), sub("one")], [sub("great"), sub("grand")]);
  await sessions.call("archive", { sessionKey: child });
  await sessions.call("reset", { sessionKey: top });
  await sessions.ask(top, "!say once more");
  await stage.rest(top);
  await archived(stage, [sub("stranger"), MAIN]);
  const { archives } = await sessions.call("archives", { parent: top });
  assert.deepEqual(
    archives.map(({ sessionKey }) => sessionKey),
    [child, sub("one")],
  );

  assert.deepEqual(await sessions.remove(top), { sessionKey: top, removed: 1, archives: 5, jobs: [] });
  assert.deepEqual(await archivedKeys(stage), [sub("stranger")]);
  await assert.rejects(sessions.remove(child), fault("not_found", /./));
  await sessions.close();
  const left = files(stage).filter((name) => name.includes(".jsonl"));
  assert.equal(left.length, 2, `main's, and the stranger's: ${left.join()}`);
});

test("a key that has only archives takes those below it along, and who was brought back below one", async (t) => {
  const stage = await Stage.open(t);
  const { sessions } = stage;
  const top = named("project");
  const line = [top, sub(1), sub(2), sub(3), sub(4)];
  const ids = await archived(stage, ...line.map((key, at) => [key, line[at - 1] ?? null] as const));
  await sessions.call("restore", { id: ids[3] ?? "" });
  assert.deepEqual(await sessions.remove(top), { sessionKey: top, removed: 1, archives: 4, jobs: [] });
  assert.deepEqual(await archivedKeys(stage), []);
  await assert.rejects(sessions.status(sub(3)), fault("not_found", /./));
  await assert.rejects(sessions.remove(top), fault("not_found", /there is no session/));
});

test("many go in pieces, the lowest first: whoever is cut off in between asks again, and all goes", async (t) => {
  const stage = await Stage.open(t);
  const top = named("project");
  await stage.sessions.ask(top, "!say hello");
  await stage.rest(top);
  const children = ARCHIVE_AT_ONCE * 2;
  const grand = Array.from({ length: 10 }, (_, n) => [sub(`g${n}`), sub("c0")] as const);
  await archived(stage, [sub("c0"), top], ...grand);
  for (let n = 1; n < children; n += 1) await archived(stage, [sub(`c${n}`), top]);
  const { system } = stage.opened;
  const { commit } = system;
  const sizes: number[] = [];
  const cut = (changes: readonly Change[]): ReturnType<typeof commit> => {
    if (sizes.length === 1) return Promise.reject(new Error("cut off"));
    sizes.push(changes.length);
    return commit(changes);
  };
  Object.assign(system, { commit: cut });
  await assert.rejects(stage.sessions.remove(top), /cut off/);
  Object.assign(system, { commit });
  assert.deepEqual(sizes, [ARCHIVE_AT_ONCE]);
  const left = await archivedKeys(stage);
  assert.equal(left.length, children + 10 - ARCHIVE_AT_ONCE);
  assert.ok(!left.some((key) => key.startsWith(sub("g"))), "those lead to nobody");
  assert.equal((await stage.sessions.status(top)).state, "idle");
  assert.deepEqual(await stage.sessions.remove(top), {
    sessionKey: top,
    removed: 1,
    archives: left.length,
    jobs: [],
  });
  assert.deepEqual(await archivedKeys(stage), []);
});

test("what becomes busy in between stays, and whoever asked hears what is gone already", async (t) => {
  const stage = await Stage.open(t);
  const { sessions } = stage;
  const top = named("project");
  await sessions.ask(top, "!say hello");
  await stage.rest(top);
  for (let n = 0; n < ARCHIVE_AT_ONCE + 3; n += 1) await archived(stage, [sub(`c${n}`), top]);
  const { system } = stage.opened;
  const { commit } = system;
  const first = async (changes: readonly Change[]): ReturnType<typeof commit> => {
    Object.assign(system, { commit });
    const receipt = await commit(changes);
    await sessions.stop(top);
    await sessions.send(top, "!say later");
    return receipt;
  };
  Object.assign(system, { commit: first });
  await assert.rejects(
    sessions.remove(top),
    fault("busy", /has mail that waits: 3 of its archives were erased; the sessions stay/),
  );
  assert.equal((await archivedKeys(stage)).length, ARCHIVE_AT_ONCE);
  await sessions.call("cont", { sessionKey: top });
  await stage.rest(top);
  assert.deepEqual(await sessions.remove(top), {
    sessionKey: top,
    removed: 1,
    archives: ARCHIVE_AT_ONCE,
    jobs: [],
  });
});

test("what is busy below keeps everything, archives too", async (t) => {
  const stage = await Stage.open(t);
  const { sessions } = stage;
  const top = named("project");
  await sessions.ask(top, "!say hello");
  await stage.rest(top);
  for (let n = 0; n < ARCHIVE_AT_ONCE + 1; n += 1) await archived(stage, [sub(`c${n}`), top]);
  await sessions.stop(top);
  await sessions.send(top, "!say later");
  await assert.rejects(sessions.remove(top), fault("busy", /has mail that waits/));
  assert.equal((await archivedKeys(stage)).length, ARCHIVE_AT_ONCE + 1);
});

test("a key that was given again, below another, keeps what is below it", async (t) => {
  const stage = await Stage.open(t);
  const { sessions } = stage;
  const [one, two] = [named("one"), named("two")];
  for (const each of [one, two]) {
    await sessions.ask(each, "!say hello");
    await stage.rest(each);
  }
  const [lives, away] = [named("lives"), named("away")];
  await archived(stage, [lives, one], [away, one]);
  await stage.opened.system.store.commit([opened(stage, lives, two)]);
  await archived(stage, [sub("of-lives"), lives]);
  await archived(stage, [away, two], [sub("of-away"), away]);
  assert.deepEqual(await sessions.remove(one), { sessionKey: one, removed: 1, archives: 2, jobs: [] });
  assert.deepEqual(await archivedKeys(stage), [sub("of-away"), sub("of-lives"), away].toSorted());
  assert.equal((await sessions.status(lives)).parent, two);
  assert.deepEqual(await sessions.remove(two), { sessionKey: two, removed: 2, archives: 3, jobs: [] });
  assert.deepEqual(await archivedKeys(stage), []);
});

test("an archive is named by the beginning of its id, where that is clear", async (t) => {
  const stage = await Stage.open(t);
  const { sessions } = stage;
  const [first = "", second = ""] = await archived(stage, [named("a"), null], [named("b"), null]);
  const alike = first.slice(
    0,
    [...first].findIndex((char, at) => char !== second[at]),
  );
  assert.ok(alike.length >= 6, alike);
  const several = fault("bad_input", new RegExp(`may be ${first} \\(${named("a")}\\), ${second}`));
  for (const call of ["restore", "purgeArchive", "archives"] as const)
    await assert.rejects(sessions.call(call, { id: alike }), several);
  const begin = first.slice(0, alike.length + 1);
  assert.deepEqual(
    (await sessions.call("archives", { id: begin })).archives.map(({ id }) => id),
    [first],
  );
  assert.deepEqual((await sessions.call("archives", { id: begin, agent: "coder" })).archives, []);
  for (const id of [first.slice(0, 5), `${begin}x`]) {
    assert.deepEqual((await sessions.call("archives", { id })).archives, []);
    await assert.rejects(sessions.call("purgeArchive", { id }), fault("not_found", /there is no archive/));
  }
  assert.equal((await sessions.call("restore", { id: begin })).sessionKey, named("a"));
  assert.deepEqual((await sessions.call("purgeArchive", { id: second.slice(0, -1) })).id, second);
  assert.deepEqual(await archivedKeys(stage), []);
});

test("an archive says how many entries it has, also where its conversation was not the first", async (t) => {
  const stage = await Stage.open(t);
  const { sessions } = stage;
  const key = named("talk");
  const counts: number[] = [];
  let before = 0;
  for (const word of ["first", "second"]) {
    await sessions.ask(key, `!say ${word}`);
    await stage.rest(key);
    const { entries } = await sessions.status(key);
    counts.push(entries - before);
    before = entries;
    await sessions.call("reset", { sessionKey: key });
    await stage.rest(key);
  }
  const { archives } = await sessions.call("archives", { sessionKey: key });
  assert.deepEqual(
    archives.map(({ entries }) => entries),
    counts.toReversed(),
  );
  const swapped = await sessions.call("restore", { id: archives[0]?.id ?? "", swap: true });
  assert.equal(swapped.entries, counts[1]);
});
