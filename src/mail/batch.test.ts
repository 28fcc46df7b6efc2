import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { TURN_LETTERS_MAX } from "../limits.ts";
import { DEFAULT_AGENT, mainKey } from "../routing/key.ts";
import type { Provenance } from "../routing/provenance.ts";
import { letterOf } from "../store/contract/samples.ts";
import { entering, isUrgent, modeOf, nextTurn } from "./batch.ts";
import type { Mail, Mode } from "./letter.ts";
import { reportId } from "./task.ts";

const MAIN = mainKey(DEFAULT_AGENT);
const PERSON: Provenance = { kind: "external_user", channel: "test", peer: "somebody" };
const OTHERS: readonly Provenance[] = [
  { kind: "inter_session", source: MAIN, tool: null },
  { kind: "internal_system", cause: "timer" },
];

function mail(id: string, mode: Mode | null, more: Partial<Mail> = {}): Mail {
  return { ...letterOf(id, id), mode, to: MAIN, postedAtMs: 0, ...more };
}

/** s1 is a letter that steers, f2 a followup, c3 is collected, i4 interrupts; `c3@500` was posted at that time. */
function letters(text: string): Mail[] {
  const modes: Readonly<Record<string, Mode>> = { s: "steer", f: "followup", c: "collect", i: "interrupt" };
  return text.split(" ").flatMap((word) => {
    const [id = "", at = "0"] = word.split("@");
    return id === "" ? [] : [mail(id, modes[id[0] ?? ""] ?? null, { postedAtMs: Number(at) })];
  });
}

const at = (nowMs: number) => ({ usual: null, collectMs: 1_000, nowMs });

test("the oldest letter decides what a turn begins with", () => {
  const cases: readonly (readonly [waiting: string, nowMs: number, next: string | number | null])[] = [
    ["", 0, null],
    ["f1", 0, "f1"],
    ["f1 f2 s3 c4", 0, "f1"],
    ["s1", 0, "s1"],
    ["s1 f2 s3 c4 i5", 0, "s1 s3 i5"],
    ["i1 s2 f3 i4", 0, "i1 s2 i4"],
    ["c1", 0, 1_000],
    ["c1", 999, 1],
    ["c1", 1_000, "c1"],
    ["c1 c2@600", 1_000, 600], //                          a new one came: it waits on
    ["c1 c2@600", 1_600, "c1 c2"],
    ["c1 f2 c3@600", 1_600, "c1 c3"],
    ["c1 f2", 500, 500], //                                nobody overtakes by waiting behind
    ["c1 s2", 500, "s2"], //                               but who is in a hurry does not wait
    ["c1 i2 f3 s4", 500, "i2 s4"],
    ["c1 s2", 1_000, "c1"],
    ["c1 c2@9500", 9_600, 400], //                         somebody who never stops writing is answered too
    ["c1 c2@9900", 10_000, "c1 c2"],
  ];
  for (const [waiting, nowMs, expected] of cases) {
    const next = nextTurn(letters(waiting), at(nowMs));
    const shown =
      next === null ? null : "waitMs" in next ? next.waitMs : next.letters.map(({ id }) => id).join(" ");
    assert.equal(shown, expected, `${waiting} at ${nowMs}`);
  }
});

test("a letter is read as its sender said, else as is usual, else as suits who wrote it", () => {
  assert.equal(modeOf(mail("a", "collect"), "steer"), "collect");
  assert.equal(modeOf(mail("a", null, { from: PERSON }), "interrupt"), "interrupt");
  assert.equal(modeOf(mail("a", null, { from: PERSON }), null), "steer");
  for (const from of OTHERS) assert.equal(modeOf(mail("a", null, { from }), null), "followup");
});

test("only letters that steer or interrupt enter a turn, the oldest of them", () => {
  const ids = (of: readonly Mail[]): string[] => of.map(({ id }) => id);
  assert.deepEqual(ids(entering(letters("f1 s2 c3 i4 s5"), null)), ["s2", "i4", "s5"]);
  assert.deepEqual(ids(entering(letters("f1 c2"), null)), []);
  const many = Array.from({ length: TURN_LETTERS_MAX + 5 }, (_, n) => mail(`s${n}`, "steer"));
  assert.deepEqual(entering(many, null), many.slice(0, TURN_LETTERS_MAX));
});

test("reports enter a turn with what is urgent, begin one together, and skip nothing", () => {
  const report = (n: number): Mail => mail(reportId(`task ${n}`), "followup");
  const waiting = [report(1), mail("f1", "followup"), report(2), mail("s1", "steer"), mail("c1", "collect")];
  const [first, , second, urgent] = waiting;
  assert.deepEqual(entering(waiting, null), [first, second, urgent]);
  assert.deepEqual(nextTurn(waiting, at(0)), { letters: [first, second, urgent] });
  assert.deepEqual(nextTurn([mail("f1", "followup"), report(1)], at(0)), {
    letters: [mail("f1", "followup")],
  });
  for (const usual of ["steer", "interrupt", "collect", "followup", null] as const)
    assert.equal(isUrgent(report(1), usual), false);
});

const anyMail = fc.record({
  mode: fc.constantFrom<(Mode | null)[]>("steer", "followup", "collect", "interrupt", null),
  from: fc.constantFrom(PERSON, ...OTHERS),
  afterMs: fc.nat(3_000),
});

const waitingMail = fc.array(anyMail, { maxLength: 250 }).map((many) => {
  let postedAtMs = 0;
  return many.map(({ mode, from, afterMs }, n) =>
    mail(String(n), mode, { from, postedAtMs: (postedAtMs += afterMs) }),
  );
});

const anyUsual = fc.constantFrom<(Mode | null)[]>("steer", "followup", "collect", "interrupt", null);

test("a turn has no more letters than it may, in their order, and never a followup with others or twice the same", () => {
  fc.assert(
    fc.property(waitingMail, anyUsual, fc.nat(5_000), (waiting, usual, laterMs) => {
      const nowMs = (waiting.at(-1)?.postedAtMs ?? 0) + laterMs;
      const next = nextTurn(waiting, { usual, collectMs: 1_000, nowMs });
      if (next === null) return assert.equal(waiting.length, 0);
      if ("waitMs" in next) return assert.ok(next.waitMs > 0 && next.waitMs <= 1_000);
      const chosen = next.letters;
      assert.ok(chosen.length > 0 && chosen.length <= TURN_LETTERS_MAX);
      const places = chosen.map((each) => waiting.indexOf(each));
      assert.deepEqual(
        places,
        [...new Set(places)].toSorted((a, b) => a - b),
      );
      const modes = new Set(chosen.map((each) => modeOf(each, usual)));
      if (modes.has("followup")) assert.equal(chosen.length, 1);
      if (modes.has("collect")) assert.equal(modes.size, 1);
    }),
  );
});

test("no letter is passed over for ever, also when others keep coming", () => {
  fc.assert(
    fc.property(
      waitingMail,
      anyUsual,
      fc.array(anyMail, { minLength: 1, maxLength: 5 }),
      (first, usual, stream) => {
        let nowMs = first.at(-1)?.postedAtMs ?? 0;
        let waiting = first;
        let turns = 0;
        while (waiting.some((each) => first.includes(each))) {
          assert.ok((turns += 1) < 1_000, "it ends");
          const next = nextTurn(waiting, { usual, collectMs: 1_000, nowMs });
          assert.ok(next);
          if ("waitMs" in next) nowMs += next.waitMs;
          else waiting = waiting.filter((each) => !next.letters.includes(each));
          nowMs += 100;
          const { mode, from } = stream[turns % stream.length] ?? { mode: null, from: PERSON };
          waiting = [...waiting, mail(`later ${turns}`, mode, { from, postedAtMs: nowMs })];
        }
      },
    ),
    { numRuns: 50 },
  );
});
