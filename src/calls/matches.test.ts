import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { RESULT_BESIDE_BYTES_MAX, RESULT_LINE_BYTES_MAX, RESULT_RANGE_BYTES } from "./limits.ts";
import { matchesIn, type Long, type Match, type Wanted } from "./matches.ts";

const KEY = `sk-${"Ab1".repeat(14)}`;

function long(content: string | Buffer, isRedacted = false): Long {
  const bytes = Buffer.from(content as string);
  return { total: bytes.length, isRedacted, read: async (from, to) => bytes.subarray(from, to) };
}

function wanting(grep: string, more: Partial<Wanted> = {}): Wanted {
  return { grep, ignoreCase: false, from: 0, context: 0, limit: 20, bytes: 100_000, ...more };
}

/** All pages, each from where the one before says. */
async function all(of: Long, wanted: Wanted): Promise<Match[]> {
  const found: Match[] = [];
  for (let from: number | null = 0; from !== null;) {
    const page = await matchesIn(of, { ...wanted, from });
    assert.ok(page.next === null || page.next > from, "it goes on");
    assert.ok(page.matches.length <= wanted.limit);
    found.push(...page.matches);
    from = page.next;
  }
  return found;
}

test("the lines that have a text are told once, with their numbers, places and neighbours, however they are paged", async () => {
  const line = fc.string({ unit: fc.constantFrom("a", "b", "A", "ä", "Ä", "€", "😀", "\r"), maxLength: 6 });
  await fc.assert(
    fc.asyncProperty(
      fc.array(line, { minLength: 1, maxLength: 30 }),
      fc.string({ unit: fc.constantFrom("a", "b", "ä", "😀"), minLength: 1, maxLength: 3 }),
      fc.boolean(),
      fc.integer({ min: 0, max: 3 }),
      fc.integer({ min: 1, max: 4 }),
      async (lines, grep, ignoreCase, context, limit) => {
        const text = lines.join("\n");
        const found = await all(long(text), wanting(grep, { ignoreCase, context, limit }));
        const folded = (each: string): string => (ignoreCase ? each.toLowerCase() : each);
        let at = 0;
        const wanted = lines.flatMap((each, index) => {
          const place = folded(each).indexOf(folded(grep));
          const begin = at;
          at += Buffer.byteLength(each) + 1;
          if (place < 0) return [];
          const last = text.endsWith("\n") ? lines.length - 1 : lines.length; // after the last newline is no line
          return [
            {
              line: index + 1,
              at: begin + Buffer.byteLength(each.slice(0, place)),
              text: each,
              before: lines.slice(Math.max(0, index - context), index),
              after: lines.slice(index + 1, Math.min(last, index + 1 + context)),
            },
          ];
        });
        assert.deepEqual(found, wanted);
      },
    ),
    { numRuns: 300 },
  );
});

test("a match is found wherever it stands over the edge of a range, in any case", async () => {
  for (const [grep, there] of [
    ["needle", "NEEDLE"],
    ["nädel😀", "NÄDEL😀"],
  ] as const)
    for (let before = RESULT_RANGE_BYTES - 14; before <= RESULT_RANGE_BYTES + 2; before += 1) {
      const lines = "x\n".repeat(before / 2) + "y".repeat(before % 2);
      const { matches, next } = await matchesIn(
        long(`${lines}${there}\nend`),
        wanting(grep, { ignoreCase: true }),
      );
      assert.deepEqual(
        matches.map(({ at, line, text }) => [at, line, text]),
        [[before, Math.floor(before / 2) + 1, `${"y".repeat(before % 2)}${there}`]],
      );
      assert.equal(next, null);
      assert.deepEqual((await matchesIn(long(`${lines}${there}`), wanting(grep))).matches, []);
    }
});

test("a long line is told in pieces around its matches, and lines beside one are cut", async () => {
  const filler = "é".repeat(50_000);
  const text = `first ${"ü".repeat(1_000)}\n${filler}here${filler}here\nlast`;
  const found = await all(long(text), wanting("here", { context: 1 }));
  assert.equal(found.length, 2);
  for (const { line, text: shown, at } of found) {
    assert.equal(line, 2);
    assert.match(shown, /^…é+here/);
    assert.ok(Buffer.byteLength(shown) <= RESULT_LINE_BYTES_MAX + 6 && !shown.includes("\ufffd"));
    assert.equal(Buffer.from(text).toString("utf8", at, at + 4), "here");
  }
  assert.deepEqual([found[1]?.before, found[1]?.after], [[], ["last"]], "the beginning is out of reach");
  const [beside] = await all(long(`${"ü".repeat(1_000)}\nhere`), wanting("here", { context: 1 }));
  assert.ok(Buffer.byteLength(beside?.before[0] ?? "") <= RESULT_BESIDE_BYTES_MAX + 3);
  assert.match(beside?.before[0] ?? "", /^ü+…$/);
});

test("an answer is bounded in bytes, and has the first match even if its neighbours do not fit", async () => {
  const text = Array.from({ length: 50 }, (_, at) => `${"\u0001".repeat(100)} match ${at}`).join("\n");
  const found = await all(long(text), wanting("match", { bytes: 1_500, context: 5 }));
  assert.deepEqual(
    found.map(({ line }) => line),
    Array.from({ length: 50 }, (_, at) => at + 1),
  );
  const page = await matchesIn(long(text), wanting("match", { bytes: 1_500, context: 5 }));
  assert.ok(Buffer.byteLength(JSON.stringify(page.matches)) <= 1_502 && page.matches.length > 0);
});

test("what is in a secret is not found, so nobody can guess one piece by piece; what is beside it is shown without it", async () => {
  const text = `a line\nthe key ${KEY} is here\npassword=hunter2hunter2 here`;
  assert.equal((await all(long(text), wanting("Ab1A"))).length, 1);
  for (const grep of [KEY, "sk-Ab1", "Ab1A", "hunter2", "y sk-"])
    for (const ignoreCase of [true, false])
      assert.deepEqual(await all(long(text, true), wanting(grep, { ignoreCase })), [], grep);
  const found = await all(long(text, true), wanting("here", { context: 1 }));
  assert.deepEqual(
    found.map(({ text: shown }) => shown),
    ["the key [redacted: key] is here", "password=[redacted] here"],
  );
  assert.ok(!JSON.stringify(found).includes("hunter2"));
});

test("the answer to a right guess at a secret is that to a wrong one, however often it stands there", async () => {
  const token = "Zk81xQpL0vNn4TyR";
  const lines = Array.from({ length: 600 }, (_, at) => `GET /v1/${at} Authorization: Bearer ${token}`);
  const log = long(`${lines.join("\n")}\nin the open`, true);
  for (const ignoreCase of [true, false])
    for (let known = 0; known < token.length; known += 1)
      for (const before of ["Bearer ", "r ", ""]) {
        const ask = (guess: string): ReturnType<typeof matchesIn> =>
          matchesIn(log, wanting(`${before}${token.slice(0, known)}${guess}`, { ignoreCase }));
        const answer = await ask("~");
        assert.deepEqual(answer, { matches: [], next: null });
        const right = token.charAt(known);
        if (before !== "" || known > 2) assert.deepEqual(await ask(right), answer, right);
      }
  const found = await all(log, wanting("in the open"));
  assert.deepEqual(
    found.map(({ line }) => line),
    [601],
  );
});

test("what is looked through for who is not shown secrets does not depend on what is in them", async () => {
  const open = "x ".repeat(RESULT_RANGE_BYTES / 2);
  for (const [secret, other] of [
    ["hunter2hunter2", "abcdef12345678"],
    ["é".repeat(20), "ü".repeat(20)],
  ] as const) {
    const text = (of: string): string => `${open}password=${of} here\n${open}\u00e9 here`;
    const [one, two] = [long(text(secret), true), long(text(other), true)];
    for (const grep of [secret, secret.slice(0, 3), "é", "here", "h"])
      for (const ignoreCase of [true, false])
        assert.deepEqual(
          await matchesIn(one, wanting(grep, { ignoreCase })),
          await matchesIn(two, wanting(grep, { ignoreCase })),
          grep,
        );
  }
});

test("bytes that are no text hide nothing but themselves", async () => {
  const bytes = Buffer.concat([
    Buffer.from("ÄRGER here\n"),
    Buffer.from([0xff]),
    Buffer.from("\nfine, and Ärger "),
    Buffer.from([0xe2, 0x82]),
    Buffer.from(" ärger\nend"),
  ]);
  for (const isRedacted of [true, false]) {
    const found = await all(long(bytes, isRedacted), wanting("ärger", { ignoreCase: true }));
    assert.deepEqual(
      found.map(({ line, at, text }) => [line, at, text]),
      [
        [1, 0, "ÄRGER here"],
        [3, 24, "fine, and Ärger \ufffd ärger"],
      ],
    );
  }
  const [second] = await all(long(bytes), wanting("ärger"));
  assert.equal(second?.at, bytes.indexOf("ärger"));
});

test("what is no text is said to be none", async () => {
  const bytes = Buffer.concat([
    Buffer.from("text here\n"),
    Buffer.from([0xff, 0x80, 0x80, 0x80, 0x80]),
    Buffer.from("here"),
  ]);
  const found = await all(long(bytes), wanting("here"));
  assert.deepEqual(
    found.map(({ line, text }) => [line, text]),
    [
      [1, "text here"],
      [2, "[9 bytes that are not text]"],
    ],
  );
  assert.deepEqual(await all(long(bytes), wanting("hëre", { ignoreCase: true })), []);
});
