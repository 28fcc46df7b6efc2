import assert from "node:assert/strict";
import { test } from "node:test";
import { named, treeOf, type Folder } from "./tree.ts";

const note = (path: string) => ({ path, bytes: 1, changedAt: "2026-11-16T00:00:00.000Z" });

function lines(folder: Folder, depth = 0): readonly string[] {
  const indent = "  ".repeat(depth);
  return [
    ...folder.notes.map(({ path }) => `${indent}${path}`),
    ...folder.folders.flatMap((each) => [`${indent}${each.name}/`, ...lines(each, depth + 1)]),
  ];
}

test("notes stand in the folders of their paths, MEMORY.md before all, and none is left out", () => {
  const paths = [
    ...["memory/people/bob.md", "memory/z.md", "memory/people/zurich/ann.md"],
    ...["MEMORY.md", "memory/MEMORY.md", "memory/people/ann.md", "memory/people.md", "memory/memory/a.md"],
  ];
  assert.deepEqual(lines(treeOf(paths.map(note))), [
    "MEMORY.md",
    "memory/MEMORY.md",
    "memory/people.md",
    "memory/z.md",
    "memory/",
    "  memory/memory/a.md",
    "people/",
    "  memory/people/ann.md",
    "  memory/people/bob.md",
    "  zurich/",
    "    memory/people/zurich/ann.md",
  ]);
});

test("names that objects have of themselves are folders like all others", () => {
  const tree = treeOf([note("memory/__proto__/a.md"), note("memory/constructor/b.md")]);
  assert.deepEqual(
    tree.folders.map(({ path }) => path),
    ["__proto__/", "constructor/"],
  );
});

test("a filter wants all its words, in any case and order", () => {
  const notes = [note("memory/people/Ann.md"), note("memory/people/bob.md")];
  assert.deepEqual(named(notes, "ann peo"), [notes[0]]);
  assert.deepEqual(named(notes, " "), notes);
  assert.deepEqual(named(notes, "(.*)"), []);
});
