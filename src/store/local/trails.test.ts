import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { test, type TestContext } from "node:test";
import { afterwards, appending, Home, said } from "../../../test/fixtures/home.ts";
import { TRAIL_SPANS_MAX, TRAILS_MAX } from "../../limits.ts";
import type { SessionKey } from "../../routing/key.ts";
import { entryId, type Entry } from "../../transcript/entry.ts";
import type { Range } from "../store.ts";
import { readPage } from "./history.ts";
import { snapshot, type Opened } from "./spliced.ts";
import { Trails } from "./trails.ts";

const ENTRIES = 4_000;

/** A long history that went back a little, near its end. */
async function rewound(t: TestContext): Promise<{ readonly home: Home; readonly key: SessionKey }> {
  const home = await Home.open(t);
  const key = await home.talk(
    "a",
    ...Array.from({ length: ENTRIES }, (_, n) => `said ${n + 1} ${"x".repeat(1_000)}`),
  );
  await back(home, key, ENTRIES - 100);
  await home.say(key, "after it");
  return { home, key };
}

async function back(home: Home, key: SessionKey, seq: number): Promise<void> {
  const { id } = (await home.row(key)).transcript;
  for await (const entry of home.store.entries(id, { since: seq })) {
    assert(entry.type !== "gap");
    return await home.append(key, [said("again")], { rewindTo: { id: entry.id, seq } });
  }
}

/** Says how many bytes were read of it. */
class Counted implements Opened {
  readonly size: number;
  readonly isMissing = false;
  readonly #source: Opened;
  bytes = 0;

  constructor(source: Opened) {
    this.#source = source;
    this.size = source.size;
  }

  read(at: number, length: number): Buffer {
    const piece = this.#source.read(at, length);
    this.bytes += piece.length;
    return piece;
  }

  close(): void {}
}

interface Read {
  readonly seqs: readonly number[];
  readonly bytes: number; // that were read for it
}

/** Pages as the reader thread makes them, one after the other, with what it remembers. */
function reader(t: TestContext, home: Home, transcript: string): (range: Range) => Read {
  const database = new DatabaseSync(home.paths.state);
  afterwards(t, () => database.close());
  const trails = new Trails();
  return (range) => {
    const taken = snapshot(database, home.paths, transcript);
    assert(taken);
    const { source } = taken;
    const counted = new Counted(source);
    try {
      const { items } = readPage({ ...taken, source: counted }, range, { stop: null, trails });
      const entries = items.flatMap((item) => (typeof item === "string" ? [JSON.parse(item) as Entry] : []));
      return { seqs: entries.map(({ seq }) => seq), bytes: counted.bytes };
    } finally {
      source.close();
    }
  };
}

test("before a rewind, a page costs what it has once the way to it is known", async (t) => {
  const { home, key } = await rewound(t);
  const { id, bytes: all } = (await home.row(key)).transcript;
  await home.close();
  const read = reader(t, home, id);
  const first = read({ before: 1_000 });
  assert.equal(first.seqs[0], 999);
  assert.ok(first.bytes > all / 2, "the way there was walked");
  let at = first.seqs.at(-1) ?? 0;
  while (at > 1) {
    const page = read({ before: at });
    assert.equal(page.seqs[0], at - 1);
    assert.ok(page.bytes < all / 4, `${page.bytes} of ${all}`);
    at = page.seqs.at(-1) ?? 0;
  }
  for (const from of [1, 500, 3_000]) {
    const page = read({ from });
    assert.equal(page.seqs[0], from);
    assert.ok(page.bytes < all / 4, `${page.bytes} of ${all}`);
  }
  // Of what was left behind nothing is told, from wherever one comes.
  assert.equal(read({ before: ENTRIES - 50 }).seqs[0], ENTRIES - 100);
  assert.deepEqual(read({ from: ENTRIES - 50 }).seqs, [ENTRIES + 1, ENTRIES + 2]);
});

test("another rewind is another way", async (t) => {
  const { home, key } = await rewound(t);
  const { id } = (await home.row(key)).transcript;
  const read = reader(t, home, id);
  assert.equal(read({ before: 3_000 }).seqs[0], 2_999);
  await back(home, key, 50);
  assert.equal(read({ before: 3_000 }).seqs[0], 50);
  assert.deepEqual(read({ from: 45 }).seqs, [45, 46, 47, 48, 49, 50, ENTRIES + 3]);
});

test("where something cannot be read nothing is remembered, and all of it is told as before", async (t) => {
  const { home, key } = await rewound(t);
  const file = await home.file(key);
  await home.close();
  const lines = readFileSync(file, "utf8").split("\n");
  lines[2_000] = "#".repeat(Buffer.byteLength(lines[2_000] ?? ""));
  writeFileSync(file, lines.join("\n"));
  await home.reopen();
  const path = Array.from({ length: ENTRIES - 100 }, (_, n) => n + 1).filter((seq) => seq !== 2_000);
  const { id } = (await home.row(key)).transcript;
  for (let again = 0; again < 2; again += 1) {
    const items = await Array.fromAsync(home.store.entries(id, { before: 3_000 }));
    const seqs = items.map((item) => (item.type === "gap" ? 0 : item.seq));
    assert.deepEqual(
      seqs.filter((seq) => seq > 0),
      path.filter((seq) => seq < 3_000).toReversed(),
    );
    assert.equal(seqs.indexOf(0), 999, "it is told in its place");
  }
});

for (const wrong of [20, 30])
  test(`an entry that says it were ${wrong}, which is not on the path, brings nothing else onto it`, async (t) => {
    const home = await Home.open(t);
    const key = await home.talk("a", ...Array.from({ length: 30 }, (_, n) => `said ${n + 1}`));
    await back(home, key, 12);
    await home.say(key, "after it"); // The path: 1 to 12, 31 and 32.
    const file = await home.file(key);
    await home.close();
    const lines = readFileSync(file, "utf8").split("\n");
    assert.match(lines[12] ?? "", /"seq":12\b/);
    lines[12] = (lines[12] ?? "").replace('"seq":12', `"seq":${wrong}`);
    writeFileSync(file, lines.join("\n"));
    await home.reopen();
    const { id } = (await home.row(key)).transcript;
    const path = Array.from({ length: 11 }, (_, n) => n + 1);
    const read = async (range: Range): Promise<number[]> =>
      (await Array.fromAsync(home.store.entries(id, range))).flatMap((item) =>
        item.type === "gap" ? [] : item.seq,
      );
    for (const before of [31, 30, 21, 20, 15, 13, 12])
      assert.deepEqual(
        (await read({ before })).filter((seq) => seq !== wrong),
        path.toReversed(),
        `before ${before}`,
      );
    for (const from of [1, 11]) {
      const seqs = await read({ from });
      assert.deepEqual(seqs, [...path.slice(from - 1), 31, 32], `from ${from}`);
    }
  });

test("with very many rewinds nothing is remembered, and all is told", async (t) => {
  const home = await Home.open(t);
  const key = await home.talk("a", "first");
  const { id } = (await home.row(key)).transcript;
  const many = TRAIL_SPANS_MAX + 1;
  // Each time one entry is left behind. The path: 1, and what is even.
  const changes = Array.from({ length: many }, (_, n) => ({
    ...appending(key, 2 * n + 1, [said("on the path"), said("left behind")]),
    rewindTo: { id: entryId(id, Math.max(1, 2 * n)), seq: Math.max(1, 2 * n) },
  }));
  for (const change of changes) await home.store.commit([change]);
  const path = [1, ...Array.from({ length: many }, (_, n) => 2 * n + 2)];
  await home.close();
  const database = new DatabaseSync(home.paths.state);
  afterwards(t, () => database.close());
  const taken = snapshot(database, home.paths, id);
  assert(taken);
  afterwards(t, () => taken.source.close());
  const trails = new Trails();
  assert.equal(trails.spansFrom(taken, 1), null);
  assert.equal(trails.spansFrom(taken, 100)?.length, many - 49);
  const read = reader(t, home, id);
  assert.deepEqual(read({ before: 7 }).seqs, [6, 4, 2, 1]);
  assert.deepEqual(read({ from: 1 }).seqs, path.slice(0, 256));
});

test("of many histories those are remembered that were read last", async (t) => {
  const { home, key } = await rewound(t);
  const { id, bytes: all } = (await home.row(key)).transcript;
  await home.close();
  const database = new DatabaseSync(home.paths.state);
  afterwards(t, () => database.close());
  const taken = snapshot(database, home.paths, id);
  assert(taken);
  afterwards(t, () => taken.source.close());
  const trails = new Trails();
  const { row } = taken;
  const ask = (name: string, from: number): number => {
    const source = new Counted(taken.source);
    const of = { ...row, transcript: { ...row.transcript, id: name } };
    assert.ok(trails.spansFrom({ ...taken, row: of, source }, from));
    return source.bytes;
  };
  assert.ok(ask("first", 1_000) > all / 2);
  assert.ok(ask("first", 1_000) === 0);
  for (let n = 0; n < TRAILS_MAX; n += 1) ask(`other ${n}`, ENTRIES - 120);
  assert.ok(ask("first", 1_000) > all / 2, "it was forgotten");
});
