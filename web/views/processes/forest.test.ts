import assert from "node:assert/strict";
import { test } from "node:test";
import { Forest, type Leaf } from "./forest.ts";

let born = 0;

/** Each is younger than the one before. */
function leaf(sessionKey: string, parent: string | null = null, state = "idle"): Leaf {
  born += 1;
  const kind = sessionKey.startsWith("main") ? "main" : "subagent";
  const outcome = state === "ended" ? "done" : null;
  return { sessionKey, parent, state, outcome, kind, bornAt: new Date(born).toISOString() };
}

function planted(leaves: readonly Leaf[], foldsEnded = true): Forest<Leaf> {
  const forest = new Forest<Leaf>({ foldsEnded });
  for (const each of leaves) forest.put(each, "end");
  return forest;
}

/** Every line by its key, two blanks for each step down; of a fold, how many. */
function drawn(forest: Forest<Leaf>): string[] {
  return forest.lines().map((line) => {
    const words =
      line.type === "row"
        ? line.key
        : `${line.count} ended${line.failed > 0 ? `, ${line.failed} failed` : ""}`;
    return `${"  ".repeat(line.depth)}${words}`;
  });
}

test("main sessions come first, children stand below their parents", () => {
  const forest = planted([
    leaf("b"),
    leaf("main"),
    leaf("b1", "b"),
    leaf("m1", "main"),
    leaf("b2", "b"),
    leaf("b11", "b1"),
  ]);
  assert.deepEqual(drawn(forest), ["main", "  m1", "b", "  b1", "    b11", "  b2"]);
});

test("children stand as they were born, whether they were listed or told of, and those of one moment as they came", () => {
  const [main, one, two, three] = [
    leaf("main"),
    leaf("one", "main"),
    leaf("two", "main"),
    leaf("three", "main"),
  ];
  const forest = planted([main, three, one]); // A list has what changed last first.
  forest.put(two, "top");
  assert.deepEqual(drawn(forest), ["main", "  one", "  two", "  three"]);
  forest.drop("three");
  assert.deepEqual(drawn(forest), ["main", "  one", "  two"]);
  forest.put(three, "end");
  const { bornAt } = leaf("same");
  const same = (key: string): Leaf => ({ ...leaf(key, "main"), bornAt });
  for (const key of ["b", "a"]) forest.put(same(key), "end");
  for (const key of ["c", "d"]) forest.put(same(key), "top");
  assert.deepEqual(drawn(forest).slice(3), ["  three", "  a", "  b", "  c", "  d"]);
});

test("a line is known for as long as what it is of is there, also where it is folded away", () => {
  const forest = planted([leaf("main"), leaf("done", "main", "ended")]);
  const fold = forest.lines()[1]?.key ?? "";
  assert.deepEqual([forest.at("done"), forest.has("done"), forest.has(fold)], [null, true, true]);
  forest.drop("main");
  assert.deepEqual([forest.has("main"), forest.has(fold), forest.has("done")], [false, false, true]);
});

test("a fold says how many of those in it failed; who was stopped has not", () => {
  const ended = (key: string, outcome: string): Leaf => ({ ...leaf(key, "main", "ended"), outcome });
  const names = ["done", "failed", "timeout", "limit", "interrupted", "killed"];
  const forest = planted([leaf("main"), ...names.map((each) => ended(each, each))]);
  assert.deepEqual(drawn(forest), ["main", "  6 ended, 4 failed"]);
  forest.put(ended("failed", "done"), "top"); // It was brought back, and is done now.
  assert.deepEqual(drawn(forest), ["main", "  6 ended, 3 failed"]);
});

test("what happens comes in at the top below the mains; what is listed comes at the end", () => {
  const forest = planted([leaf("main"), leaf("old")]);
  forest.put(leaf("new"), "top");
  forest.put(leaf("newer"), "top");
  forest.put(leaf("older"), "end");
  assert.deepEqual(drawn(forest), ["main", "newer", "new", "old", "older"]);
});

test("a row that changes stays where it is, and no line is made anew", () => {
  const forest = planted([leaf("main"), leaf("a"), leaf("b"), leaf("c", "a")]);
  const before = forest.lines();
  forest.put(leaf("b", null, "running"), "top");
  forest.put(leaf("c", "a", "waiting"), "top");
  assert.equal(forest.lines(), before, "the very same lines");
  assert.equal(forest.branch("b")?.row.state, "running");
  assert.deepEqual([forest.count("running"), forest.count("waiting"), forest.count("idle")], [1, 1, 2]);
});

test("roots that are listed after all others are added to the lines that there are", () => {
  const forest = planted([leaf("main"), leaf("a"), leaf("lost", "parent")]);
  const before = forest.lines();
  forest.put(leaf("b"), "end");
  forest.put(leaf("c", null, "ended"), "end");
  assert.equal(forest.lines(), before);
  assert.deepEqual(drawn(forest), ["main", "a", "lost", "b", "c"]);
  assert.equal(forest.at("c"), 4);
  forest.put(leaf("parent"), "end");
  assert.deepEqual(drawn(forest), ["main", "a", "b", "c", "parent", "  lost"]);
});

test("a parent that comes later takes its children, also over several steps", () => {
  const forest = planted([leaf("c", "b"), leaf("x"), leaf("a")]);
  assert.deepEqual(drawn(forest), ["c", "x", "a"]);
  assert.equal(forest.branch("c")?.above, null);
  forest.put(leaf("b", "a"), "end");
  assert.deepEqual(drawn(forest), ["x", "a", "  b", "    c"]);
});

test("whoever names itself or its own child as its parent is a root, and nothing goes round", () => {
  const forest = planted([leaf("self", "self"), leaf("a", "b"), leaf("b", "a")]);
  assert.deepEqual(drawn(forest), ["self", "a", "  b"]);
  forest.put(leaf("b", "a", "ended"), "end");
  forest.drop("a");
  assert.deepEqual(drawn(forest), ["self", "b"]);
});

test("children that had ended are one line, which can be opened; a root that has ended is a line of its own", () => {
  const forest = planted([
    leaf("main"),
    leaf("e1", "main", "ended"),
    leaf("r", "main", "running"),
    leaf("e2", "main", "ended"),
    leaf("old", null, "ended"),
  ]);
  assert.deepEqual(drawn(forest), ["main", "  r", "  2 ended", "old"]);
  const fold = forest.lines()[2]?.key ?? "";
  forest.open(fold, true);
  assert.deepEqual(drawn(forest), ["main", "  r", "  2 ended", "    e1", "    e2", "old"]);
  assert.equal(forest.at(fold), 2);
  assert.equal(forest.at("e2"), 4);
  forest.open(fold, false);
  assert.equal(forest.at("e2"), null);
});

test("who asked for certain rows is shown all of them", () => {
  const forest = planted([leaf("main"), leaf("e1", "main", "ended")], false);
  assert.deepEqual(drawn(forest), ["main", "  e1"]);
});

test("a child that ends while it is shown stays there, and one that goes on comes out of the fold", () => {
  const forest = planted([leaf("main"), leaf("a", "main", "running"), leaf("b", "main", "ended")]);
  const before = forest.lines();
  assert.deepEqual(drawn(forest), ["main", "  a", "  1 ended"]);
  forest.put(leaf("a", "main", "ended"), "top");
  assert.equal(forest.lines(), before);
  forest.put(leaf("b", "main", "running"), "top");
  assert.deepEqual(drawn(forest), ["main", "  a", "  b"]);
});

test("of many children that end in front of somebody the first are folded away, a screen of them stays", () => {
  const names = Array.from({ length: 50 }, (_, at) => `c${at}`);
  const forest = planted([leaf("main"), ...names.map((name) => leaf(name, "main", "running"))]);
  assert.equal(forest.lines().length, 51);
  for (const name of names) forest.put(leaf(name, "main", "ended"), "top");
  assert.equal(drawn(forest).at(1), "  c30");
  assert.equal(drawn(forest).at(-1), "  30 ended");
  assert.equal(forest.lines().length, 22);
});

test("who has ended above somebody who lives is not folded away, and stays when that one ends", () => {
  const forest = planted([
    leaf("main"),
    leaf("over", "main", "ended"),
    leaf("at work", "over", "running"),
    leaf("gone", "main", "ended"),
  ]);
  assert.deepEqual(drawn(forest), ["main", "  over", "    at work", "  1 ended"]);
  forest.put(leaf("at work", "over", "ended"), "top");
  assert.deepEqual(drawn(forest), ["main", "  over", "    at work", "  1 ended"]);
});

test("a branch can be closed, and counts nothing less", () => {
  const forest = planted([leaf("main"), leaf("a", "main", "running"), leaf("b")]);
  forest.open("main", false);
  assert.deepEqual(drawn(forest), ["main", "b"]);
  assert.equal(forest.size, 3);
  assert.equal(forest.count("running"), 1);
  assert.equal(forest.at("a"), null);
});

test("whoever is gone leaves its children as roots, and its parent's count", () => {
  const forest = planted([leaf("main"), leaf("a", "main", "running"), leaf("a1", "a"), leaf("b")]);
  forest.drop("a");
  forest.drop("never there");
  assert.deepEqual(drawn(forest), ["main", "b", "a1"]);
  assert.equal(forest.count("running"), 0);
  forest.put(leaf("a", "main"), "top");
  assert.deepEqual(drawn(forest), ["main", "  a", "    a1", "b"]);
});

test("a hundred thousand rows are planted, shown, changed and dropped; lines are made once for many changes", () => {
  const forest = new Forest<Leaf>({ foldsEnded: true });
  const made = new Set<unknown>();
  for (let at = 0; at < 100_000; at += 1) {
    const parent = at % 3 === 0 ? null : `s${at - (at % 3)}`;
    forest.put(leaf(`s${at}`, parent), "end");
    if (at % 10_000 === 9_999) made.add(forest.lines());
  }
  assert.equal(forest.lines().length, 100_000);
  assert.equal(forest.lines()[99_999]?.key, "s99999");
  assert.equal(forest.at("s50000"), 50_000);
  for (let at = 0; at < 100_000; at += 1) {
    forest.put(leaf(`s${at}`, at % 3 === 0 ? null : `s${at - (at % 3)}`, "running"), "top");
    made.add(forest.lines());
  }
  assert.equal(made.size, 10);
  assert.equal(forest.count("running"), 100_000);
  for (let at = 0; at < 100_000; at += 2) forest.drop(`s${at}`);
  assert.equal(forest.lines().length, 50_000);
});
