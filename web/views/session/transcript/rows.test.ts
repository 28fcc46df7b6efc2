import assert from "node:assert/strict";
import { test } from "node:test";
import type { Block, Body, Entry } from "../../../../src/transcript/entry.ts";
import { leftBy, rowsOf, type Row } from "./rows.ts";
import type { Line } from "./window.ts";

const USAGE = { input: 1, output: 1, cacheRead: 0, cacheWrite: 0 };

function entries(...bodies: readonly Body[]): Entry[] {
  return bodies.map((body, at) => ({
    ...body,
    id: `e${at + 1}`,
    parentId: at === 0 ? null : `e${at}`,
    seq: at + 1,
    timestamp: new Date(Date.UTC(2026, 0, 2, 12, 0, at)).toISOString(),
  }));
}

function answer(...calls: readonly string[]): Body {
  const content = calls.map((id): Block => ({ type: "toolCall", id, name: "read", arguments: {} }));
  const by = { api: "a", provider: "p", model: "m", usage: USAGE, stopReason: "stop", timestamp: 0 };
  return { type: "message", message: { role: "assistant", content, ...by } };
}

function result(id: string, isError = false, details?: unknown): Body {
  const of = { role: "toolResult", toolCallId: id, toolName: "sessions_spawn", isError } as const;
  return { type: "message", message: { ...of, content: [], details, timestamp: 0 } };
}

function note(customType: string, data: object = {}): Body {
  return { type: "custom", customType, data };
}

function rows(lines: readonly Line[], isAtEnd = true, restarts: readonly number[] = []): Row[] {
  return rowsOf(lines, { isAtEnd, restarts }).filter(({ kind }) => kind !== "day");
}

function callsIn(row: Row | undefined): readonly unknown[] {
  return row?.kind === "answer"
    ? row.calls.map(({ state, result: of }) => [state, of?.entry.seq ?? null])
    : [];
}

test("a result stands with its call, and alone where the call is not there", () => {
  const all = entries(answer("a", "b"), result("b", true), result("a"));
  const [only, ...others] = rows(all);
  assert.deepEqual(others, []);
  assert.deepEqual(callsIn(only), [
    ["done", 3],
    ["failed", 2],
  ]);
  assert.deepEqual(
    rows(all.slice(1)).map(({ kind, id }) => [kind, id]),
    [
      ["result", "entry-2"],
      ["result", "entry-3"],
    ],
  );
});

test("a call without a result runs, has none any more, or has it further below", () => {
  const all = entries(answer("a"), answer("b"));
  assert.deepEqual(rows(all).map(callsIn), [[["unanswered", null]], [["running", null]]]);
  assert.deepEqual(rows(all, false).map(callsIn), [[["unanswered", null]], [["below", null]]]);
  const ended = entries(answer("a"), note("sessiond/turn-ended", { outcome: "done" }));
  assert.deepEqual(rows(ended).map(callsIn), [[["unanswered", null]]]);
});

test("an id that is used again belongs to the call before it, and a second result is shown too", () => {
  const all = entries(answer("1"), result("1"), answer("1"), result("1"), result("1"));
  const shown = rows(all);
  assert.deepEqual(callsIn(shown[0]), [["done", 2]]);
  assert.deepEqual(callsIn(shown[1]), [["done", 4]]);
  assert.deepEqual([shown[2]?.kind, shown[2]?.id], ["result", "entry-5"]);
});

test("a report stands in the card of its child, and in its own place", () => {
  const spawned = { spawned: { key: "agent:main:subagent:x", task: "t" } };
  const from = { kind: "inter_session", source: "agent:main:subagent:x", tool: "report" } as const;
  const report = {
    type: "message",
    message: { role: "user", content: "Report of x: done\n1.0 s · 3 tokens in, 4 out", timestamp: 0 },
    provenance: from,
    mailId: "cause:report:t",
  } as unknown as Body;
  const [card, line] = rows(entries(answer("a"), result("a", false, spawned), report));
  assert.ok(card?.kind === "answer");
  assert.equal(card.calls[0]?.reported?.item.report.tokens, 7);
  assert.equal(line?.kind, "report");
});

test("a restart is told once, by the turn that was gone on with or by who noticed it", () => {
  const resumed = note("sessiond/turn-resumed", { why: "restarted" });
  const all = entries(answer(), resumed, answer());
  const told = (restarts: readonly number[]) =>
    rows(all, true, restarts)
      .filter(({ kind }) => kind === "restarted")
      .map(({ id }) => id);
  assert.deepEqual(told([]), ["entry-2"]);
  assert.deepEqual(told([1]), ["entry-2"]);
  assert.deepEqual(told([3]), ["entry-2", "restart-3"]);
});

test("what was said to nobody is one line, a gap is in its place, and bookkeeping is not shown", () => {
  const silent: Body = { ...(answer() as Extract<Body, { type: "message" }>), silent: true };
  const gap = { type: "gap", reason: "not_json", offset: 9, bytes: 9 } as const;
  const [one, two, three, four] = entries(note("sessiond/turn-started"), silent, silent, answer());
  assert.ok(one && two && three && four);
  const shown = rows([one, two, three, gap, gap, four]);
  assert.deepEqual(
    shown.map(({ kind }) => kind),
    ["silent", "gap", "gap", "answer"],
  );
  assert.equal(new Set(shown.map(({ id }) => id)).size, 4, "each has a name of its own");
  assert.equal(shown[0]?.kind === "silent" && shown[0].entries.length, 2);
});

test("a row that says the same is the same, and one that says more is another", () => {
  const all = entries(answer("a"), answer("b"), result("b"));
  const before = rowsOf(all.slice(0, 2), { isAtEnd: true, restarts: [] });
  const after = rowsOf(all, { isAtEnd: true, restarts: [] }, before);
  assert.deepEqual(
    after.map((row, at) => row === before[at]),
    [true, true, false],
  );
});

function failed(errorMessage: string, ...content: readonly Block[]): Body {
  const by = { api: "a", provider: "p", model: "m", usage: USAGE, timestamp: 0 };
  const message = { role: "assistant", content, ...by, stopReason: "error", errorMessage } as const;
  return { type: "message", message };
}

function ended(outcome: string, reason: string | null): Body {
  return note("sessiond/turn-ended", { turn: "t", outcome, reason });
}

test("why a turn failed is told once, by its end; another reason, and what was said, is not taken away", () => {
  const why = "the key is not known";
  assert.deepEqual(
    rows(entries(failed(why), ended("failed", why))).map(({ kind, id }) => [kind, id]),
    [["ended", "entry-2"]],
  );
  const [half, end] = rows(entries(failed(why, { type: "text", text: "half of" }), ended("failed", why)));
  assert.equal(half?.kind === "answer" ? half.item.trouble : "", null);
  assert.equal(end?.kind, "ended");
  const [step] = rows(entries(failed(why), ended("aborted", "somebody stopped it")));
  assert.equal(step?.kind === "answer" ? step.item.trouble : "", why);
  const [alone] = rows(entries(failed(why)));
  assert.equal(
    alone?.kind === "answer" ? alone.item.trouble : "",
    why,
    "it is asked again, and has not ended",
  );
});

test("the end of a turn is the last thing only while nothing came after it, and all of it is there", () => {
  const isLast = (...given: Parameters<typeof rows>): readonly boolean[] =>
    rows(...given).flatMap((row) => (row.kind === "ended" ? [row.isLast] : []));
  const all = entries(ended("failed", "a"), ended("failed", "b"));
  assert.deepEqual(isLast(all), [false, true]);
  assert.deepEqual(isLast(all, false), [false, false]);
});

test("a line that says that it went back knows where to, and what was left; a note that does not is a note", () => {
  const said = answer();
  const letter: Body = { type: "message", message: { role: "user", content: "two", timestamp: 0 } };
  const all = entries(letter, said, note("sessiond/rewound", { to: 2, from: 9 }));
  const row = rows(all).at(-1);
  assert.equal(row?.kind === "rewound" ? row.to?.seq : 0, 1, "the step had no words");
  assert.deepEqual(all.map(leftBy), [null, null, 9]);
  for (const data of [{ to: 2 }, { to: 2, from: "9" }, { to: 2, from: -1 }, { to: 2, from: 0.5 }]) {
    const [odd] = entries(note("sessiond/rewound", data));
    assert.ok(odd !== undefined);
    assert.equal(leftBy(odd), null);
    assert.equal(rows([odd])[0]?.kind, "note");
  }
});

test("a rewind that left nothing offers nothing: a return says so, any other is not there", () => {
  const said: Body = { type: "message", message: { role: "user", content: "two", timestamp: 0 } };
  const last = (data: object): readonly [Row["kind"] | undefined, unknown, number | null] => {
    const all = entries(said, note("sessiond/rewound", { to: 1, from: 9, ...data }));
    const row = rows(all).at(-1);
    const [, own] = all;
    assert.ok(own !== undefined);
    return [row?.kind, row?.kind === "rewound" && row.isReturn, leftBy(own)];
  };
  assert.deepEqual(last({ left: 0, isReturn: true }), ["rewound", true, null]);
  assert.deepEqual(last({ left: 2, isReturn: true }), ["rewound", true, 9], "what was said since");
  assert.deepEqual(last({ left: 2, isReturn: false }), ["rewound", false, 9]);
  assert.deepEqual(last({ left: 0, isReturn: false }), ["letter", false, null]);
});

test("damage that was found several times in one place is one note", () => {
  const found = note("sessiond/damage");
  assert.deepEqual(
    rows(entries(found, found, answer(), found)).map(({ id }) => id),
    ["entry-2", "entry-3", "entry-4"],
  );
});
