// What docs/calls.md tells is what the tables say.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { PUBLISHED, publishedText } from "./publish.ts";
import { streams } from "./streams.ts";
import { calls } from "./table.ts";

test("docs/calls.md is the tables of today", () => {
  const same = readFileSync(PUBLISHED, "utf8") === publishedText();
  assert.ok(same, "write it again: node src/calls/publish.ts");
});

test("every call and every stream has a section of its own, with its place", () => {
  const page = publishedText();
  for (const [name, { http }] of [...Object.entries(calls), ...Object.entries(streams)]) {
    const section = page.split(`\n### ${name}\n`)[1]?.split("\n### ")[0] ?? "";
    assert.ok(section.includes(http === null ? "for agents only" : `\`${http}\``), name);
  }
});

test("what is said of a call is whole sentences, and no word is missing between two", () => {
  for (const [name, { about }] of [...Object.entries(calls), ...Object.entries(streams)]) {
    assert.match(about, /^[A-Z].*[.?]$/s, name);
    assert.doesNotMatch(about, / {2}/, name);
  }
});

test("no two calls have the same place, and every name in a path is a property of the input", () => {
  const places = [...Object.values(calls), ...Object.values(streams)].flatMap(({ http, input }) => {
    if (http === null) return [];
    for (const [, name = ""] of http.matchAll(/:(\w+)/g)) assert.ok(Object.hasOwn(input.shape, name), http);
    return [http.replaceAll(/:\w+/g, ":")];
  });
  assert.deepEqual(places.toSorted(), [...new Set(places)].toSorted());
});
