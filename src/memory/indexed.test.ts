// Words in notes: which are found, how fresh, and whose.

import assert from "node:assert/strict";
import { renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { Desk } from "../../test/fixtures/desk.ts";
import { scratch } from "../../test/fixtures/home.ts";
import { fault } from "../../test/sessions/stage.ts";
import { RealWorld } from "../base/world.ts";
import { NOTE_WORDS_MAX, SNIPPET_WITHIN_CHARS } from "../limits.ts";
import { NoteIndexes } from "./indexes.ts";
import { snippetOf } from "./snippet.ts";

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
          (await desk.memory.search(workspace, { text, limit: 9 }, new AbortController().signal)).hits.length;
        assert.deepEqual(
          [await count("common"), await count(`own${at}x`), await count(`own${at + 1}x`)],
          [1, 1, 0],
          String(round),
        );
      }
  });

  test("does not find a note by what all are called", async (t) => {
    const desk = new Desk(t);
    for (const name of ["tea", "people/ann", "plan"]) desk.put(`memory/${name}.md`, "nothing of it\n");
    desk.put("MEMORY.md", "nothing of it\n");
    assert.deepEqual(await desk.found("md"), []);
    assert.deepEqual(await desk.found("memory"), ["MEMORY.md"]);
    assert.deepEqual(await desk.found("memory leak"), []);
    assert.deepEqual(await desk.found("ann people"), ["memory/people/ann.md"]);
  });

  test("says that there are more hits than were asked for", async (t) => {
    const desk = new Desk(t);
    for (let at = 0; at < 21; at += 1) desk.put(`memory/${at}.md`, at < 20 ? "tea and milk" : "tea");
    const [tea, milk] = [await desk.search("tea"), await desk.search("milk")];
    assert.deepEqual([tea.hits.length, tea.more, milk.hits.length, milk.more], [20, true, 20, false]);
  });

  test("has a bound of different words, and reads a long note once, and not all of it, however many they are", async (t) => {
    const desk = new Desk(t);
    const words = Array.from({ length: NOTE_WORDS_MAX + 1 }, (_, at) => `word${at}x`);
    desk.put("memory/a.md", words.join(" "));
    assert.deepEqual(await desk.found(`${words.slice(1).join(" ")} `.repeat(2)), ["memory/a.md"]);
    await assert.rejects(desk.search(words.join(" ")), fault("bad_input", /33 different words.*may have 32/));
    let folded = 0;
    const { normalize } = String.prototype;
    t.mock.method(String.prototype, "normalize", function counted(this: string, form: string) {
      folded += this.length;
      return normalize.call(this, form);
    });
    const letters = "a b c d e f g h i j k l m n o p q r s t u v w x y z";
    for (const text of [`${"é".repeat(100_000)} ${letters}`, `${"a\n".repeat(120_000)}${letters}`]) {
      folded = 0;
      assert.match(snippetOf(text, `${letters} `.repeat(15)).snippet, /^…|^a/);
      assert.ok(folded <= 3 * SNIPPET_WITHIN_CHARS, String(folded));
    }
  });

  test("that nobody waits for any more is given up at once, and the next is answered", async (t) => {
    const desk = new Desk(t);
    for (let at = 0; at < 200; at += 1) desk.put(`memory/${at}.md`, "tea ".repeat(1_000));
    const given = new AbortController();
    const order: string[] = [];
    const ask = async (name: string, signal: AbortSignal): Promise<void> => {
      await desk.memory.search(desk.workspace, { text: "tea", limit: 1 }, signal).catch((error: unknown) => {
        assert.equal(error, given.signal.reason);
      });
      order.push(name);
    };
    const never = new AbortController().signal;
    const all = [ask("first", never), ask("given up", given.signal), ask("last", never)];
    given.abort(new Error("gone"));
    await Promise.all(all);
    assert.deepEqual(order, ["given up", "first", "last"]);
    await assert.rejects(desk.memory.search(desk.workspace, { text: "tea", limit: 1 }, given.signal), /gone/);
  });

  test("whose thread dies is told so, and the next one starts another", async (t) => {
    const desk = new Desk(t);
    desk.put("MEMORY.md", "tea");
    assert.deepEqual(await desk.found("tea"), ["MEMORY.md"]);
    // No number of hits that SQLite takes: our bug, if anybody asked so.
    const never = new AbortController().signal;
    const broken = desk.memory.search(desk.workspace, { text: "tea", limit: 0.5 }, never);
    const died = fault("bug", /the notes thread died/);
    await Promise.all([assert.rejects(broken, died), assert.rejects(desk.search("tea"), died)]);
    assert.deepEqual(await desk.found("tea"), ["MEMORY.md"]);
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

test("indexes of several agents have room for so many bytes: the one not asked for longest goes", async (t) => {
  const indexes = new NoteIndexes(new RealWorld(), 100);
  const [a = "", b = "", c = "", huge = ""] = [40, 50, 30, 200].map((bytes) => {
    const desk = new Desk(t);
    desk.put("MEMORY.md", `tea ${"x".repeat(bytes - 4)}`);
    return desk.workspace;
  });
  const ask = async (workspace: string): Promise<readonly string[]> => {
    const question = { text: "tea", limit: 1 };
    const { hits } = await indexes.answer(workspace, question, new AbortController().signal);
    assert.equal(hits.length, 1);
    return indexes.held;
  };
  assert.deepEqual([await ask(a), await ask(b), await ask(a)], [[a], [a, b], [b, a]]);
  assert.deepEqual(await ask(c), [a, c]);
  assert.deepEqual(await ask(huge), [huge]);
  assert.deepEqual(await ask(b), [b]);
});
