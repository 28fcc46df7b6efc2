// What the local engine does that no other has to: its threads, its bounds, its order.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { appending, Home, opening, said, scratch } from "../../../test/fixtures/home.ts";
import { COMMIT_BYTES_MAX, JOURNAL_BYTES_MAX, PAGE_SCAN_ROWS_MAX, WAITING_BYTES_MAX } from "../../limits.ts";
import { DEFAULT_AGENT, namedKey } from "../../routing/key.ts";

test("commits that come while a checkpoint runs are taken, also when they fill the other twin", async (t) => {
  const home = await Home.open(t);
  const names = Array.from({ length: 8 }, (_, n) => `number ${n}`);
  const keys = await Promise.all(names.map((name) => home.talk(name, "first")));
  const large = "x".repeat(JOURNAL_BYTES_MAX / 8);
  const rounds = 4;
  const writing = keys.map(async (key) => {
    for (let after = 1; after <= rounds; after += 1)
      await home.store.commit([appending(key, after, [said(large)])]);
  });
  for (let again = 0; again < 4; again += 1) await home.store.checkpoint();
  await Promise.all(writing);
  for (const key of keys) assert.equal((await home.row(key)).transcript.lastSeq, 1 + rounds);
  assert.deepEqual(home.deaths, []);
});

test("more than may wait for the disk is refused at once as overloaded, and what waited is taken", async (t) => {
  const home = await Home.open(t);
  const large = said("x".repeat(COMMIT_BYTES_MAX - 1024 * 1024));
  const names = Array.from({ length: Math.ceil(WAITING_BYTES_MAX / COMMIT_BYTES_MAX) + 1 }, (_, n) =>
    String(n),
  );
  const commits = names.map((name) => {
    const key = namedKey(DEFAULT_AGENT, name);
    return home.store.commit([opening(key, home.world.newId()), appending(key, 0, [large])]);
  });
  const results = await Promise.allSettled(commits);
  const refused = results.filter((result) => result.status === "rejected");
  assert.deepEqual(
    refused.map(({ reason }) => (reason as { code: string }).code),
    ["overloaded"],
  );
  assert.equal((await home.store.sessions({})).rows.length, names.length - 1);
  await home.talk("after that", "there is room again");
});

test("what is too large for one commit is refused also when it is in several changes of it", async (t) => {
  const home = await Home.open(t);
  const [a, b] = [await home.talk("a", "1"), await home.talk("b", "1")];
  const half = said("x".repeat(COMMIT_BYTES_MAX / 2));
  await assert.rejects(home.store.commit([appending(a, 1, [half]), appending(b, 1, [half])]), {
    code: "bad_input",
  });
  assert.deepEqual([await home.read(a), await home.read(b)], [["1"], ["1"]]);
});

test("words that few sessions have are looked for in bounded pages, short ones too, and found", async (t) => {
  const home = await Home.open(t);
  const rare = await home.talk("rare", "a needle");
  const names = Array.from({ length: PAGE_SCAN_ROWS_MAX + 500 }, (_, n) => `hay ${n}`);
  await home.store.commit(names.map((name) => opening(namedKey(DEFAULT_AGENT, name), home.world.newId())));
  const first = await home.store.sessions({ text: "NEEDLE", limit: 5 });
  assert.deepEqual(first.rows, []);
  const second = await home.store.sessions({ text: "NEEDLE", limit: 5, cursor: first.next });
  assert.deepEqual([second.rows.map(({ key }) => key), second.next], [[rare], null]);
  assert.ok(first.next !== null);
  const full = await home.store.sessions({ text: "hay", limit: 5 });
  assert.ok(full.rows.length === 5 && full.next !== null);
});

test("a program that is given on the command line can open a store", async (t) => {
  const local = fileURLToPath(new URL("./local.ts", import.meta.url));
  const base = fileURLToPath(new URL("../../base/", import.meta.url));
  const program = `
    import { LocalStore } from ${JSON.stringify(local)};
    import { RealWorld } from ${JSON.stringify(join(base, "world.ts"))};
    import { openLog } from ${JSON.stringify(join(base, "log.ts"))};
    const died = (fault) => { throw fault; };
    const store = await LocalStore.open(process.argv[1], { world: new RealWorld(), log: openLog("silent"), died });
    console.log((await store.sessions({})).rows.length);
    await store.close();
  `;
  const home = join(scratch(t), "home");
  const run = promisify(execFile);
  const { stdout } = await run(process.execPath, ["--input-type=module", "--eval", program, home]);
  assert.equal(stdout, "0\n");
});
