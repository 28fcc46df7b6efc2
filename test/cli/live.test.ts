// The live commands against a real daemon: chat, log -f, trace, top. What is looked at is what people would see.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, test, type TestContext } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { CLI, Daemon } from "../gateway/daemon.ts";
import { NO_TERMINAL as skip, pidFile, Running, terminal } from "./stage.ts";

const MAIN = "agent:main:main";

/** What stands on a terminal that was told this: as much of one as the chat uses. It has as many lines as are written. */
function shownBy(out: string): string {
  const lines: string[] = [""];
  let [row, column] = [0, 0];
  for (const [piece, count, order] of out.matchAll(/\p{Cc}\[[?]?(\d*)([A-Za-z])|[^]/gu)) {
    const n = Number(count ?? 0);
    if (order === "A") row -= n;
    else if (order === "C") column += n;
    else if (order === "J") lines.splice(row, lines.length, (lines[row] ?? "").slice(0, column));
    else if (order !== undefined) continue;
    else if (piece === "\r") column = 0;
    else if (piece === "\n") lines[(row += 1)] ??= "";
    else {
      const line = (lines[row] ?? "").padEnd(column);
      lines[row] = line.slice(0, column) + piece + line.slice(column + 1);
      column += 1;
    }
  }
  return lines.join("\n").trimEnd();
}

function cli(test: TestContext, daemon: Daemon, ...words: readonly string[]): Running {
  return new Running(test, [process.execPath, CLI, ...words], daemon.env);
}

/** What a command says to these lines, and how it ends. */
async function told(
  test: TestContext,
  daemon: Daemon,
  words: readonly string[],
  lines = "",
): Promise<Running> {
  const running = cli(test, daemon, ...words);
  running.process.stdin?.end(lines);
  await running.ended();
  return running;
}

describe("chat through a pipe", { timeout: 60_000 }, () => {
  test("every line is a message, and answers come in their order, plainly", async (t) => {
    const daemon = await Daemon.start(t);
    const chat = await told(t, daemon, ["chat"], "!say one\n\n!say two\x1b[2J\n");
    assert.deepEqual([chat.out, chat.err, chat.process.exitCode], ["one\ntwo\n", "", 0]);
  });

  test("it opens a session that is not there yet, and says by its exit code how the last turn ended", async (t) => {
    const daemon = await Daemon.start(t);
    const chat = await told(t, daemon, ["chat", "agent:main:thread:new"], "!say hello\n!fail auth\n");
    assert.equal(chat.out, "hello\n");
    assert.match(chat.err, /failed/);
    assert.equal(chat.process.exitCode, 1);
  });

  test("--json writes events, each entry once", async (t) => {
    const daemon = await Daemon.start(t);
    const chat = await told(t, daemon, ["chat", "--json"], "!say one\n!say two\n");
    const events = chat.out
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as { readonly type: string; readonly seq?: number });
    const seqs = events.flatMap(({ type, seq }) => (type === "entry" && seq !== undefined ? [seq] : []));
    assert.deepEqual(
      seqs,
      seqs.map((_, at) => at + 1),
    );
    assert.ok(events.some(({ type }) => type === "delta"));
  });

  test("a daemon that is killed in the middle of a turn costs no answer and doubles none", async (t) => {
    const daemon = await Daemon.start(t);
    const chat = cli(t, daemon, "chat");
    chat.type("!slow 1500\n");
    await running(daemon);
    await daemon.kill();
    await daemon.begin();
    chat.process.stdin?.end("!say after\n");
    assert.equal(await chat.ended(), 0);
    assert.equal(chat.out, "done.\nafter\n");
  });
});

describe("chat through a pipe that is told to end", { timeout: 60_000 }, () => {
  for (const [signal, exit] of [
    ["SIGINT", 130],
    ["SIGTERM", 143],
  ] as const)
    test(`it ends with the first ${signal}, also while it waits for a line`, async (t) => {
      const daemon = await Daemon.start(t);
      const chat = cli(t, daemon, "chat");
      chat.type("!say one\n");
      await chat.seen(/one/);
      chat.process.kill(signal);
      assert.equal(await chat.ended(), exit);
    });
});

/** Until a turn runs in main. */
async function running(daemon: Daemon, sessionKey = MAIN): Promise<void> {
  while ((await daemon.call("status", { sessionKey })).state !== "running") await sleep(20);
}

describe("chat at a terminal", { timeout: 240_000 }, () => {
  test("Ctrl-C stops the turn, and leaves when nothing runs", { skip }, async (t) => {
    const daemon = await Daemon.start(t);
    const chat = terminal(t, daemon, "chat");
    await chat.seen(/agent:main:main · rehearsal\/default/);
    chat.type("!slow 60000\r");
    await running(daemon);
    chat.type("\x03");
    await chat.seen(/\(aborted/);
    const { lastTurn } = await daemon.call("status", { sessionKey: MAIN });
    assert.equal(lastTurn?.outcome, "aborted");
    chat.type("\x03");
    assert.equal(await chat.ended(), 0);
    assert.ok(chat.out.endsWith("\x1b[?2004l"), "the terminal is as it was");
  });

  test("Ctrl-C twice leaves while a turn runs, and the turn is stopped", { skip }, async (t) => {
    const daemon = await Daemon.start(t);
    const chat = terminal(t, daemon, "chat");
    await chat.seen(/agent:main:main/);
    chat.type("!slow 60000\r");
    await running(daemon);
    chat.type("\x03\x03");
    assert.equal(await chat.ended(), 0);
    while ((await daemon.call("status", { sessionKey: MAIN })).state !== "idle") await sleep(20);
    assert.equal((await daemon.call("status", { sessionKey: MAIN })).lastTurn?.outcome, "aborted");
  });

  test(
    "children are a tree that fills in; a restart is told, and nothing is shown twice",
    { skip },
    async (t) => {
      const daemon = await Daemon.start(t);
      const chat = terminal(t, daemon, "chat");
      await chat.seen(/agent:main:main/);
      const tasks = ["A", "B"].map(
        (name) => `!spawn ${JSON.stringify({ task: "!slow 1500", label: `price of ${name}` })}`,
      );
      // As a terminal pastes: several lines are one message.
      chat.type(`\x1b[200~${[...tasks, "!wait", "!then", "!say A is cheapest"].join("\r")}\x1b[201~\r`);
      await chat.seen(/└ price of B/);
      await daemon.kill();
      await daemon.begin();
      await chat.seen(/daemon restarted after .*; nothing lost/);
      await chat.seen(/\dJA is cheapest/);
      while ((await daemon.call("status", { sessionKey: MAIN })).state !== "idle") await sleep(20);
      await chat.seen(/\dJA is cheapest[^]*\dJ> /);
      chat.type("\x04");
      assert.equal(await chat.ended(), 0);
      const tree =
        /✓ spawn price of A, price of B\n {2}├ price of A {2}✓ .* tokens\n {2}└ price of B {2}✓ .* tokens\nA is cheapest$/;
      assert.match(shownBy(chat.out), tree);
      assert.equal(
        shownBy(chat.out).match(/A is cheapest$/gm)?.length,
        2,
        "as it was written, and as it was answered",
      );
    },
  );

  test("what is typed while a turn runs is read by it", { skip }, async (t) => {
    const daemon = await Daemon.start(t);
    const chat = terminal(t, daemon, "chat");
    await chat.seen(/agent:main:main/);
    chat.type("!slow 1500\n!call list\n!then\n!say first\r");
    await running(daemon);
    chat.type("!say steered\r");
    await chat.seen(/> !say steered[^]*\dJsteered\s/);
    chat.type("/quit\r");
    assert.equal(await chat.ended(), 0);
    const { entries } = await daemon.call("entries", { sessionKey: MAIN });
    const begun = entries.filter((entry) => entry["customType"] === "sessiond/turn-started");
    assert.equal(begun.length, 1);
  });

  test("who leaves right after Enter has sent it, and hears so when it could not be", { skip }, async (t) => {
    const daemon = await Daemon.start(t);
    const chat = terminal(t, daemon, "chat");
    await chat.seen(/agent:main:main/);
    chat.type("!say kept\r\x04");
    assert.equal(await chat.ended(), 0);
    while ((await daemon.call("status", { sessionKey: MAIN })).lastTurn?.outcome !== "done") await sleep(20);
    const again = terminal(t, daemon, "chat");
    await again.seen(/\nkept\s/);
    await daemon.kill();
    again.type("!say lost\r\x04");
    assert.equal(await again.ended(), 75);
    assert.match(again.out, /not sent: !say lost\r?\n$/);
  });

  test("a signal from outside leaves the terminal as it was", { skip }, async (t) => {
    const daemon = await Daemon.start(t);
    for (const [signal, exit] of [
      ["SIGINT", 130],
      ["SIGTERM", 143],
    ] as const) {
      const chat = terminal(t, daemon, "chat");
      await chat.seen(/agent:main:main/);
      process.kill(Number(readFileSync(pidFile(daemon), "utf8")), signal);
      assert.equal(await chat.ended(), exit);
      assert.ok(chat.out.endsWith("\x1b[?2004l"), JSON.stringify(chat.out.slice(-100)));
    }
  });

  test(
    "a chat that was opened from top stays, also when top has shown all its pictures",
    { skip },
    async (t) => {
      const daemon = await Daemon.start(t);
      await daemon.call("ask", { sessionKey: MAIN, message: "hello" });
      const top = terminal(t, daemon, "top", "-d", "0.5", "-n", "2");
      await top.seen(/slots 0 of/);
      top.type("\r");
      await top.seen(/agent:main:main · rehearsal\/default/);
      await sleep(1_200); // longer than both pictures take
      top.type("!say still here\r");
      await top.seen(/\dJstill here\s/);
      top.type("\x04");
      assert.equal(await top.ended(), 0);
    },
  );

  test(
    "rm that is answered with Ctrl-C ends as Ctrl-C does, with Ctrl-D as no, and removes nothing",
    { skip },
    async (t) => {
      const daemon = await Daemon.start(t);
      await daemon.call("ask", { sessionKey: MAIN, message: "hello" });
      await daemon.call("fork", { sessionKey: MAIN, name: "copy" });
      for (const [key, exit] of [
        ["\x03", 130],
        ["\x04", 1],
        ["n\r", 1],
      ] as const) {
        const rm = terminal(t, daemon, "rm", "copy");
        await rm.seen(/for good\? \[y\/N\]/);
        rm.type(key);
        assert.equal(await rm.ended(), exit);
        assert.doesNotMatch(rm.out, /bug|Abort/);
      }
      assert.equal((await daemon.call("status", { sessionKey: "agent:main:thread:copy" })).state, "idle");
    },
  );

  test("top leaves the terminal as it was, also on Ctrl-C", { skip }, async (t) => {
    const daemon = await Daemon.start(t);
    const top = terminal(t, daemon, "top", "-d", "0.1");
    await top.seen(/slots 0 of/);
    top.type("\x03");
    assert.equal(await top.ended(), 0);
    assert.ok(top.out.startsWith("\x1b[?1049h") && top.out.endsWith("\x1b[?1049l"));
  });
});

describe("log", { timeout: 60_000 }, () => {
  test("-f shows every entry once, over a restart of the daemon", async (t) => {
    const daemon = await Daemon.start(t);
    await daemon.call("ask", { sessionKey: MAIN, message: "!say before" });
    const log = cli(t, daemon, "log", MAIN, "-f", "--json");
    await log.seen(/turn-ended/);
    await daemon.kill();
    await daemon.begin();
    const { endSeq } = await daemon.call("ask", { sessionKey: MAIN, message: "!say after" });
    await log.seen(new RegExp(`"seq":${endSeq}[,}]`));
    log.process.kill("SIGINT");
    await log.ended();
    const seqs = log.out
      .trim()
      .split("\n")
      .map((line) => (JSON.parse(line) as { readonly seq: number }).seq);
    assert.deepEqual(
      seqs,
      Array.from({ length: endSeq ?? 0 }, (_, at) => at + 1),
    );
    assert.match(log.err, /connected again after .*; nothing lost/);
  });

  test("is for people by default: when, who, what; -n counts from the end", async (t) => {
    const daemon = await Daemon.start(t);
    await daemon.call("ask", { sessionKey: MAIN, message: "!call list\n!then\n!say seen" });
    const log = await told(t, daemon, ["log", "main"]);
    assert.match(log.out, /^\d\d:\d\d:\d\d {2}#2 {6}you {8}!call list$/m);
    assert.match(log.out, /^\d\d:\d\d:\d\d {2}#\d {14}→ {2}list$/m);
    assert.match(log.out, /^\d\d:\d\d:\d\d {2}#\d {14}✓ {2}list · /m);
    assert.match(log.out, /^\d\d:\d\d:\d\d {2}#\d {6}agent {6}seen$/m);
    const last = await told(t, daemon, ["log", "main", "-n", "1"]);
    assert.match(last.out, /agent {6}seen\n$/);
    assert.doesNotMatch(last.out, /list/);
  });
});

describe("trace and top", { timeout: 60_000 }, () => {
  test("a trace shows the steps of a turn with their tools, and totals", async (t) => {
    const daemon = await Daemon.start(t);
    await daemon.call("ask", { sessionKey: MAIN, message: "!call list\n!call nope\n!then\n!say seen" });
    const trace = await told(t, daemon, ["trace", "main"]);
    assert.match(trace.out, /agent:main:main · turn \S+ · interactive · done in/);
    assert.match(trace.out, / 1 rehearsal\/default .*█/);
    assert.match(trace.out, /├ ✓ list/);
    assert.match(trace.out, /└ ✗ nope/);
    assert.match(trace.out, /2 steps, .* · 2 tool calls \(1 failed\)/);
    const json = JSON.parse((await told(t, daemon, ["trace", "main", "--json"])).out) as {
      readonly steps: readonly unknown[];
    };
    assert.equal(json.steps.length, 2);
    const none = await told(t, daemon, ["trace", "main", "no-such-turn"]);
    assert.notEqual(none.process.exitCode, 0);
  });

  test("top through a pipe prints one frame after the other, without a word to a terminal", async (t) => {
    const daemon = await Daemon.start(t);
    await daemon.call("ask", { sessionKey: MAIN, message: "hello" });
    const top = await told(t, daemon, ["top", "-n", "2", "-d", "0.2"]);
    assert.equal(top.process.exitCode, 0);
    assert.equal(top.out.match(/^sessiond · up /gm)?.length, 2);
    assert.match(top.out, /^agent:main:main "hello" +idle .*rehearsal\/default/m);
    assert.match(top.out, /tokens\/s .*commits\/s · event loop/);
    assert.equal(top.out.includes("\x1b"), false);
  });
});
