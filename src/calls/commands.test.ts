import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, test, type TestContext } from "node:test";
import { MAIN, Office } from "../../test/timers/office.ts";
import { OUTWARD_CHARS_MAX } from "../limits.ts";
import { COMMANDS, commandIn, messageIn, textIn } from "./commands.ts";

test("docs/chat-commands.md has every command as help has it", () => {
  const text = readFileSync(new URL("../../docs/chat-commands.md", import.meta.url), "utf8");
  const rows = text.split("\n").filter((line) => line.startsWith("| `/"));
  const expected = COMMANDS.map(({ name, takes, about, aliases = [] }) => {
    const what = `/${name}${takes === "" ? "" : ` ${takes.replaceAll("|", String.raw`\|`)}`}`;
    const others = aliases.map((alias) => `\`/${alias}\``).join(", ");
    return `| \`${what}\` | ${about}${others === "" ? "" : ` (also ${others})`} |`;
  });
  assert.deepEqual(rows, expected);
});

test("a command is a known word with a slash, and what follows it", () => {
  const found = (text: string, isAlone = true): [string, string] | null => {
    const { command, rest } = commandIn(text, isAlone) ?? {};
    return command === undefined ? null : [command.name, rest ?? ""];
  };
  assert.deepEqual(found("/status"), ["status", ""]);
  assert.deepEqual(found("  /status \n"), ["status", ""]);
  assert.deepEqual(found("/STATUS@a_bot"), ["status", ""]);
  assert.deepEqual(found("/Label@a_bot now"), ["label", "now"]);
  assert.deepEqual(found("/help Status"), ["help", "Status"]);
  assert.deepEqual(found("/reset"), ["new", ""]);
  assert.deepEqual(found("/subagents\tspawn one\ntwo "), ["subagents", "spawn one\ntwo"]);
  for (const text of [
    "status",
    "//status",
    "/",
    "/ status",
    "/status/x",
    "/statu",
    "/constructor",
    "/__proto__",
    "x /status",
  ])
    assert.equal(found(text), null, text);
});

test("a command with more behind it than it takes is a message", () => {
  for (const { name, takes } of COMMANDS) {
    assert.notEqual(commandIn(`/${name}`, true), null, name);
    assert.equal(commandIn(`/${name} of the project?`, true) === null, takes === "" || name === "help", name);
  }
  assert.equal(commandIn("/help me with this", true), null);
});

test("what is addressed to somebody by name is obeyed only where nobody else is", () => {
  for (const text of ["/stop@other_bot", "/new@x", "/label@a_bot now"]) {
    assert.notEqual(commandIn(text, true), null, text);
    assert.equal(commandIn(text, false), null, text);
  }
  assert.notEqual(commandIn("/stop", false), null);
});

test("a second slash makes a message of what looks like a command, and of nothing else", () => {
  assert.equal(messageIn("//status"), "/status");
  assert.equal(messageIn("//any word\nmore "), "/any word\nmore ");
  for (const text of ["//server/share", "///status", "// a comment", "/status", "//", ""])
    assert.equal(messageIn(text), text, text);
});

test("help has every name that a command is known by", async (t) => {
  const sessions = await new Office(t, {}).start();
  const help = async (text: string): Promise<string> =>
    (await sessions.call("command", { sessionKey: MAIN, text })).text;
  for (const { name, aliases = [] } of COMMANDS)
    for (const each of [name, ...aliases]) assert.match(await help("/help"), new RegExp(`/${each}\\b`), each);
  assert.match(await help("/help reset"), /^\/new .* \(also \/reset\)$/);
});

describe("/cron", () => {
  /** What is said to a command in main; its clock is held, and begins with 2026 at UTC. */
  async function chat(t: TestContext): Promise<{ office: Office; say: (text: string) => Promise<string> }> {
    const office = new Office(t, { timezone: "Europe/Zurich" });
    const sessions = await office.start();
    const say = async (text: string): Promise<string> =>
      (await sessions.call("command", { sessionKey: MAIN, text })).text;
    return { office, say };
  }

  test("tells times as the command line does: by the clock of the job, short, and how long until then", async (t) => {
    const { office, say } = await chat(t);
    assert.match(
      await say('/cron add "0 9 * * 1-5" the plan'),
      /^job [0-9a-f]{8}: 0 9 \* \* 1-5 \(Europe\/Zurich\) · next 2026-01-01 09:00 Europe\/Zurich, in 8h$/,
    );
    const [job] = (await office.store.jobs({})).rows;
    assert.ok(job);
    const short = job.id.slice(0, 8);
    const sessions = office.gateways[0]?.sessions ?? assert.fail();
    const tokyo = { timezone: "Asia/Tokyo", target: "main", delivery: "none" } as const;
    await sessions.call("addJob", { cron: "0 12 * * *", message: "!say fed", name: "the cat", ...tokyo });
    const list = (await say("/cron")).split("\n");
    assert.deepEqual(list, [
      "the cat · 0 12 * * * (Asia/Tokyo) · next 2026-01-01 12:00 Asia/Tokyo, in 3h · !say fed",
      `${short} · 0 9 * * 1-5 (Europe/Zurich) · next 2026-01-01 09:00 Europe/Zurich, in 8h · the plan`,
    ]);
    assert.equal(await say(`/cron off ${short}`), "off; /cron on lets it go on");
    assert.equal(await say(`/cron on ${short}`), "on; next 2026-01-01 09:00 Europe/Zurich, in 8h");
    assert.match(await say("/cron show the cat"), /^next +2026-01-01 12:00 Asia\/Tokyo, in 3h$/m);
    assert.match(
      await say("/cron show the cat"),
      /^then +2026-01-02 12:00, 2026-01-03 12:00, .* Asia\/Tokyo$/m,
    );
    await office.pass(3 * 60 * 60_000 + 120_000);
    assert.equal(await say("/cron runs the cat"), "2m ago · for 2026-01-01 12:00 Asia/Tokyo · done: fed");
    for (const text of [
      await say("/cron"),
      await say("/cron show the cat"),
      await say(`/cron show ${short}`),
    ])
      assert.doesNotMatch(text, /\d\dT\d\d:|Z\b/);
  });

  test("is changed by a time, and by a message behind it; and known by other words", async (t) => {
    const { office, say } = await chat(t);
    await say('/cron add "0 9 * * 1-5" the plan');
    const [job] = (await office.store.jobs({})).rows;
    assert.ok(job);
    const now = async () => (await office.store.jobs({})).rows.find(({ id }) => id === job.id);
    const short = job.id.slice(0, 8);
    assert.match(await say(`/cron edit ${short} every 20m`), /^job \w{8}: every 20m · next 2026-01-01 01:20/);
    assert.equal((await now())?.message, "the plan", "what is not said stays");
    assert.match(
      await say(`/cron edit "${short}" "0 8 * * *" two  words`),
      /: 0 8 \* \* \* \(Europe\/Zurich\)/,
    );
    assert.equal((await now())?.message, "two  words");
    for (const nothing of ["/cron edit", `/cron edit ${short}`, `/cron edit ${short} cron 0 9 * * *`])
      await assert.rejects(say(nothing), /write \/cron edit <job> <when> \[message\]/, nothing);
    await assert.rejects(say("/cron edit ghost every 5m"), /there is no job "ghost"/);
    assert.equal(await say(`/cron disable ${short}`), "off; /cron on lets it go on");
    assert.match(await say(`/cron enable ${short}`), /^on; next/);
    assert.match(await say("/cron ls"), new RegExp(`^${short} · 0 8`));
    await assert.rejects(say("/cron constructor"), /\/cron takes one of list, add, show, edit/);
    const help = await say("/help cron");
    assert.match(help, /\/cron add every 15m .*\n\/cron add "0 9 \* \* 1-5" /);
    assert.match(await say(`/cron remove ${short}`), /is gone$/);
    assert.equal(commandIn("/cron ls", true)?.command.looks?.("ls"), true);
  });

  test("runs shows as many as the command line does", async (t) => {
    const { office, say } = await chat(t);
    await office.add("aaaa1111bbbb", { name: "tick" });
    await say("/cron edit tick every 1m !say tock");
    for (let runs = 0; runs < 25; runs += 1) await office.pass(60_000);
    assert.equal((await say("/cron runs tick")).split("\n").length, 20);
  });

  test("takes times in all forms of the command line, with and without quotes", async (t) => {
    const { office, say } = await chat(t);
    const zurich = "2026-01-01 01:20 Europe/Zurich, in 20m";
    const forms: readonly (readonly [said: string, when: string])[] = [
      ["every 20m", `every 20m · next ${zurich}`],
      ['"every 20m"', `every 20m · next ${zurich}`],
      ["Every 1h30m", "every 1h30m · next 2026-01-01 02:30 Europe/Zurich, in 1h"],
      ["in 20m", `at 2026-01-01 01:20 (Europe/Zurich) · next ${zurich}`],
      ["at 20m", `at 2026-01-01 01:20 (Europe/Zurich) · next ${zurich}`],
      ["at 2026-01-01T01:20", `at 2026-01-01 01:20 (Europe/Zurich) · next ${zurich}`],
      ["“at 2026-01-01 01:20”", `at 2026-01-01 01:20 (Europe/Zurich) · next ${zurich}`],
      ["at 2026-01-01T00:20Z", `at 2026-01-01 01:20 (Europe/Zurich) · next ${zurich}`],
      ['"20 1 * * *"', `20 1 * * * (Europe/Zurich) · next ${zurich}`],
      ["cron 20 1 * * *", `20 1 * * * (Europe/Zurich) · next ${zurich}`],
      ["@hourly", "@hourly (Europe/Zurich) · next 2026-01-01 02:00 Europe/Zurich, in 1h"],
    ];
    for (const [said, when] of forms) {
      const answer = await say(`/cron add ${said} say "this"\nand  that`);
      assert.equal(answer.replace(/^job [0-9a-f]{8}: /, ""), when, said);
    }
    const { rows } = await office.store.jobs({});
    assert.equal(rows.length, forms.length);
    for (const { message } of rows) assert.equal(message, 'say "this"\nand  that');
    await assert.rejects(say("/cron add every 1h 30m look"), /is 30m a part of when, or of the message\?/);
    await assert.rejects(say("/cron add soon look"), /"soon" says no time: .*every 15m, in 20m, or at 2026/);
    for (const nothing of ["/cron add", "/cron add in 20m", '/cron add "every 20m"'])
      await assert.rejects(say(nothing), /write \/cron add every <15m> <message>/, nothing);
  });

  test("takes a job by its name, its id or the beginning of that, and by nothing that may be two", async (t) => {
    const { office, say } = await chat(t);
    await office.add("aaaa1111bbbb", { name: "morning plan" });
    await office.add("aaaa2222bbbb", { name: "aaaa1111bbbb" });
    await office.add("cccc3333dddd");
    assert.match(await say("/cron show morning plan"), /^aaaa1111bbbb \(morning plan\)/);
    assert.match(await say('/cron show "morning plan"'), /^aaaa1111bbbb /);
    assert.match(await say("/cron show aaaa1111bbbb"), /^aaaa1111bbbb /, "an id goes before a name");
    assert.match(await say("/cron show aaaa2"), /^aaaa2222bbbb /);
    assert.match(await say("/cron show cccc"), /^cccc3333dddd · /);
    await assert.rejects(
      say("/cron rm aaaa"),
      /may be aaaa1111bbbb \(morning plan\), aaaa2222bbbb \(aaaa1111bbbb\)/,
    );
    await assert.rejects(say("/cron rm ccc"), /say 4 characters or more of its id, or its name/);
    await assert.rejects(say("/cron rm 1"), /there is no job "1"/);
    await assert.rejects(say("/cron rm mornin plan"), /did you mean morning plan\?/);
    assert.equal(await say("/cron rm morning plan"), "job morning plan is gone");
    assert.equal((await office.store.jobs({})).rows.length, 2);
  });
});

test("what is said is harmless and bounded", () => {
  assert.equal(textIn(["a\u001b[2J", "b\u202e\u0007"]), "a\nb");
  assert.ok(textIn(["x".repeat(1_000_000)]).length <= OUTWARD_CHARS_MAX);
});
