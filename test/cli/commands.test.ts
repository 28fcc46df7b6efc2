// The plain commands against a real daemon: what a shell sees of them.

import assert from "node:assert/strict";
import { existsSync, mkdtempSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { once } from "node:events";
import { join } from "node:path";
import { describe, test, type TestContext } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { scratch } from "../fixtures/home.ts";
import { Daemon } from "../gateway/daemon.ts";
import { ran, started, type Ran } from "./stage.ts";

/** One daemon and a way to run commands against it. */
async function stage(t: TestContext): Promise<{
  readonly daemon: Daemon;
  readonly run: (...words: readonly string[]) => Promise<Ran>;
  readonly json: (...words: readonly string[]) => Promise<Record<string, never>>;
}> {
  const daemon = await Daemon.start(t);
  const run = (...words: readonly string[]): Promise<Ran> => ran(t, daemon, ...words);
  const json = async (...words: readonly string[]): Promise<Record<string, never>> => {
    const { out, err } = await run(...words, "--json");
    assert.equal(err, "", words.join(" "));
    return JSON.parse(out) as Record<string, never>;
  };
  return { daemon, run, json };
}

describe("the plain commands", { concurrency: 2 }, () => {
  test("a message is sent, waited for and found again by ps, status, search and export", async (t) => {
    const { run, json } = await stage(t);
    const answer = await run("send", "main", "hello", "there", "--wait");
    assert.deepEqual([answer.exit, answer.err], [0, ""]);
    assert.match(answer.out, /you said "hello there"/);

    const table = await run("ps");
    assert.match(table.out, /^KEY +STATE +CLASS +MODEL +CTX +TOKENS +COST +AGE +LAST\n/);
    assert.match(table.out, /^agent:main:main +idle /m);
    const rows = (await json("ps"))["sessions"] as unknown as { sessionKey: string; windowTokens: number }[];
    assert.deepEqual([rows[0]?.sessionKey, rows[0]?.windowTokens], ["agent:main:main", 200_000]);

    await run("pin", "main");
    assert.match((await run("ps")).out, /^agent:main:main \* +idle [^]*; \*: pinned\n$/m);
    await run("pin", "main", "--off");
    assert.match((await run("ps")).out, /^agent:main:main +idle [^]*--limit\)\n$/m);

    assert.match((await run("ps", "THERE", "main:main")).out, /^agent:main:main +idle [^]*\n1 session /m);
    assert.match((await run("ps", "hello", "elsewhere")).out, /^no session has all of these words/);
    assert.match((await run("ps", "hello", "--tree", "main")).err, /without words/);

    assert.match((await run("status")).out, /^agent:main:main "hello there" .*\n  why +nothing to do\n/);
    const found = await run("search", "hello");
    assert.match(
      found.out,
      /^agent:main:\S+ #\d+ · (?:now|\d+ \w+ ago|\d+\w+ ago) · (?:you|the model)  .*hello/m,
    );
    assert.equal(found.exit, 0);
    assert.match(found.out, /^agent:main:main #\d+ /);
    assert.equal((await run("search", "unheardof")).exit, 1);

    const lines = (await run("export", "main")).out
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as { type: string });
    assert.deepEqual(
      lines.map(({ type }) => type),
      ["session", "custom", "message", "message", "custom"],
    );
    const file = join(scratch(t), "main.md");
    assert.equal((await run("export", "main", "--format", "markdown", "-o", file)).exit, 0);
    assert.match(readFileSync(file, "utf8"), /^# agent:main:main\n[^]*\n## person · .*\n\nhello there\n/);
    assert.equal((await run("export", "main", "-o", file)).exit, 73, "a file is not written over");
    const page = (await json("export", "main", "--format", "markdown")) as { markdown?: string };
    assert.equal(page.markdown, readFileSync(file, "utf8"));
  });

  test("what is exported does nothing to a terminal, and a file that failed is not left behind", async (t) => {
    const { daemon, run } = await stage(t);
    const hostile = "\u001b[2J\u009b31m\u202eevil";
    await daemon.call("ask", { sessionKey: "agent:main:main", message: hostile });
    const page = await run("export", "main", "--format", "markdown");
    const lines = await run("export", "main");
    for (const { out } of [page, lines]) assert.doesNotMatch(out, /(?!\n)[\p{Cc}\u202e]/u);
    assert.ok(lines.out.includes(String.raw`\u001b[2J\u009b31m\u202eevil`));
    const folder = scratch(t);
    const nowhere = await run("export", "main", "-o", join(folder, "none", "x.jsonl"));
    assert.equal(nowhere.exit, 66);
    assert.match(nowhere.err, /the folder of .* is not there/);
    const file = join(folder, "x.jsonl");
    assert.equal((await run("export", "agent:main:thread:none", "-o", file)).exit, 66);
    assert.equal(existsSync(file), false);
  });

  test("text comes from standard input and from files, and a picture is attached", async (t) => {
    const { daemon, run } = await stage(t);
    const piped = await ran(t, { env: daemon.env, input: "from a pipe" }, "send", "main", "-", "--wait");
    assert.match(piped.out, /you said "from a pipe"/);
    const folder = scratch(t);
    writeFileSync(join(folder, "notes.txt"), "buy ``` milk\n");
    const png = Buffer.from(
      "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
      "base64",
    );
    writeFileSync(join(folder, "dot.png"), png);
    writeFileSync(join(folder, "odd.bin"), Buffer.from([0xff, 0xfe, 0x00]));
    const sent = await run(
      "send",
      "main",
      "look",
      "-f",
      join(folder, "notes.txt"),
      "-f",
      join(folder, "dot.png"),
      "--wait",
    );
    assert.equal(sent.exit, 0, sent.err);
    const { entries } = await daemon.call("entries", { sessionKey: "agent:main:main" });
    const text = JSON.stringify(entries);
    assert.ok(text.includes("notes.txt:\\n```\\nbuy ``` milk\\n```"), text);
    assert.ok(text.includes('"mimeType":"image/png"'));
    assert.equal((await run("send", "main", "-f", join(folder, "odd.bin"))).exit, 64);
    assert.equal((await run("send", "main", "-f", join(folder, "none"))).exit, 66);
    assert.equal((await run("send", "main")).exit, 64, "nothing to say");
  });

  test("a child is spawned and waited for, stands below its parent, and its name can be used again", async (t) => {
    const { run, json } = await stage(t);
    assert.equal((await run("spawn", "--name", "plan", "say hi", "--wait")).exit, 0);
    const again = await run("spawn", "--name", "plan", "go on");
    assert.equal(again.exit, 73);
    assert.match(
      again.err,
      /^sessiond: agent:main:thread:plan .*\. Resume it with --resume, or choose another name\.\n$/,
    );
    assert.equal((await run("spawn", "--name", "plan", "--resume", "go on", "--wait")).exit, 0);
    assert.match((await run("ps")).out, /^└─ thread:plan {2}"say hi" /m);
    const one = (await json("spawn", "once")) as { sessionKey?: string; id?: string };
    const end = await run("wait", one.sessionKey ?? "", one.id ?? "");
    assert.equal(end.exit, 0);
    const begin = (one.sessionKey ?? "").split(":").at(-1)?.slice(0, 8) ?? "";
    assert.equal(
      ((await json("status", `sub:${begin}`)) as { sessionKey?: string }).sessionKey,
      one.sessionKey,
    );
    assert.match(
      (await run("ps", "--tree", "main", "--all")).out,
      /^[├└]─ subagent:\w+ {2}"once" +ended done/m,
    );
  });

  test("settings are set, shown and merged; sessions are paused, forked, killed and removed", async (t) => {
    const { daemon, run, json } = await stage(t);
    await run("send", "main", "hello", "--wait");
    assert.equal((await run("nice", "main", "-5")).out, "agent:main:main: nice -5\n");
    assert.equal((await run("nice", "main")).out, "agent:main:main: nice -5\n");
    await run("limit", "main", "--cost", "2.5");
    assert.equal(
      (await run("limit", "main", "--steps", "7")).out,
      "agent:main:main: $2.500 · 7 steps a turn\n",
    );
    const { sessionKey: child } = await daemon.call("spawn", {
      task: "!say hi",
      name: "poor",
      limits: { tokens: 90_000 },
    });
    assert.match(
      (await run("status", child)).out,
      /^ {2}limits +tokens \S+ of 90\.0k · above it agent:main:main: cost \S+ of \$2\.500 · 7 steps a turn · 1 h a turn$/m,
    );
    assert.equal((await run("limit", "main", "--default")).out, "agent:main:main: no limits of its own\n");
    assert.match(
      (await run("status", "main")).out,
      /^ {2}limits +200 steps a turn · 1 h a turn$/m,
      "what holds, though none is its own",
    );
    await run("label", "main", "the", "boss");
    assert.equal(
      ((await json("status", "the boss")) as { sessionKey?: string }).sessionKey,
      "agent:main:main",
    );
    assert.equal((await run("model", "main", "rehearsal/small")).out, "agent:main:main: rehearsal/small\n");
    assert.match((await run("model", "main", "small")).err, /did you mean rehearsal\/small\?/);
    assert.match((await run("stop", "main")).out, /pauses/);
    assert.match((await run("ps")).out, /^agent:main:main +paused/m);
    assert.match((await run("cont", "main")).out, /goes on/);
    assert.match((await run("fork", "main", "--name", "copy")).out, /^agent:main:thread:copy: /);
    assert.match((await run("kill", "copy")).out, /^killed 1 session:\n {2}agent:main:thread:copy\n/);
    while ((await daemon.call("status", { sessionKey: "agent:main:thread:copy" })).state !== "ended")
      await sleep(20);
    assert.equal((await run("rm", "copy")).exit, 64, "nobody can be asked");
    assert.equal((await run("rm", "copy", "--yes")).out, "removed 1 session\n");
    assert.equal((await run("status", "copy")).exit, 66);
    assert.equal((await run("rm", "main", "--yes")).exit, 77);
  });

  test("a token has its scope, is told once or written where only its owner reads it, and can be revoked", async (t) => {
    const { run, json } = await stage(t);
    const file = join(mkdtempSync(join(scratch(t), "tokens-")), "phone.token");
    const made = await run("token", "create", "phone", "--scope", "read", "--output", file);
    assert.equal(made.exit, 0, made.err);
    const text = readFileSync(file, "utf8").trim();
    assert.ok(!made.out.includes(text) && !made.err.includes(text));
    assert.equal(statSync(file).mode & 0o777, 0o600);
    assert.equal((await run("ps", "--token-file", file)).exit, 0);
    assert.equal((await run("send", "main", "hi", "--token-file", file)).exit, 77);
    assert.ok(JSON.stringify(await json("token")).includes('"phone"'));
    const twice = await run("token", "create", "phone", "--output", `${file}.2`);
    assert.equal(twice.exit, 73);
    assert.match(twice.err, /token revoke phone/);
    assert.equal(existsSync(`${file}.2`), false);
    assert.equal((await run("token", "revoke", "phone")).exit, 0);
    assert.equal((await run("token", "revoke", "phone")).exit, 66);
    const late = await run("ps", "--token-file", file);
    assert.equal(late.exit, 77);
    assert.match(late.err, /SESSIOND_TOKEN/);
  });

  test("ps says what a turn does; how a wait ends is its exit code", async (t) => {
    const { daemon, run, json } = await stage(t);
    const slow = started(t, daemon, ["send", "main", "!slow 3600000", "--wait"]);
    while ((await daemon.call("status", {})).state !== "running") await sleep(20);
    const { out } = await run("ps", "--state", "running");
    assert.match(out, /^agent:main:main +running step \d+ +interactive .* asks rehearsal\/default$/m);
    const [row] = (await json("ps"))["sessions"] as unknown as {
      class: string;
      step: number;
      since: string;
    }[];
    assert.deepEqual([row?.class, typeof row?.step, typeof row?.since], ["interactive", "number", "string"]);
    assert.match((await run("abort", "main")).out, /its turn stops/);
    const stopped = await slow.ran;
    assert.equal(stopped.exit, 130);
    assert.match(stopped.err, /^sessiond: aborted/);
    const failed = await run("send", "main", "!fail local", "--wait");
    assert.equal(failed.exit, 1);
    assert.match(failed.err, /^sessiond: failed: /);
    const late = await run("spawn", "!slow 3600000", "--timeout", "1", "--wait");
    assert.equal(late.exit, 124);
    const unanswered = await run("send", "main", "!slow 3600000", "--wait", "--wait-seconds", "1", "--json");
    assert.equal(unanswered.exit, 75);
    assert.equal((JSON.parse(unanswered.out) as { outcome: string }).outcome, "unanswered");
  });

  test("whoever waits for an answer gets it though the daemon is killed and started again", async (t) => {
    const { daemon, json } = await stage(t);
    await json("stop", "main");
    const waiting = started(t, daemon, ["send", "main", "are you there?", "--wait"]);
    while ((await daemon.call("status", {})).waitingLetters === 0) await sleep(20);
    await daemon.kill("SIGKILL");
    await daemon.begin();
    await json("cont", "main");
    const { exit, out } = await waiting.ran;
    assert.equal(exit, 0);
    assert.match(out, /you said "are you there\?"/);
  });

  test("a wait whose time is up while the daemon is away has no answer yet, and exits so", async (t) => {
    const { daemon, json } = await stage(t);
    await json("stop", "main");
    const words = ["send", "main", "later", "--wait", "--wait-seconds", "2", "--json"];
    const waiting = started(t, daemon, words);
    while ((await daemon.call("status", {})).waitingLetters === 0) await sleep(20);
    await daemon.kill("SIGKILL");
    const { exit, out } = await waiting.ran;
    assert.equal(exit, 75);
    assert.equal((JSON.parse(out) as { outcome: string }).outcome, "unanswered");
  });

  test("Ctrl-C leaves the wait and not the message", async (t) => {
    const { daemon, run, json } = await stage(t);
    await json("stop", "main");
    const waiting = started(t, daemon, ["send", "main", "later", "--wait"]);
    while ((await daemon.call("status", {})).waitingLetters === 0) await sleep(20);
    waiting.process.kill("SIGINT");
    const { exit, err } = await waiting.ran;
    assert.equal(exit, 130);
    const [, ...words] = /^the message stays\. To wait on: sessiond (wait) (\S+) (\S+)$/m.exec(err) ?? [];
    assert.equal(words.length, 3, err);
    await json("cont", "main");
    assert.match((await run(...words)).out, /you said "later"/);
  });

  test("serve tells machines in one document where it is", async (t) => {
    const home = join(scratch(t), "home");
    const { env } = await Daemon.start(t);
    const serving = started(t, { env: { ...env, SESSIOND_HOME: home } }, ["serve", "--json"]);
    await once(serving.process.stdout ?? serving.process, "data");
    const about = JSON.parse(readFileSync(join(home, "gateway.json"), "utf8")) as { pid: number };
    serving.process.kill("SIGTERM");
    const { exit, out, err } = await serving.ran;
    assert.deepEqual([exit, err, about.pid], [0, "", serving.process.pid]);
    assert.deepEqual(JSON.parse(out), { ...about, home });
  });

  test("fsck says who has the home, and a backup is made while it is in use", async (t) => {
    const { daemon, run } = await stage(t);
    assert.equal((await run("fsck")).exit, 78);
    const to = join(scratch(t), "copy");
    assert.equal((await run("backup", "--to", to)).exit, 0);
    assert.ok(existsSync(join(to, "state.sqlite")));
    const checked = await run("doctor");
    assert.equal(checked.exit, 0, checked.out);
    assert.match(checked.out, new RegExp(`^ok +daemon +answers at ${daemon.url}`, "m"));
    await daemon.kill("SIGTERM");
    assert.equal((await run("fsck")).exit, 0);
  });
});
