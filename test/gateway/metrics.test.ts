// What a scrape says, compared with what has happened.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { describe, test, type TestContext } from "node:test";
import { Metrics } from "../../src/gateway/metrics.ts";
import { parseKey } from "../../src/routing/key.ts";
import type { Change, Receipt } from "../../src/store/change.ts";
import { openedWired, type Opened } from "../fixtures/wired.ts";
import { tool } from "../sessions/stage.ts";
import { parsed, type Family } from "./exposition.ts";

const KEY = "agent:main:main";

interface Measured extends Opened {
  readonly metrics: Metrics;
  readonly commits: (readonly [readonly Change[], Receipt])[];
}

const good = tool("good", async () => "fine");
const bad = tool("bad", async () => {
  throw new Error("no");
});

async function measured(test: TestContext): Promise<Measured> {
  const metrics = new Metrics();
  const commits: (readonly [readonly Change[], Receipt])[] = [];
  const told = (changes: readonly Change[], receipt: Receipt): void => {
    commits.push([changes, receipt]);
    metrics.told(changes, receipt);
  };
  const channels = { pigeon: async () => {} };
  const opened = await openedWired(test, {}, { told, channels, tools: [good, bad] });
  const { system } = opened;
  metrics.look({ system, version: "1.2.3", subscribers: () => 7, isDraining: () => false });
  return { ...opened, metrics, commits };
}

async function families(metrics: Metrics): Promise<ReadonlyMap<string, Family>> {
  return parsed(await metrics.text());
}

/** Of all series of a family that have these labels, together. */
function sum(
  all: ReadonlyMap<string, Family>,
  name: string,
  labels: Readonly<Record<string, string>> = {},
): number {
  const family = all.get(name);
  assert.ok(family, `there is ${name}`);
  const fits = (has: Readonly<Record<string, string>>): boolean =>
    Object.entries(labels).every(([key, value]) => has[key] === value);
  return family.samples.reduce((total, each) => total + (fits(each.labels) ? each.value : 0), 0);
}

describe("metrics", () => {
  test("are in Prometheus' text format, before anything has happened and after", async (t) => {
    const { metrics, sessions } = await measured(t);
    await families(metrics);
    await sessions.ask(KEY, "!call good {}\n!then\n!say hello");
    metrics.request("/v1/sessions/:sessionKey/ask", "POST", 200, 0.02);
    metrics.request("/v1/sessions/:sessionKey/ask", "POST", 404, 400);
    metrics.request("(none)", "PROPFIND", 404, 0);
    const all = await families(metrics);
    assert.match(metrics.contentType, /^text\/plain; version=0\.0\.4/);
    for (const name of all.keys()) assert.match(name, /^sessiond_/);
    assert.equal(sum(all, "sessiond_http_requests_total", { status: "4xx" }), 2);
    assert.equal(sum(all, "sessiond_http_requests_total", { method: "other" }), 1);
    const seconds = all.get("sessiond_http_request_duration_seconds");
    assert.equal(seconds?.type, "histogram");
  });

  test("pass promtool's check", { skip: whyNoPromtool() }, async (t) => {
    const { metrics, sessions } = await measured(t);
    await sessions.ask(KEY, "hello");
    metrics.request("/healthz", "GET", 200, 0.001);
    const { status, stdout, stderr } = spawnSync("promtool", ["check", "metrics"], {
      input: await metrics.text(),
      encoding: "utf8",
    });
    assert.equal(status, 0, `${stdout}${stderr}`);
  });

  test("count what has happened: letters, turns, steps, tools, tokens, children, answers and sessions", async (t) => {
    const { metrics, sessions, commits, system } = await measured(t);
    await sessions.ask(KEY, "!call good {}\n!call bad {}\n!then\n!say hello");
    await sessions.ask(KEY, "!fail overflow");
    const spawn = { task: "!say done", label: "child" };
    await sessions.ask("agent:main:thread:other", `!spawn ${JSON.stringify(spawn)}\n!wait\n!then\n!say ok`, {
      model: "rehearsal/large",
    });
    const twice = { channel: "pigeon", chatType: "direct", peer: "ann" } as const;
    await sessions.receive(twice, "!say to you", { id: "same" });
    await sessions.receive(twice, "!say to you", { id: "same" });
    await until(
      async () => (await families(metrics)).get("sessiond_answers_settled_total")?.samples.length === 1,
    );
    const all = await families(metrics);
    const is = (name: string, expected: number, labels: Readonly<Record<string, string>> = {}): void =>
      assert.equal(sum(all, `sessiond_${name}_total`, labels), expected, `${name} ${JSON.stringify(labels)}`);

    const { sessions: rows } = await sessions.call("list", { limit: 50 });
    const statuses = await Promise.all(rows.map(({ sessionKey }) => sessions.status(sessionKey)));
    const used = (of: "input" | "output" | "cost" | "steps"): number =>
      statuses.reduce((total, { usage }) => total + usage[of], 0);
    is("commits", commits.length);
    is("turns_ended", 1, { outcome: "overflow" });
    is("turns_ended", 4, { outcome: "done" });
    is("steps", used("steps"));
    is("tokens", used("input"), { kind: "input" });
    is("tokens", used("output"), { kind: "output" });
    assert.ok(sum(all, "sessiond_tokens_total", { model: "rehearsal/large" }) > 0);
    assert.ok(Math.abs(sum(all, "sessiond_cost_dollars_total") - used("cost")) < 1e-9);
    assert.ok(used("cost") > 0);
    is("tool_calls", 1, { outcome: "error" });
    is("tool_calls", 3, { outcome: "ok" });
    is("children_spawned", 1);
    is("letters", 4, { from: "external_user" });
    is("letters", 2, { from: "inter_session" });
    is("answers_sent", 1);
    is("answers_settled", 1, { outcome: "delivered" });
    is("sessions_opened", 3); // main was there; the other, its child, and ann's
    is(
      "entries_appended",
      await entriesOf(
        system,
        rows.map(({ sessionKey }) => sessionKey),
      ),
    );
    assert.equal(rows.length, 4);
  });

  test("count commands, conversations that begin anew, and jobs that were disabled", async (t) => {
    const { metrics, sessions } = await measured(t);
    await sessions.ask(KEY, "hello");
    for (const text of ["/status", "/reset", "/nothing of this", "/help"])
      await sessions.call("command", { sessionKey: KEY, text });
    const pigeon = { channel: "pigeon", chatType: "direct", peer: "ann" } as const;
    await sessions.receive(pigeon, "/status");
    const job = { name: "bad", message: "!fail auth", every: "1h", failuresMax: 1 };
    await sessions.call("addJob", job);
    await sessions.call("runJob", { job: "bad" });
    await until(async () => (await sessions.call("job", { job: "bad" })).state === "disabled");
    const all = await families(metrics);
    const is = (name: string, expected: number, labels: Readonly<Record<string, string>> = {}): void =>
      assert.equal(sum(all, `sessiond_${name}_total`, labels), expected, `${name} ${JSON.stringify(labels)}`);
    is("commands", 2, { name: "status" });
    is("commands", 1, { name: "new" });
    is("commands", 4);
    is("resets", 1, { why: "asked" });
    is("resets", 1);
    is("jobs_disabled", 1);
    is("job_runs_started", 1);
    is("job_runs_ended", 1, { outcome: "failed" });
  });

  test("an answer that is handed over once more is not counted as delivered before it is", async (t) => {
    const { metrics, sessions } = await measured(t);
    await sessions.receive({ channel: "nowhere", chatType: "direct", peer: "ann" }, "!say to nobody");
    const refused = async (): Promise<number> =>
      sum(await families(metrics), "sessiond_answers_settled_total", { outcome: "refused" });
    await until(async () => (await refused()) === 1);
    const [answer] = (await sessions.outbox({ refused: true })).answers;
    await sessions.call("redeliver", { id: answer?.id ?? "" });
    await until(async () => (await refused()) === 2);
    const all = await families(metrics);
    assert.equal(sum(all, "sessiond_answers_settled_total", { outcome: "delivered" }), 0);
    assert.equal(sum(all, "sessiond_answers_sent_total"), 2);
  });

  test("tell what upkeep has done, and what is on the disk", async (t) => {
    const { metrics, sessions } = await measured(t);
    const before = await families(metrics);
    assert.deepEqual(before.get("sessiond_disk_bytes")?.samples ?? [], [], "nobody has looked yet");
    await sessions.ask("agent:main:thread:talk", "!say hello");
    await sessions.call("archive", { sessionKey: "agent:main:thread:talk" });
    await sessions.call("upkeep", {});
    const all = await families(metrics);
    assert.ok(sum(all, "sessiond_disk_bytes", { kind: "transcripts" }) > 0);
    assert.ok(sum(all, "sessiond_disk_bytes", { kind: "archives" }) > 0);
    assert.equal(sum(all, "sessiond_upkeep_archived_sessions_total"), 0, "a person did that");
    assert.equal(sum(all, "sessiond_upkeep_over_budget_bytes"), 0);
  });

  test("have no label that grows with what people do", async (t) => {
    const { metrics, sessions } = await measured(t);
    await sessions.ask("agent:main:thread:very-own-name", "!call strange_tool {}\n!then\n!say hello");
    const text = await metrics.text();
    assert.doesNotMatch(text, /very-own-name|strange_tool|agent:main/);
    const message = { role: "assistant", content: [], api: "x", provider: "p", model: "unheard-of" } as const;
    const usage = { input: 5, output: 0, cacheRead: 0, cacheWrite: 0 };
    const draft = {
      type: "message",
      timestamp: "2026-01-01T00:00:00.000Z",
      message: { ...message, usage, stopReason: "stop", timestamp: 0 },
    } as const;
    const append: Change = {
      do: "append",
      key: parseKey(KEY),
      fence: 0,
      after: 0,
      entries: [draft],
      rewindTo: null,
      contextSeq: null,
    };
    metrics.told([append], { cursor: "", seqs: {}, posts: [], forwarded: [] });
    const all = await families(metrics);
    assert.equal(sum(all, "sessiond_tokens_total", { model: "other", kind: "input" }), 5);
    assert.doesNotMatch(await metrics.text(), /unheard-of/);
  });

  test("are all explained in docs/observing.md, which explains no other", async (t) => {
    const { metrics } = await measured(t);
    const documented = readFileSync("docs/observing.md", "utf8").matchAll(/^\| `(sessiond_\w+)` \|/gm);
    const names = [...(await families(metrics)).values()]
      .filter(({ name, type }) => !/_(?:nodejs|process)_/.test(name) && type !== "histogram")
      .map(({ name }) => name);
    assert.deepEqual([...documented].map(([, name]) => name).toSorted(), names.toSorted());
  });

  test("say how things stand: slots, programs, subscribers, and whether the gateway ends", async (t) => {
    const { metrics, system, sessions } = await measured(t);
    const slow = sessions.ask(KEY, "!slow 60000\n!say never");
    await until(async () => system.slots.load().inUse.interactive === 1);
    const all = await families(metrics);
    assert.equal(sum(all, "sessiond_model_slots_in_use", { class: "interactive" }), 1);
    assert.equal(sum(all, "sessiond_model_slots"), system.config.scheduler.slots);
    assert.equal(sum(all, "sessiond_program_slots"), system.config.scheduler.processes);
    assert.equal(sum(all, "sessiond_model_slots_waiting"), 0);
    assert.equal(sum(all, "sessiond_programs_running"), 0);
    assert.equal(sum(all, "sessiond_subscribers"), 7);
    assert.equal(sum(all, "sessiond_draining"), 0);
    assert.equal(sum(all, "sessiond_build_info", { version: "1.2.3" }), 1);
    assert.ok(all.has("sessiond_nodejs_eventloop_lag_seconds"));
    assert.ok(all.has("sessiond_process_resident_memory_bytes"));
    assert.ok(all.has("sessiond_process_cpu_seconds_total"));
    await sessions.call("abort", { sessionKey: KEY });
    await slow;
  });
});

async function entriesOf(system: Opened["system"], keys: readonly string[]): Promise<number> {
  const rows = await Promise.all(keys.map((key) => system.store.session(parseKey(key))));
  return rows.reduce((total, row) => total + (row?.transcript.lastSeq ?? 0), 0);
}

async function until(isSo: () => Promise<boolean>): Promise<void> {
  while (!(await isSo())) await new Promise((wake) => setTimeout(wake, 5));
}

function whyNoPromtool(): string | false {
  return spawnSync("promtool", ["--version"]).error === undefined ? false : "promtool is not installed here";
}
