// `sessiond cron` against a real daemon: added in a shell, fired by its clock.

import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { Output } from "../../src/calls/door.ts";
import { Daemon } from "../gateway/daemon.ts";
import { ran, type Ran } from "./stage.ts";

const MAIN = "agent:main:main";

test("jobs are added, fire, are listed, shown, changed, run and removed from a shell", async (t) => {
  const daemon = await Daemon.start(t, { config: { agents: { coder: {} }, timezone: "Europe/Zurich" } });
  const run = (...words: readonly string[]): Promise<Ran> => ran(t, daemon, "cron", ...words);
  const asJson = async <Of>(...words: readonly string[]): Promise<Of> => {
    const { exit, out, err } = await run(...words, "--json");
    assert.equal(exit, 0, err);
    return JSON.parse(out) as Of;
  };
  const untilOver = async (job: string): Promise<Output<"jobRuns">["runs"]> => {
    for (;;) {
      const { runs } = await daemon.call("jobRuns", { job });
      if (runs.some(({ outcome }) => outcome !== null)) return runs;
      await sleep(50);
    }
  };

  assert.match((await run()).out, /^no jobs yet: sessiond cron add "0 9/);
  const added = await run("add", "0 9 29 2 *", "!say", "good morning", "--name", "morning");
  assert.match(
    added.out,
    /^[0-9a-f]{12} \(morning\) added: 0 9 29 2 \* \(Europe\/Zurich\); next 20\d\d-02-29 09:00 Europe\/Zurich, in \d+d\n$/,
    added.err,
  );
  assert.equal((await run("add", "in", "1s", "!say tea", "--name", "tea", "--deliver", "none")).exit, 0);
  assert.equal((await run("add", "every 15m", "look", "--thread", "queue", "--name", "queue")).exit, 0);
  const piped = await ran(
    t,
    { env: daemon.env, input: "!say piped" },
    "cron",
    "add",
    "@daily",
    "-",
    "--id",
    "7",
  );
  assert.match(piped.out, /added: @daily \(Europe\/Zurich\)/, piped.err);
  const again = await ran(
    t,
    { env: daemon.env, input: "!say piped" },
    "cron",
    "add",
    "@daily",
    "-",
    "--id",
    "7",
  );
  assert.match(again.out, /was there already/);

  const tried = await run("when", "0 9 29 2 *", "-n", "2");
  assert.match(
    tried.out,
    /^0 9 29 2 \* \(Europe\/Zurich\)\n(?:  20\d\d-02-29 09:00 Europe\/Zurich, in \d+d\n){2}$/,
    tried.err,
  );

  const [tea] = await untilOver("tea");
  assert.deepEqual([tea?.outcome, tea?.note, tea?.asked], ["done", "tea", false]);
  const runs = await run("runs", "tea");
  assert.match(
    runs.out,
    /^BEGAN +FOR \(Europe\/Zurich\) +TOOK +OUTCOME +SESSION +NOTE\n.* done +agent:main:cron:\w+:run:\S+ +tea\n$/,
  );
  const list = await run("list");
  assert.match(list.out, /^JOB +STATE +NEXT +LAST +WHEN +RUNS IN → TO +WHAT\n/);
  assert.match(list.out, /\n[0-9a-f]{8} +waiting +in 1[45]m +– +every 15m +thread:queue → route +queue\n/);
  assert.match(
    list.out,
    /\n[0-9a-f]{8} +over +– +done (?:now|\d+s ago) +at 20.*fresh → none +tea\n$/,
    "what is never due again is last",
  );
  assert.equal((await asJson<Output<"jobs">>("list", "--disabled")).jobs.length, 1);
  assert.equal((await run("list", "--agent", "coder")).out, "no such jobs\n");
  const soonest = await run("list", "-n", "1");
  assert.match(soonest.out, /^JOB.*\n.* queue\n$/, "of all, what is due soonest");
  assert.equal(soonest.err, "(3 more: --limit)\n");

  const shown = await run("show", "queue");
  assert.match(shown.out, /\n {2}runs in +agent:main:thread:queue\n {2}answer to +route\n/);
  assert.match(shown.out, /\n {2}missed +coalesce\n/);
  assert.match(
    shown.out,
    /\n {2}so far +no run by its schedule; runs that somebody asked for do not count\n/,
  );
  assert.match(shown.out, /\n {2}added +20\d\d-\d\d-\d\d \d\d:\d\d(?::\d\d)? \S+ by a person\n/);
  const job = await asJson<Output<"job">>("show", "morning");
  assert.deepEqual([job.message, job.times.length, job.delivery], ["!say good morning", 5, MAIN]);

  const edited = await run(
    "edit",
    "morning",
    "--when",
    "30 8 29 2 *",
    "--tz",
    "UTC",
    "--cost",
    "2",
    "--steps",
    "5",
  );
  assert.match(edited.out, /changed: 30 8 29 2 \* \(UTC\); next/, edited.err);
  const limits = async (): Promise<unknown> => (await daemon.call("job", { job: job.id })).limits;
  assert.equal((await run("edit", "morning", "--cost", "default", "--model", "rehearsal/large")).exit, 0);
  assert.deepEqual(await limits(), { stepsPerTurn: 5, tokens: null, cost: null }, "what is not named stays");
  const off = await run("edit", job.id.slice(0, 8), "--disable", "--model", "default", "--steps", "default");
  assert.match(off.out, /changed: .*; disabled\n$/, off.err);
  assert.deepEqual(await limits(), null);
  assert.equal(
    (await asJson<Output<"job">>("edit", "morning", "--message", "!say hi", "--enable")).state,
    "waiting",
  );

  const waited = await run("run", "morning", "--wait");
  assert.deepEqual([waited.exit, waited.out], [0, "hi\n"], waited.err);
  const long = `the day ${"is long ".repeat(60)}and ends`;
  await run("edit", "morning", "--message", `!say ${long}`);
  assert.equal((await run("run", "morning", "--wait")).out, `${long}\n`, "all of it, and not how it begins");
  await run("edit", "morning", "--message", "!fail local");
  const failed = await run("run", "morning", "--wait");
  assert.deepEqual([failed.exit, failed.out], [1, ""]);
  assert.match(failed.err, /^sessiond: failed: /);
  const begun = await run("run", "queue");
  assert.match(begun.out, /^runs in agent:main:thread:queue\. Its end: sessiond cron runs [0-9a-f]{12}\n$/);
  assert.match(
    (await ran(t, daemon, "completion", "jobs")).out,
    /^(?:(?:morning|queue|tea|[0-9a-f]{12})\n){7}$/,
  );

  for (const [word, state] of [
    ["disable", "disabled"],
    ["enable", "waiting"],
    ["off", "disabled"],
    ["on", "waiting"],
  ] as const)
    assert.equal((await asJson<Output<"job">>(word, "morning")).state, state, word);
  assert.equal((await asJson<Output<"jobs">>("ls")).jobs.length, 4);
  assert.match((await run("remove", "tea")).out, /^[0-9a-f]{12} \(tea\) is removed\n$/);
  assert.match((await run("rm", "morning")).out, /^[0-9a-f]{12} \(morning\) is removed\n$/);
  assert.equal((await run("show", "morning")).exit, 66);

  const got = await daemon.fetch("/v1/jobs?enabled=true&limit=1");
  const page = (await got.json()) as Output<"jobs">;
  assert.deepEqual([got.status, page.jobs.length, page.next !== null], [200, 1, true]);
  const posted = await daemon.fetch("/v1/jobs", {
    method: "POST",
    body: JSON.stringify({ every: "1h", message: "x" }),
  });
  const { id } = (await posted.json()) as Output<"addJob">;
  const patched = await daemon.fetch(`/v1/jobs/${id}`, {
    method: "PATCH",
    body: JSON.stringify({ name: "a b/c" }),
  });
  assert.equal(patched.status, 200);
  assert.equal((await daemon.fetch(`/v1/jobs/${encodeURIComponent("a b/c")}`)).status, 200);
  assert.equal((await daemon.fetch(`/v1/jobs/${id}/runs`)).status, 200);
  assert.equal((await daemon.fetch(`/v1/jobs/${id}`, { method: "DELETE" })).status, 200);
  assert.equal((await daemon.fetch(`/v1/jobs/${id}`)).status, 404);
});

test("what is typed wrong is refused with what would be right", async (t) => {
  const daemon = await Daemon.start(t);
  await daemon.call("addJob", { every: "1h", message: "x", name: "x" });
  const wrong: readonly (readonly [words: readonly string[], exit: number, says: RegExp])[] = [
    [
      ["frobnicate"],
      64,
      /there is no "frobnicate"; say add, when, list, show, edit, run, runs, enable, disable, rm/,
    ],
    [["add"], 64, /says no time: say a cron expression in quotes/],
    [["add", "0", "9", "*", "*", "*", "message"], 64, /"0" says no time: .*in quotes/],
    [["add", "every", "15m"], 64, /say what is to be done/],
    [["add", "every", "often", "x"], 64, /every: a span such as 90s/],
    [["add", "every", "5m", "10s", "x"], 64, /is 10s a part of when, or of the message\?/],
    [["add", "0 25 * * *", "x"], 64, /cron: field 2 of "0 25 \* \* \*" is the hour, 0 to 23, not "25"/],
    [["add", "@reboot", "x"], 64, /cron: five fields.*or a word such as @daily/],
    [["add", "every", "1h", "x", "--failures", "-1"], 64, /--failures is a number of 0 or more, not "-1"/],
    [["add", "every", "1h", "x", "--name", "x"], 73, /agent main has a job "x" already/],
    [["add", "at 2001-01-01T00:00Z", "x"], 64, /is over/],
    [["add", "0 9 * * *", "x", "--tz", "Mars/Base"], 64, /IANA/],
    [["add", "0 9 * * *", "x", "--missed", "never"], 64, /Allowed choices are run, skip, coalesce\. Usage/],
    [["add", "0 9 * * *", "x", "--think", "hard"], 64, /think/],
    [["add", "0 9 * * *", "x", "--cost", "much"], 64, /--cost is a number/],
    [["add", "0 9 * * *", "x", "--thread", "a", "--session", "main"], 64, /either --session or --thread/],
    [
      ["add", "0 9 * * *", "x", "--session", "main", "--model", "rehearsal/large"],
      64,
      /model: only of fresh/,
    ],
    [["add", "0 9 * * *", "x", "--deliver", "nowhere"], 66, /there is no session "nowhere"/],
    [["add", "0 9 * * *", "x", "--agent", "ghost"], 66, /there are: main/],
    [["when", "0 25 * * *"], 64, /cron: field 2 of "0 25 \* \* \*" is the hour, 0 to 23, not "25"/],
    [["when", "every", "1h", "x"], 64, /cron when: a time, and nothing else/],
    [["when", "@daily", "-n", "51"], 64, /limit: a whole number from 1 to 50, not 51/],
    [["list", "x"], 64, /it takes no words/],
    [["list", "--enabled", "--disabled"], 64, /either --enabled or --disabled/],
    [["show"], 64, /say which job/],
    [["show", "x", "y"], 64, /one job at a time/],
    [["show", "ghost"], 66, /there is no job "ghost"/],
    [["edit", "x"], 64, /say what to change/],
    [["edit", "x", "--enable", "--disable"], 64, /either --enable or --disable/],
    [["edit", "x", "--when", "sometimes"], 64, /says no time/],
    [["edit", "x", "--when", "in", "5m"], 64, /put the time in quotes: --when "in 5m"/],
    [["edit", "--when", "30", "x", "8", "1", "1", "1"], 64, /--when "30 8 1 1 1"/],
    [["edit", "my", "job", "--when", "in 5m"], 64, /one job at a time/],
    [
      ["edit", "x", "--tz", "UTC"],
      64,
      /--tz alone moves only a cron expression, .*"every 1h"; say --when with it/,
    ],
    [["disable"], 64, /cron disable: say which job/],
    [["rm", "ghost"], 66, /there is no job/],
  ];
  for (const [words, exit, says] of wrong) {
    const result = await ran(t, daemon, "cron", ...words);
    assert.equal(result.exit, exit, `${words.join(" ")}: ${result.err}`);
    assert.match(result.err, says, words.join(" "));
  }
  assert.equal((await daemon.call("jobs", {})).jobs.length, 1);
});
