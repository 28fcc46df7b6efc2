import assert from "node:assert/strict";
import { test } from "node:test";
import { SimulatedWorld } from "../../src/base/world.ts";
import { Disk } from "./disk.ts";
import type { Effect, Operation, Recording, Tree } from "./operation.ts";

const EMPTY: Tree = new Map();

/** One operation after the other, none at the same time as another. */
function recordingOf(effects: readonly Effect[], initial: Tree = EMPTY): Recording {
  const operations = effects.map((effect, at) => ({ ...effect, path: "", begun: at, done: at }));
  return { initial, operations };
}

/** The trees of many cuts at one place. */
function cuts(recording: Recording, at = recording.operations.length, count = 400): Tree[] {
  const disk = new Disk(recording);
  return Array.from({ length: count }, (_, seed) => disk.cut(at, dice(seed)).tree);
}

function dice(seed: number): () => number {
  const world = new SimulatedWorld(seed);
  return () => world.random();
}

/** All trees, each once, as text: `a=one d/ d/b=`. Zeros are shown as dots. */
function shapes(trees: readonly Tree[]): Set<string> {
  return new Set(trees.map((tree) => [...tree].map(shapeOf).toSorted().join(" ")));
}

function shapeOf([path, bytes]: readonly [string, Uint8Array | null]): string {
  return bytes === null ? `${path}/` : `${path}=${Buffer.from(bytes).toString().replaceAll("\0", ".")}`;
}

const at = (name: string, directory = 0): { directory: number; name: string } => ({ directory, name });
const create = (inode: number, name: string, directory = 0): Effect => ({
  op: "create",
  inode,
  at: at(name, directory),
});
const mkdir = (inode: number, name: string, directory = 0): Effect => ({
  op: "mkdir",
  inode,
  at: at(name, directory),
});
const unlink = (inode: number, name: string): Effect => ({ op: "unlink", inode, at: at(name) });
const sync = (inode: number): Effect => ({ op: "sync", inode });
const write = (inode: number, text: string, offset = 0): Effect => ({
  op: "write",
  inode,
  offset,
  bytes: Buffer.from(text),
});
const rename = (inode: number, from: string, to: string, replaced: number | null = null): Effect => ({
  op: "rename",
  inode,
  from: at(from),
  to: at(to),
  replaced,
});

test("what was synced, name and data, is there after every cut", () => {
  const recording = recordingOf([
    create(1, "a"),
    write(1, "one"),
    sync(1),
    sync(0),
    write(1, "two", 3),
    create(2, "b"),
    write(2, "b"),
  ]);
  for (const tree of cuts(recording)) assert.match(shapeOf(["a", tree.get("a") ?? null]), /^a=one/);
});

test("what was not synced is there, or not, or a hole of its size", () => {
  const seen = shapes(cuts(recordingOf([create(1, "a"), sync(0), write(1, "one"), write(1, "two", 3)])));
  for (const shape of ["a=", "a=one", "a=onetwo", "a=...two", "a=...", "a=......"])
    assert.ok(seen.has(shape), shape);
});

test("a sync of the file does not keep its name, a sync of the directory does", () => {
  const effects = [create(1, "a"), write(1, "one"), sync(1)];
  assert.deepEqual(shapes(cuts(recordingOf(effects))), new Set(["", "a=one"]));
  assert.deepEqual(shapes(cuts(recordingOf([...effects, sync(0)]))), new Set(["a=one"]));
});

test("a sync covers nothing that was done after it began", () => {
  const [made, named, written] = recordingOf([create(1, "a"), sync(0), write(1, "one")]).operations;
  assert.ok(made !== undefined && named !== undefined && written !== undefined);
  const late: Operation = { op: "sync", inode: 1, path: "", begun: 1, done: 3 };
  const seen = shapes(cuts({ initial: EMPTY, operations: [made, named, written, late] }));
  assert.ok(seen.has("a=") && seen.has("a=one"));
});

test("a rename without a sync gives the old name or the new one, never both, never neither", () => {
  const initial = new Map([["f", Buffer.from("old")]]);
  const replace = [create(2, "f.tmp"), write(2, "new"), sync(2), rename(2, "f.tmp", "f", 1)];
  assert.deepEqual(
    shapes(cuts(recordingOf(replace, initial))),
    new Set(["f=old", "f.tmp=new f=old", "f=new"]),
  );
  assert.deepEqual(shapes(cuts(recordingOf([...replace, sync(0)], initial))), new Set(["f=new"]));
});

test("a rename whose data was not synced can show an empty file: the mistake everybody makes once", () => {
  const initial = new Map([["f", Buffer.from("old")]]);
  const replace = [create(2, "f.tmp"), write(2, "new"), rename(2, "f.tmp", "f", 1), sync(0)];
  assert.deepEqual(shapes(cuts(recordingOf(replace, initial))), new Set(["f=new", "f=", "f=..."]));
});

test("a name taken over by a new file never costs the file that was moved away from it", () => {
  const initial = new Map([["log", Buffer.from("old")]]);
  const rotate = [rename(1, "log", "log.1"), create(2, "log"), unlink(2, "log"), create(3, "log")];
  for (const shape of shapes(cuts(recordingOf(rotate, initial))))
    assert.match(shape, /^log(\.1)?=old|log.1=old$/);
});

test("what is in a directory that was lost is lost with it", () => {
  const effects = [mkdir(1, "d"), create(2, "f", 1), write(2, "x"), sync(2), sync(1)];
  assert.deepEqual(shapes(cuts(recordingOf(effects))), new Set(["", "d/ d/f=x"]));
  assert.deepEqual(shapes(cuts(recordingOf([...effects, sync(0)]))), new Set(["d/ d/f=x"]));
});

test("a file moved into a directory that can still be lost can still be found where it was", () => {
  const initial = new Map([["f", Buffer.from("x")]]);
  const move: Effect = { op: "rename", inode: 1, from: at("f"), to: at("f", 2), replaced: null };
  const effects = [mkdir(2, "d"), move, sync(2)];
  assert.deepEqual(shapes(cuts(recordingOf(effects, initial))), new Set(["f=x", "d/ f=x", "d/ d/f=x"]));
  assert.deepEqual(shapes(cuts(recordingOf([...effects, sync(0)], initial))), new Set(["d/ d/f=x"]));
});

test("a truncation stays or goes, and what it cut off does not come back as data after it stayed", () => {
  const initial = new Map([["f", Buffer.from("abcdef")]]);
  const effects: Effect[] = [{ op: "truncate", inode: 1, size: 2 }, write(1, "X", 5)];
  const seen = shapes(cuts(recordingOf(effects, initial)));
  assert.deepEqual(seen, new Set(["f=abcdef", "f=ab", "f=abcdeX", "f=ab...X", "f=ab...."]));
});

test("a torn write is torn at sectors, and its neighbours are unharmed", () => {
  const initial = new Map([["f", Buffer.alloc(4000, "o")]]);
  const effects = [write(1, "n".repeat(2000), 300)];
  let torn = 0;
  for (const tree of cuts(recordingOf(effects, initial))) {
    const bytes = Buffer.from(tree.get("f") ?? []).toString();
    assert.equal(bytes.length, 4000);
    assert.match(bytes, /^o{300}(o{212}|n{212})((o{512}|n{512}){3})(o{252}|n{252})o{1700}$/);
    if (/on+o+n/.test(bytes)) torn += 1;
  }
  assert.ok(torn > 10);
});

test("the same dice give the same tree, in whatever order cuts are taken; trees given away stay as they are", () => {
  const random = dice(7);
  const effects: Effect[] = [create(1, "a"), create(2, "b"), sync(0)];
  for (let step = 0; step < 200; step += 1) {
    const inode = random() < 0.5 ? 1 : 2;
    effects.push(random() < 0.2 ? sync(inode) : write(inode, `${step}`, Math.floor(random() * 2000)));
  }
  const recording = recordingOf(effects);
  const rising = new Disk(recording);
  const trees = effects.map((_, place) => rising.cut(place, dice(place)).tree);
  const falling = new Disk(recording);
  for (let place = effects.length - 1; place >= 0; place -= 1)
    assert.deepEqual(trees[place], falling.cut(place, dice(place)).tree);
});

test("every style of loss comes up", () => {
  const disk = new Disk(recordingOf([create(1, "a"), write(1, "x")]));
  assert.equal(new Set(Array.from({ length: 400 }, (_, seed) => disk.cut(2, dice(seed)).style)).size, 12);
});
