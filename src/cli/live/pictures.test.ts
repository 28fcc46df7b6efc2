// Pictures: top, waterfalls, transcripts and the changing end of a chat. None is wider than the terminal, and nothing that
// somebody wrote does anything to it.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import * as fc from "fast-check";
import type { Body, Entry } from "../../transcript/entry.ts";
import { widthOf } from "../output.ts";
import type { Row } from "../ps.ts";
import { burningFirst, topFrame, type Picture } from "./frame.ts";
import { liveRows, painted } from "./paint.ts";
import { Looks } from "./rates.ts";
import { Transcript } from "./transcript.ts";
import { barOf, waterfall, type Trace } from "./waterfall.ts";

const AT = "2026-01-01T00:00:00.000Z";
const NOW = Date.parse(AT) + 5_000;
const NASTY = [
  "\x1b[2J",
  "\x1b]0;title\x07",
  "\u202e",
  "\r",
  "\n",
  "\x9b31m",
  "\u2066",
  "\t",
  "価格",
  "👨‍👩‍👧",
  "e\u0301",
  "word ",
];
const nasty = fc.array(fc.constantFrom(...NASTY), { maxLength: 12 }).map((parts) => parts.join(""));
const CONTROLS = /[\p{Cc}\u202a-\u202e\u2066-\u2069]/u;

function row(sessionKey: string, of: Partial<Row> = {}): Row {
  return {
    sessionKey,
    agent: "main",
    kind: "main",
    parent: null,
    title: "",
    labelled: false,
    pinned: false,
    state: "idle",
    since: null,
    step: null,
    outcome: null,
    pausing: false,
    class: null,
    why: null,
    model: "rehearsal/default",
    contextTokens: null,
    windowTokens: 0,
    tokens: 0,
    cost: 0,
    entries: 0,
    bornAt: AT,
    updatedAt: AT,
    ...of,
  };
}

const NONE = { interactive: 0, delegated: 0, scheduled: 0, background: 0 };
const SLOTS = { total: 8, reserved: 2, inUse: { ...NONE, delegated: 3 }, waiting: { ...NONE, delegated: 1 } };
const TOTALS = {
  since: AT,
  commits: 0,
  turns: 0,
  input: 0,
  output: 0,
  cacheRead: 0,
  cacheWrite: 0,
  cost: 0,
  loopDelayMs: 0.4,
};

function picture(rows: readonly Row[], of: Partial<Picture> = {}): Picture {
  const overview = {
    slots: SLOTS,
    processes: { ...SLOTS, inUse: NONE },
    providers: [],
    programs: [],
    servers: [],
    upkeep: { mode: "warn" as const, rounds: 0, lookedAt: null, use: null, steps: null, overBytes: 0 },
    totals: TOTALS,
    today: { since: AT, cost: 0, tokens: 0, turns: 0, isWhole: true },
    failures: [],
    disk: null,
    journal: null,
  };
  return { overview, rows, isMore: false, rates: null, nowMs: NOW, ...of };
}

describe("top", () => {
  test("rates come from what was used between two looks; after a restart they begin anew", () => {
    const looks = new Looks();
    const look = (atMs: number, used: number, since = AT) =>
      looks.next({
        atMs,
        totals: { ...TOTALS, since, input: used, cost: used, commits: used },
        tokens: new Map([["a", used]]),
      });
    assert.equal(look(0, 100), null);
    const rates = look(2_000, 300);
    assert.deepEqual(
      [rates?.tokens, rates?.commits, rates?.dollars, rates?.bySession.get("a")],
      [100, 100, 360_000, 100],
    );
    assert.equal(look(3_000, 5, "2026-01-02T00:00:00.000Z"), null);
  });

  test("what burns comes first, then what runs, then what was active last", () => {
    const rows = [
      row("old"),
      row("new", { updatedAt: "2026-01-02T00:00:00.000Z" }),
      row("runs", { state: "running" }),
      row("burns"),
    ];
    const rates = { tokens: 0, dollars: 0, commits: 0, turns: 0, bySession: new Map([["burns", 5]]) };
    assert.deepEqual(
      burningFirst(rows, rates).map(({ sessionKey }) => sessionKey),
      ["burns", "runs", "new", "old"],
    );
  });

  test("the header says slots by class, the queue and the event loop", () => {
    const head = topFrame(picture([]), null, { colour: false, width: 200, height: Infinity }).join("\n");
    assert.match(head, /slots 3 of 8 \(2 for people\): delegated 3 · queue 1: delegated 1/);
    assert.match(head, /event loop 0\.4 ms/);
  });

  test("no line is wider than the terminal or obeyed by it, whatever sessions are called", () => {
    fc.assert(
      fc.property(fc.array(nasty, { maxLength: 8 }), fc.integer({ min: 1, max: 200 }), (titles, width) => {
        const rows = titles.map((title, at) =>
          row(`agent:main:thread:${at}`, {
            title,
            why: title,
            model: title,
            state: at % 2 ? "running" : "idle",
          }),
        );
        for (const chosen of [null, "agent:main:thread:1"])
          for (const line of topFrame(picture(rows), chosen, { colour: false, width, height: 30 })) {
            assert.ok(widthOf(line) <= width, line);
            assert.doesNotMatch(line, CONTROLS);
          }
      }),
    );
  });

  test("the chosen row is shown, however many there are", () => {
    const rows = Array.from({ length: 100 }, (_, at) => row(`k${at}`));
    const lines = topFrame(picture(rows), "k70", { colour: false, width: 80, height: 20 });
    assert.equal(lines.length, 20);
    assert.ok(
      lines.some((line) => line.startsWith("> k70 ")),
      lines.join("\n"),
    );
  });
});

function traced(text: string): Trace {
  const usage = { input: 1_200, output: 40, cacheRead: 800, cacheWrite: 0 };
  const at = (ms: number): string => new Date(Date.parse(AT) + ms).toISOString();
  const tool = {
    name: "read",
    arguments: text,
    startedAt: at(1_000),
    endedAt: at(1_500),
    ms: 500,
    isError: false,
    child: null,
  };
  return {
    sessionKey: "agent:main:main",
    turn: "t-1",
    class: "interactive",
    startedAt: AT,
    endedAt: at(2_000),
    outcome: "done",
    reason: null,
    now: null,
    resumes: 0,
    isCut: false,
    steps: [
      {
        step: 1,
        seq: 3,
        model: "p/m",
        startedAt: AT,
        endedAt: at(1_000),
        ms: 1_000,
        usage,
        cost: 0.01,
        stopReason: "toolUse",
        text: "",
        tools: [tool, { ...tool, endedAt: null, ms: null, isError: null }],
      },
      {
        step: 2,
        seq: 6,
        model: "p/m",
        startedAt: at(1_500),
        endedAt: at(2_000),
        ms: 500,
        usage,
        cost: 0.01,
        stopReason: "stop",
        text: "",
        tools: [],
      },
    ],
    totals: { steps: 2, tools: 2, failedTools: 0, ms: 2_000, modelMs: 1_500, usage, cost: 0.02 },
  };
}

describe("a waterfall", () => {
  test("bars have one scale, and what takes no time is a stroke", () => {
    const span = { fromMs: 0, toMs: 100 };
    assert.equal(barOf({ fromMs: 0, toMs: 100 }, span, 10), "██████████");
    assert.equal(barOf({ fromMs: 50, toMs: 70 }, span, 10), "     ██");
    assert.equal(barOf({ fromMs: 100, toMs: 100 }, span, 10), "         ▏");
  });

  test("a step has its start, time, model, tokens and cost; its tools stand below it", () => {
    const lines = waterfall(traced("notes.md"), NOW, { colour: false, width: 120 });
    assert.match(lines[0] ?? "", /agent:main:main · turn t-1 · interactive · done in 2\.0 s/);
    assert.match(lines[2] ?? "", /^ +0 ms +1\.0 s +1 p\/m +1\.2k +40 +800 +\$0\.010 {2}█+$/);
    assert.match(lines[3] ?? "", /^ +1\.0 s +500 ms +├ ✓ read notes\.md/);
    assert.match(
      lines.at(-1) ?? "",
      /2 steps, 1\.5 s in steps · 2 tool calls · 2\.0k tokens in, 800 cached, 40 out · \$0\.020/,
    );
  });

  test("a turn that was gone back into says so, and nothing of it grows", () => {
    const over = {
      ...traced("notes.md"),
      outcome: "rewound",
      reason: "the session went back",
      endedAt: null,
    };
    const lines = waterfall(over, NOW, { colour: false, width: 120 });
    assert.match(lines[0] ?? "", / · rewound: the session went back/);
    assert.match(lines[4] ?? "", /^ +1\.0 s +0 ms… +└ … read/);
    assert.deepEqual(waterfall(over, NOW + 60_000, { colour: false, width: 120 }), lines);
  });

  test("no line is wider than the terminal or obeyed by it", () => {
    fc.assert(
      fc.property(nasty, fc.integer({ min: 1, max: 160 }), (text, width) => {
        for (const line of waterfall(traced(text), NOW, { colour: false, width })) {
          assert.ok(widthOf(line) <= width, `${widthOf(line)} > ${width}: ${line}`);
          assert.doesNotMatch(line, CONTROLS);
        }
      }),
    );
  });
});

describe("a transcript", () => {
  const NO_PINS: ReadonlySet<string> = new Set();
  const said = (seq: number, text: string): Entry => ({
    type: "message",
    id: `e-${seq}`,
    parentId: null,
    seq,
    timestamp: AT,
    message: { role: "user", content: text, timestamp: 0 },
  });

  test("says the day once, the number of an entry, who spoke, and indents what follows in a message", () => {
    const transcript = new Transcript({ colour: false, width: 80, pins: NO_PINS });
    const [day, first, second] = transcript.lines(said(1, "one\ntwo"));
    assert.match(day ?? "", /^── 202[56]-\d\d-\d\d ──$/);
    assert.match(first ?? "", /^\d\d:\d\d:\d\d {2}#1 {6}you {8}one$/);
    assert.equal(second, `${" ".repeat(29)}two`);
    assert.equal(transcript.lines(said(2, "three")).length, 1);
  });

  test("what stays in every context is marked", () => {
    const transcript = new Transcript({ colour: false, width: 80, pins: new Set(["e-1"]) });
    assert.match(transcript.lines(said(1, "one")).at(-1) ?? "", /#1 {6}you {8}\(pinned\) one$/);
    assert.doesNotMatch(transcript.lines(said(2, "two")).at(-1) ?? "", /pinned/);
  });

  test("a compaction, a rewind, a handoff and what left the prompt have a line each", () => {
    const transcript = new Transcript({ colour: false, width: 200, pins: NO_PINS });
    const line = (seq: number, body: Body): string =>
      transcript.lines({ ...body, id: `e-${seq}`, parentId: null, seq, timestamp: AT }).at(-1) ?? "";
    const compaction = (details: object): Body => ({
      type: "compaction",
      summary: "# Goal\n\nmuch",
      firstKeptEntryId: "e-1",
      tokensBefore: 2_200,
      details,
    });
    const note = (what: string, data: object): Body => ({
      type: "custom",
      customType: `sessiond/${what}`,
      data,
    });
    assert.match(
      line(107, compaction({ tokensAfter: 310, truncated: null })),
      /#107 .*· {2}earlier conversation summarised, 2\.2k → 310 tokens; rewind goes back to before it$/,
    );
    assert.match(
      line(108, compaction({ tokensAfter: 310, truncated: "nobody\nanswered" })),
      /cut off without a summary \(nobody answered\), 2\.2k → 310 tokens/,
    );
    assert.match(line(109, note("rewound", { to: 12, from: 108 })), /· {2}went back to #12, from #108$/);
    const handed = note("handoff", { key: "agent:main:thread:x", path: "handoff/1.md" });
    assert.match(line(110, handed), /· {2}handed over to agent:main:thread:x, file handoff\/1\.md$/);
    assert.match(line(111, note("pruned", { results: 61 })), /· {2}61 tool results left the prompt$/);
  });

  test("a beat that begins anew says so, and is no summary", () => {
    const transcript = new Transcript({ colour: false, width: 200, pins: NO_PINS });
    const beat: Entry = {
      type: "compaction",
      summary: "(anew)",
      firstKeptEntryId: "e-7",
      tokensBefore: 0,
      id: "e-7",
      parentId: null,
      seq: 7,
      timestamp: AT,
    };
    assert.match(
      transcript.lines(beat).at(-1) ?? "",
      /· {2}a new beat; what came before is not shown to the model$/,
    );
  });

  test("who has a long name does not push words away", () => {
    const transcript = new Transcript({ colour: false, width: 80, pins: NO_PINS });
    const source = "agent:main:cron:3f1c2b6a-5d5e-4c39-9a55-0d4f3f5c2e11:run:0199aa";
    const provenance = { kind: "inter_session", source, tool: null };
    const line = transcript.lines({ ...said(1, "hello"), provenance } as Entry).at(-1) ?? "";
    assert.match(line, /#1 {6}agent:main:c…:run:0199aa {2}hello$/);
  });

  test("what was said to nobody is one line, however many entries it has", () => {
    const transcript = new Transcript({ colour: false, width: 80, pins: NO_PINS });
    transcript.lines(said(1, "before"));
    const silent = (seq: number): Entry => ({ ...said(seq, "hush"), silent: true }) as Entry;
    assert.match(transcript.lines(silent(2)).join("\n"), /^.*· {2}wrote to memory before a summary$/);
    assert.deepEqual(transcript.lines(silent(3)), []);
    assert.equal(transcript.lines(said(4, "after")).length, 1);
    assert.equal(transcript.lines(silent(5)).length, 1);
  });

  test("what cannot be read is said in its place", () => {
    const transcript = new Transcript({ colour: false, width: 80, pins: NO_PINS });
    const [line] = transcript.lines({ type: "gap", reason: "not_json", offset: 5, bytes: 12 });
    assert.match(line ?? "", /✗ {2}damage: 12 bytes cannot be read \(not_json\)/);
  });

  test("nothing that was written controls the terminal", () => {
    fc.assert(
      fc.property(nasty, (text) => {
        const lines = new Transcript({ colour: false, width: 40, pins: NO_PINS }).lines(said(1, text));
        for (const line of lines) assert.doesNotMatch(line.replaceAll("\t", ""), CONTROLS);
      }),
    );
  });
});

describe("lines of a chat", () => {
  test("rows of the changing end fit the terminal, and nothing in any line controls it", () => {
    const tones = fc.constantFrom("you", "other", "answer", "good", "bad", "busy", "dim", "fault");
    fc.assert(
      fc.property(nasty, tones, fc.integer({ min: 2, max: 40 }), (text, tone, width) => {
        for (const { text: shown, width: wide } of liveRows({ colour: false }, { tone, text }, width)) {
          assert.ok(wide <= width && widthOf(shown) === wide);
          assert.doesNotMatch(shown, CONTROLS);
        }
        const line = painted({ colour: false }, { tone, text }, width);
        assert.doesNotMatch(line.replaceAll("\r\n", "").replaceAll("\t", ""), CONTROLS);
      }),
    );
  });
});
