import assert from "node:assert/strict";
import { describe, test } from "node:test";
import * as fc from "fast-check";
import type { Event } from "../../events/bus.ts";
import { DEFAULT_AGENT, mainKey } from "../../routing/key.ts";
import type { Block, Body } from "../../transcript/entry.ts";
import { Talk } from "./talk.ts";

const KEY = mainKey(DEFAULT_AGENT);
const BY = { api: "a", provider: "p", model: "m", stopReason: "stop", timestamp: 0 };
const USAGE = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 };

/** A minute has 60 entries. */
function entry(seq: number, body: Body): Event {
  const timestamp = new Date(Date.UTC(2026, 0, 1) + seq * 1_000).toISOString();
  return { type: "entry", key: KEY, seq, entry: { ...body, id: `e-${seq}`, parentId: null, seq, timestamp } };
}

function wrote(text: string, of: Partial<Extract<Body, { type: "message" }>> = {}): Body {
  return { type: "message", message: { role: "user", content: text, timestamp: 0 }, ...of };
}

function answered(text: string, ...calls: readonly (readonly [string, string, object])[]): Body {
  const content: Block[] = [
    ...(text === "" ? [] : [{ type: "text" as const, text }]),
    ...calls.map(([id, name, given]): Block => ({ type: "toolCall", id, name, arguments: { ...given } })),
  ];
  return { type: "message", message: { role: "assistant", content, usage: USAGE, ...BY } };
}

function result(
  toolCallId: string,
  text: string,
  of: { readonly isError?: boolean; readonly details?: unknown; readonly tool?: string } = {},
): Body {
  const { isError = false, details, tool = "look" } = of;
  const content: Block[] = [{ type: "text", text }];
  return {
    type: "message",
    message: { role: "toolResult", toolCallId, toolName: tool, content, isError, details, timestamp: 0 },
  };
}

function note(what: string, data: object = {}): Body {
  return { type: "custom", customType: `sessiond/${what}`, data };
}

function delta(text: string, kind: "text" | "thinking" = "text"): Event {
  return { type: "delta", key: KEY, turn: "t", step: 1, kind, text };
}

function texts(talk: Talk, ...events: readonly Event[]): readonly string[] {
  return events.flatMap((event) => talk.hear(event).map(({ text }) => text));
}

/** In a turn that it has heard begin (entry 1). */
function listening(): Talk {
  const talk = new Talk(0);
  talk.hear(entry(1, note("turn-started", { turn: "t" })));
  return talk;
}

function below(talk: Talk): readonly string[] {
  return talk.live("*").map(({ text }) => text);
}

describe("entries", () => {
  test("each is shown once, however often and from wherever it is heard again (K1)", () => {
    fc.assert(
      fc.property(fc.array(fc.nat({ max: 5 }), { maxLength: 30 }), (backs) => {
        const talk = new Talk(0);
        const shown: string[] = [];
        let seq = 0;
        for (const back of [...backs, 0]) {
          // What comes after a broken connection begins somewhere before.
          for (let again = Math.max(1, seq - back); again <= seq; again += 1)
            shown.push(...texts(talk, entry(again, wrote(`${again}`))));
          seq += 1;
          shown.push(...texts(talk, entry(seq, wrote(`${seq}`))));
        }
        assert.deepEqual(
          shown,
          Array.from({ length: seq }, (_, at) => `> ${at + 1}`),
        );
      }),
    );
  });

  test("what cannot be read is said where it is missing", () => {
    const [line] = texts(new Talk(3), entry(6, wrote("hi")));
    assert.match(line ?? "", /damage: 2 entries cannot be read/);
  });

  test("along the active path a number that is left out is no damage, and what comes next is", () => {
    const talk = new Talk(9);
    const past = [entry(2, wrote("first")), entry(9, wrote("second"))].flatMap((event) =>
      event.type === "entry" ? [event.entry] : [],
    );
    const gap = { type: "gap", reason: "not_json", offset: 0, bytes: 3 } as const;
    assert.deepEqual(
      talk.past([...past, gap]).map(({ text }) => text),
      ["> first", "> second", "  (damage: something here cannot be read; see `sessiond fsck`)"],
    );
    assert.deepEqual(texts(talk, entry(9, wrote("second"))), []);
    assert.match(texts(talk, entry(12, wrote("third")))[0] ?? "", /damage: 2 entries/);
  });

  test("what was said to nobody is not shown, and a rewind says where to", () => {
    const silent = { ...answered("hush", ["c", "memory", {}]), silent: true } as Body;
    const talk = listening();
    assert.deepEqual(texts(talk, entry(2, silent), entry(3, note("rewound", { to: 1, from: 2 }))), [
      "  (#3 went back to #1, from #2)",
    ]);
    assert.deepEqual(below(talk), ["  *"]);
  });

  test("a message that was sent from here is not shown again; others are, with who wrote them (K4)", () => {
    const talk = new Talk(0);
    talk.mine("id-1");
    assert.equal(talk.now.isBusy, true, "it will be read");
    assert.deepEqual(
      texts(
        talk,
        entry(1, wrote("mine", { mailId: "ext:send:owner:x:id-1" })),
        entry(
          2,
          wrote("a friend", { provenance: { kind: "external_user", channel: "telegram", peer: "4711" } }),
        ),
        entry(3, wrote("a session", { provenance: { kind: "inter_session", source: KEY, tool: null } })),
        entry(4, wrote("a timer", { provenance: { kind: "internal_system", cause: "cron" } })),
      ),
      ["telegram:4711 > a friend", `${KEY} > a session`, "sessiond, cron > a timer"],
    );
    assert.equal(talk.now.isBusy, false);
  });

  test("a turn that was not done says why; a turn that was says nothing", () => {
    const talk = new Talk(0);
    assert.deepEqual(texts(talk, entry(1, note("turn-started", { turn: "t" }))), []);
    assert.equal(talk.now.isBusy, true);
    const end = { turn: "t", outcome: "failed", reason: "no\nkey", steps: 0 };
    assert.deepEqual(texts(talk, entry(2, note("turn-ended", end))), ["  (failed: no key)"]);
    assert.deepEqual(talk.now, { seq: 2, isBusy: false, outcome: "failed" });
  });
});

describe("answers", () => {
  test("lines that are whole are shown as they come; the rest when it is written down", () => {
    const talk = listening();
    assert.deepEqual(texts(talk, delta("one\ntw")), ["one"]);
    assert.deepEqual(below(talk), ["tw"]);
    assert.deepEqual(texts(talk, delta("o\nthr"), entry(2, answered("one\ntwo\nthree"))), ["two", "three"]);
    assert.deepEqual(below(talk), ["  *"], "the turn goes on");
  });

  test("however it is cut into pieces, an answer is shown once", () => {
    fc.assert(
      fc.property(
        fc.array(fc.constantFrom("a", "b\n", "\n", "cc c", " d\ne"), { maxLength: 20 }),
        (pieces) => {
          const talk = listening();
          const said = pieces.join("");
          const shown = texts(talk, ...pieces.map((piece) => delta(piece)), entry(2, answered(said)));
          assert.equal(shown.join("\n").trimEnd(), said.trimEnd());
        },
      ),
    );
  });

  test("what was broken off and said anew is shown whole, and marked (K2)", () => {
    const talk = listening();
    const shown = texts(talk, delta("half\n"), entry(2, answered("another")));
    assert.deepEqual(shown, ["half", "  (what stands above was broken off; the answer is:)", "another"]);
  });

  test("who joins in the middle of an answer is shown it whole when it is written down, and the next as it comes (K3)", () => {
    const talk = new Talk(0, 1);
    assert.deepEqual(
      texts(talk, entry(1, note("turn-started", { turn: "t" })), delta("f a line\nand"), delta(" more\n")),
      [],
    );
    assert.deepEqual(below(talk), ["  *"]);
    assert.deepEqual(texts(talk, entry(2, answered("half of a line\nand more"))), [
      "half of a line",
      "and more",
    ]);
    assert.deepEqual(texts(talk, delta("next\n")), ["next"]);
  });

  test("after a broken connection an answer goes on below what was shown of it, and nothing is doubled (K3)", () => {
    const talk = listening();
    const shown = [...texts(talk, delta("one\ntw"))];
    talk.cameBack(2); // it was restarted, and says in entry 2 that the turn goes on
    assert.deepEqual(below(talk), ["  *"]);
    shown.push(
      ...texts(talk, entry(2, note("turn-resumed", { turn: "t" })), delta("one\ntwo\nthr"), delta("ee")),
    );
    shown.push(...texts(talk, entry(3, answered("one\ntwo\nthree"))));
    assert.deepEqual(shown, ["one", "two", "three"]);
  });

  test("after a broken connection another answer is shown whole, and marked (K2)", () => {
    const talk = listening();
    texts(talk, delta("one\ntw"));
    talk.cameBack(1);
    const shown = texts(talk, delta("ni\n"), entry(2, answered("uni\nverse")));
    assert.deepEqual(shown, ["  (what stands above was broken off; the answer is:)", "uni", "verse"]);
  });

  test("thinking is told of, and not shown", () => {
    const talk = listening();
    assert.deepEqual(texts(talk, delta("secret plan", "thinking")), []);
    assert.deepEqual(below(talk), ["  * thinks …"]);
  });
});

describe("tools", () => {
  test("a call is a line below while it runs, and one above when it is over, with its time", () => {
    const talk = new Talk(0);
    texts(
      talk,
      entry(1, answered("", ["c1", "read", { path: "notes.md" }], ["c2", "write", { path: "a", text: "b" }])),
    );
    assert.deepEqual(below(talk), ["  * read notes.md", "  * write path=a text=b"]);
    assert.deepEqual(
      texts(talk, entry(2, result("c1", "…")), entry(3, result("c2", "no\nroom", { isError: true }))),
      ["  ✓ read notes.md · 1.0 s", "  ✗ write path=a text=b · 2.0 s: no room"],
    );
  });
});

describe("children", () => {
  const spawn = (id: string, label: string) => [id, "sessions_spawn", { task: "t", label }] as const;
  const spawned = (task: string) => ({
    tool: "sessions_spawn",
    details: { spawned: { task, key: `${KEY}:subagent:${task}`, isTold: true } },
  });
  const report = (task: string, text: string) =>
    wrote(text, {
      mailId: `cause:report:${task}`,
      provenance: { kind: "inter_session", source: KEY, tool: "report" },
    });

  test("they are a tree below that fills in, and stands above when all have reported", () => {
    const talk = new Talk(0);
    texts(talk, entry(1, answered("", spawn("c1", "A"), spawn("c2", "price of B"))));
    assert.deepEqual(below(talk), ["  * spawn A", "  * spawn price of B"]);
    texts(talk, entry(2, result("c1", "{}", spawned("t1"))), entry(3, result("c2", "{}", spawned("t2"))));
    const since = "2026-01-01T00:00:00.000Z";
    talk.seen([
      {
        sessionKey: `${KEY}:subagent:t2`,
        state: "running",
        since,
        bornAt: since,
        why: `step 2 of a turn since ${since}: runs fetch`,
        tokens: 1_200,
      },
    ]);
    assert.deepEqual(below(talk), [
      "  * spawn A, price of B",
      "  ├ A           *",
      "  └ price of B  * runs fetch · 1.2k tokens",
    ]);
    const good = "Report of A (k): done\n41.0 s · 21000 tokens in, 1000 out · $0.0100 · k\nIts answer:\nred";
    assert.deepEqual(texts(talk, entry(4, report("t1", good))), []);
    assert.equal(below(talk)[1], "  ├ A           ✓ 41.0 s · 22.0k tokens");
    const bad = "Report of B: failed: no key\n1.0 s · 0 tokens in, 0 out · $0 · k\nIt said nothing.";
    assert.deepEqual(texts(talk, entry(5, report("t2", bad))), [
      "  ✗ spawn A, price of B",
      "  ├ A           ✓ 41.0 s · 22.0k tokens",
      "  └ price of B  ✗ failed: no key · 1.0 s · 0 tokens",
    ]);
    assert.deepEqual([talk.absent, below(talk)], [[], []]);
  });

  test("a child of before is told of in a line, and a spawn that was refused is a call that failed", () => {
    const talk = new Talk(0);
    texts(talk, entry(1, answered("", spawn("c1", "A"))));
    assert.deepEqual(
      texts(talk, entry(2, result("c1", "too many", { isError: true, tool: "sessions_spawn" }))),
      ["  ✗ sessions_spawn task=t label=A · 1.0 s: too many"],
    );
    assert.deepEqual(
      texts(talk, entry(3, report("t0", "Report of k: done\n2.0 s · 3 tokens in, 4 out · $0 · k"))),
      [`  ✓ ${KEY} · 2.0 s · 7 tokens`],
    );
  });
});
