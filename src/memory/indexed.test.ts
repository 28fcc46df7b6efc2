// Words in notes: which are found, how fresh, and whose.

import assert from "node:assert/strict";
import { renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { Desk } from "../../test/fixtures/desk.ts";
import { scratch } from "../../test/fixtures/home.ts";
import { fault } from "../../test/sessions/stage.ts";

describe("a search in notes", () => {
  test("finds words in any order and case, the last by its beginning, in names too, the best first", async (t) => {
    const desk = new Desk(t);
    await desk.append("memory/people/ann.md", "# Ann\n\nShe likes green tea,\nand no coffee.");
    await desk.append("memory/tea.md", "How it is made.");
    await desk.append("MEMORY.md", "Café crème");
    assert.deepEqual(await desk.found("TEA green"), ["memory/people/ann.md"]);
    assert.deepEqual(await desk.found("tea"), ["memory/tea.md", "memory/people/ann.md"]);
    assert.deepEqual(await desk.found("gre"), ["memory/people/ann.md"]);
    assert.deepEqual(await desk.found("gre tea"), [], "only the last may be a beginning");
    assert.deepEqual(await desk.found("creme cafe"), ["MEMORY.md"]);
    const { hits } = await desk.search("coffee");
    assert.deepEqual([hits[0]?.line, hits[0]?.snippet], [4, "and no coffee."]);
    for (const odd of ["", '"', "*", "a AND", "NEAR(a b)", "\0", "'; DROP", "path:tea -x", "x ".repeat(400)])
      assert.ok((await desk.found(odd)).length <= 3, odd);
  });

  test("shows the line that has most of the words, and what follows, however long the note is", async (t) => {
    const desk = new Desk(t);
    const filler = "the filler of the note, the rest of the words\n".repeat(5_000);
    await desk.append("memory/long.md", `${filler}# Château\n\nThe needle of the chateau.\nAnd the end.`);
    const shown = async (text: string): Promise<unknown> => {
      const [hit] = (await desk.search(text)).hits;
      return [hit?.line, hit?.snippet];
    };
    assert.deepEqual(await shown("the need"), [5_003, "The needle of the chateau.\nAnd the end."]);
    assert.deepEqual(await shown("chateau"), [
      5_001,
      "# Château\n\nThe needle of the chateau.\nAnd the end.",
    ]);
    assert.deepEqual(await shown("long"), [1, `${filler.slice(0, 46 * 6).trimEnd()}…`], "it is in the name");
    await desk.append("memory/wide.md", `${"x ".repeat(5_000)}é haystack${" y".repeat(5_000)}`);
    const [, wide] = (await shown("haystack")) as [number, string];
    assert.match(wide, /^… ?(?:x )+é haystack(?: y)+…$/);
    assert.ok(wide.length < 310);
  });

  test("finds what was written before it, by whomever, and nothing that is gone", async (t) => {
    const desk = new Desk(t);
    const words = [..."abcdefghijklmnopqrst"].map((letter) => `word${letter}`);
    for (const [at, word] of words.entries()) {
      desk.put("memory/a.md", word); // always as long, and most times within a tick of the clock
      assert.deepEqual(await desk.found(word), ["memory/a.md"], word);
      assert.deepEqual(await desk.found(words[at - 1] ?? "none"), []);
    }
    await desk.append("memory/b.md", "fresh");
    assert.deepEqual(await desk.found("fresh"), ["memory/b.md"]);
    renameSync(join(desk.workspace, "memory/b.md"), join(desk.workspace, "memory/c.md"));
    assert.deepEqual(await desk.found("fresh"), ["memory/c.md"]);
    rmSync(join(desk.workspace, "memory"), { recursive: true });
    assert.deepEqual(await desk.found("fresh"), []);
  });

  test("of one agent finds nothing of another's, however many there are", async (t) => {
    const desk = new Desk(t);
    const folders = Array.from({ length: 20 }, (_, at) => join(scratch(t), String(at)));
    for (const [at, workspace] of folders.entries()) {
      const writing = { path: "MEMORY.md", mode: "append", cause: "x", text: `common own${at}x` } as const;
      await desk.memory.write(workspace, writing, AbortSignal.timeout(60_000));
    }
    for (const round of [1, 2])
      for (const [at, workspace] of folders.entries()) {
        const count = async (text: string): Promise<number> =>
          (await desk.memory.search(workspace, { text, limit: 9 })).hits.length;
        assert.deepEqual(
          [await count("common"), await count(`own${at}x`), await count(`own${at + 1}x`)],
          [1, 1, 0],
          String(round),
        );
      }
  });

  test("is refused once the memory is closed, and one that waits is told", async (t) => {
    const desk = new Desk(t);
    await desk.append("MEMORY.md", "x");
    const waiting = assert.rejects(desk.search("x"), fault("closed", /memory is closed/));
    await desk.memory.close();
    await waiting;
    await assert.rejects(desk.search("x"), fault("closed", /memory is closed/));
  });
});
