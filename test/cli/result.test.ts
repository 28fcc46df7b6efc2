// `sessiond result`, as a shell sees it: all of what an entry keeps, and what is found in it.

import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import type { Entry, Output } from "../../src/index.ts";
import { Daemon } from "../gateway/daemon.ts";
import { ran, type Ran } from "./stage.ts";

const MAIN = "agent:main:main";
const KEY = `sk-${"Ab1".repeat(14)}`;
const LINES = Array.from({ length: 12_000 }, (_, at) => `line ${at} — größer als vorher, und das ist viel`);

interface Said {
  readonly run: (...words: readonly string[]) => Promise<Ran>;
  readonly ref: string;
}

/** A daemon with a message that was too long for its entry. */
async function said(t: TestContext, text: string): Promise<Said> {
  const daemon = await Daemon.start(t);
  await daemon.call("ask", { sessionKey: MAIN, message: text });
  const { entries } = await daemon.call("entries", { sessionKey: MAIN });
  const entry = (entries as unknown as readonly Entry[]).find(
    (each) => each.type === "message" && each.message.role === "user",
  );
  return { run: (...words) => ran(t, daemon, "result", "main", ...words), ref: entry?.id ?? "" };
}

test("a result is written page by page, whole with --all, and says how to go on", async (t) => {
  const text = LINES.join("\n");
  const { run, ref } = await said(t, text);
  const all = await run(ref, "--all");
  assert.deepEqual([all.exit, all.err], [0, ""]);
  assert.ok(all.out === text, "byte for byte");
  const first = await run(ref);
  const next = Number(/go on with --from (\d+)/.exec(first.err)?.[1]);
  assert.equal(Buffer.byteLength(first.out), next);
  assert.ok(text.startsWith(first.out));
  const rest = await run(ref, "--from", String(next), "--all");
  assert.ok(first.out + rest.out === text);
  const documents = (await run(ref, "--all", "--json")).out.trimEnd().split("\n");
  const pages = documents.map((line) => JSON.parse(line) as Output<"result">);
  assert.ok(pages.length > 1 && pages.map((page) => page.text).join("") === text);
});

test("a text is found with its lines, and what is not there is exit 1", async (t) => {
  const { run, ref } = await said(t, [...LINES, `the key ${KEY} here`].join("\n"));
  const found = await run(ref, "--grep", "LINE 777 ", "-i", "-C", "1");
  assert.deepEqual([found.exit, found.err], [0, ""]);
  assert.equal(found.out, `777- ${LINES[776]}\n778: ${LINES[777]}\n779- ${LINES[778]}\n`);
  const some = await run(ref, "--grep", "line", "-n", "3");
  assert.match(some.err, /^\(3 matches shown; go on with --from \d+, or say --all\)\n$/);
  assert.equal(some.out.split("\n").length, 4);
  const every = await run(ref, "--grep", "line 11", "--all");
  assert.equal(
    every.out.trimEnd().split("\n").length,
    LINES.filter((line) => line.includes("line 11")).length,
  );
  const secret = await run(ref, "--grep", "the key");
  assert.match(secret.out, /the key \[redacted: key\] here/);
  for (const nothing of ["unheard of", KEY]) {
    const none = await run(ref, "--grep", nothing);
    assert.deepEqual([none.exit, none.out, none.err], [1, "", "nothing found\n"]);
  }
});

test("what is no ref, or no number, is refused with the exit code of its fault", async (t) => {
  const { run, ref } = await said(t, "short");
  for (const [words, exit, why] of [
    [["a/../b"], 66, /has no entry "a\/..\/b"/],
    [["f".repeat(64)], 66, /names a blob/],
    [[ref, "--from", "-1"], 64, /--from takes a number/],
    [[ref, "--grep", ""], 64, /grep/],
    [[ref, "--grep", "x", "--context", "many"], 64, /--context takes a number/],
    [[], 64, /ref/],
  ] as const) {
    const ended = await run(...words);
    assert.equal(ended.exit, exit, words.join(" "));
    assert.match(ended.err, why);
  }
  assert.equal((await run(ref, "--from", "999")).out, "");
});
