// How often the writer and the packer are asked: what is asked for at the same time is moved together, and looking asks nobody who
// has better things to do.

import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import { test, type TestContext } from "node:test";
import { afterwards, Home } from "../../../test/fixtures/home.ts";
import { PACK_BYTES_AT_ONCE } from "../../limits.ts";
import type { SessionKey } from "../../routing/key.ts";
import { addArchives, addOlder, listArchives } from "./holdings.ts";
import { isMove, Moves } from "./moves.ts";
import type { FromPacker, ToPacker } from "./packer.ts";
import { Packing } from "./packing.ts";
import { openState } from "./schema.ts";
import type { Thread } from "./thread.ts";
import type { WriterAnswer, WriterAsk } from "./wire.ts";

/** A packing whose writer and packer agree to everything, and what they were asked, in a word each. */
function agreeable(): { packing: Packing; asked: string[] } {
  const asked: string[] = [];
  const ask = (what: WriterAsk): Promise<WriterAnswer> => {
    asked.push(what.what);
    switch (what.what) {
      case "move":
        return Promise.resolve(
          what.archives.map((archive, intent) => ({ intent, archive, agent: "main", files: [] })),
        );
      case "moved":
        return Promise.resolve(what.moves.map(() => null));
      case "left":
        return Promise.resolve(what.moves.map(() => true));
      default:
        return Promise.resolve(null);
    }
  };
  const answers: Readonly<Record<ToPacker["what"], (message: never) => unknown>> = {
    pack: ({ ask: { moves } }: Extract<ToPacker, { what: "pack" }>) => moves.map(() => 1),
    unpack: ({ ask: { moves } }: Extract<ToPacker, { what: "unpack" }>) => moves.map(() => null),
    keep: ({ ask: { moves } }: Extract<ToPacker, { what: "keep" }>) => ({
      notices: [],
      left: moves.map(() => null),
    }),
    list: () => [{ name: "a".repeat(64), bytes: 7, atMs: 0 }],
    weigh: () => 1,
  };
  const thread = {
    ask: (make: (id: number) => ToPacker) => {
      const message = make(1);
      asked.push(message.what);
      return Promise.resolve(answers[message.what](message as never));
    },
  } as unknown as Thread<ToPacker, FromPacker>;
  const unnamed = (names: readonly string[]): Promise<readonly string[]> => {
    asked.push("unnamed");
    return Promise.resolve(names);
  };
  const nowMs = (): number => 1e12;
  return { packing: new Packing({ start: () => thread, ask, unnamed, tell: () => {}, nowMs }), asked };
}

test("archives that are asked for at the same time are packed together, so many at once", async () => {
  const { packing, asked } = agreeable();
  await Promise.all(Array.from({ length: 30 }, (_, n) => packing.move(`${n}`, "packed")));
  const once = ["move", "pack", "moved", "keep", "left"];
  assert.deepEqual(asked, [...once, ...once]);
});

test("what somebody wants back goes first, but not before its own packing", async () => {
  const { packing } = agreeable();
  const done: string[] = [];
  const move = (archive: string, to: "packed" | "plain"): Promise<unknown> =>
    packing.move(archive, to).then(() => done.push(`${archive} ${to}`));
  await Promise.all([move("a", "packed"), move("b", "packed"), move("a", "plain"), move("c", "plain")]);
  assert.deepEqual(done, ["c plain", "a packed", "b packed", "a plain"]);
});

test("only looking what would be collected asks the reader, and never the writer", async () => {
  const { packing, asked } = agreeable();
  assert.deepEqual((await packing.collect({ cursor: null, isDry: true })).blobs, 1);
  assert.deepEqual(asked, ["list", "unnamed"]);
});

async function state(t: TestContext): Promise<{ home: Home; database: DatabaseSync }> {
  const home = await Home.open(t);
  await home.close();
  const database = openState(home.paths);
  afterwards(t, () => database.close());
  return { home, database };
}

/** Archives of one file each. */
function put(
  database: DatabaseSync,
  archives: readonly { id: string; bytes: number; session?: string }[],
): void {
  const archive = database.prepare(
    "INSERT INTO archives (id, key, agent, why, archived_ms, bytes, session) VALUES (?,?,'main','asked',?,?,?)",
  );
  const file = database.prepare(
    "INSERT INTO generations (transcript, agent, session, archive, bytes, cut, skip) VALUES (?,'main',?,?,?,?,0)",
  );
  database.exec("BEGIN");
  for (const [at, { id, bytes, session = "{}" }] of archives.entries()) {
    archive.run(id, `key of ${id}`, at >> 4, bytes, session);
    file.run(id, null, id, bytes, bytes);
    file.run(`${id}-older`, at + 1, null, 1, 1);
  }
  database.exec("COMMIT");
}

test("as many are moved together as have so many bytes, and one that has more is moved alone", async (t) => {
  const { database } = await state(t);
  const bytes = [1, PACK_BYTES_AT_ONCE - 1, 1, PACK_BYTES_AT_ONCE * 2, 1];
  put(
    database,
    bytes.map((each, at) => ({ id: `${at}`, bytes: each })),
  );
  const moves = new Moves(database);
  const rounds: number[] = [];
  for (let ids = bytes.map((_, at) => `${at}`); ids.length > 0;) {
    const begun = moves.begin(ids, "packed");
    assert.ok(begun.every((one) => isMove(one)));
    assert.ok(begun.filter(isMove).every(({ intent }) => moves.isUnderWay(intent)));
    rounds.push(begun.length);
    ids = ids.slice(begun.length);
  }
  assert.deepEqual(rounds, [2, 1, 1, 1]);
});

test("a list parses the records of the archives that are wanted, and no others", async (t) => {
  const { database } = await state(t);
  put(database, [
    { id: "a", bytes: 1, session: "{" },
    { id: "b", bytes: 1 },
  ]);
  database.exec("UPDATE archives SET packed_bytes = 1 WHERE id = 'b'");
  const { rows } = listArchives(database, { agent: "main", packed: true });
  assert.deepEqual(
    rows.map(({ id, key }) => [id, key]),
    [["b", "key of b" as SessionKey]],
  );
});

test("files are added up in parts, and each is counted once", async (t) => {
  const { database } = await state(t);
  put(
    database,
    Array.from({ length: 10_001 }, (_, at) => ({ id: `${at}`, bytes: at })),
  );
  const sums = { older: [0, 0], archives: [0, 0] };
  for (let after: number | null = 0; after !== null;) {
    const some = addOlder(database, after);
    sums.older = [(sums.older[0] ?? 0) + some.bytes, (sums.older[1] ?? 0) + 1];
    after = some.last;
  }
  for (let after: readonly [number, string] | null = [0, ""]; after !== null;) {
    const some = addArchives(database, after);
    sums.archives = [(sums.archives[0] ?? 0) + some.bytes, (sums.archives[1] ?? 0) + 1];
    after = some.last;
  }
  assert.deepEqual(sums, { older: [10_001, 3], archives: [50_005_000, 2] });
});
