import assert from "node:assert/strict";
import { test } from "node:test";
import { addInput, clashesIn, clashText, editInput, valuesOf, type Given } from "./form.ts";
import type { Job } from "../../wire/jobs.ts";

const JOB: Job = {
  id: "3f9c2a7be410",
  agent: "main",
  name: "morning",
  state: "waiting",
  enabled: true,
  why: null,
  when: "0 9 * * 1-5 (Europe/Zurich)",
  timezone: "Europe/Zurich",
  next: null,
  target: "fresh",
  delivery: "agent:main:main",
  message: "look\nwell",
  failures: 0,
  at: null,
  every: null,
  cron: "0 9 * * 1-5",
  times: [],
  model: null,
  thinking: null,
  limits: null,
  timeout: "1h",
  missed: "coalesce",
  grace: "1m",
  stagger: "0s",
  keep: "3d",
  failuresMax: 5,
  counts: { ran: 0, skipped: 0, coalesced: 0 },
  current: null,
  last: null,
  madeAt: "2026-06-01T09:00:00Z",
  madeBy: null,
  version: 1,
};

/** What stands in the form of a job, and what was typed over it. */
function given(job: Job | null, typed: Given = {}): Given {
  return { ...valuesOf(job), ...typed };
}

const AT_NOON = { "when.how": "cron", "when.cron": "0 12 * * *" };

test("a new job says what was typed and nothing else", () => {
  const tea = given(null, {
    name: " tea ",
    message: "tea",
    ...AT_NOON,
    "when.how": "in",
    "when.amount": "20",
  });
  assert.deepEqual(addInput(tea, "one"), {
    ...{ name: "tea", target: "fresh", at: "20m", message: "tea", missed: "coalesce", id: "one" },
  });
  const zoned = addInput({ ...tea, timezone: "Europe/Zurich", ...AT_NOON }, "one");
  assert.deepEqual([zoned.cron, zoned.at, zoned.timezone], ["0 12 * * *", undefined, "Europe/Zurich"]);
  const often = addInput({ ...tea, timezone: "Europe/Zurich", "when.how": "every", "when.unit": "h" }, "one");
  assert.deepEqual([often.every, often.timezone], ["20h", undefined], "it is the same in all zones");
  assert.throws(() => addInput({ ...tea, "when.amount": "" }, "one"), /^Fault: when: say a time/);
});

test("a place is chosen, or named beside the choice", () => {
  const said = (typed: Given) => {
    const { target, delivery } = addInput(given(null, { message: "x", ...typed }), "one");
    return [target, delivery];
  };
  assert.deepEqual(said({ target: "main", delivery: "none" }), ["main", "none"]);
  assert.deepEqual(said({ target: "thread:", "target.other": " queue " }), ["thread:queue", undefined]);
  assert.deepEqual(
    said({
      target: "key:",
      "target.other": "agent:main:main",
      delivery: "webhook:crm:",
      "delivery.other": "team",
    }),
    ["agent:main:main", "webhook:crm:team"],
  );
});

test("a form that is sent as it was changes nothing", () => {
  const jobs: readonly Partial<Job>[] = [
    {},
    { cron: null, every: "1h30m", timezone: null, when: "every 1h30m" },
    { cron: null, at: "2026-12-24T17:00:07.000Z" },
    { cron: "0 9 * * 7", target: "agent:main:thread:queue", delivery: "webhook:crm:team" },
    { cron: "*/5 9-17 * * MON", model: "rehearsal/small" },
  ];
  for (const each of jobs) {
    const job: Job = { ...JOB, ...each };
    assert.equal(editInput(job, given(job)), null, job.when);
  }
});

test("an edit says what is other than it was", () => {
  const said = (job: Job, typed: Given) => editInput(job, given(job, typed));
  assert.deepEqual(said(JOB, { "when.time": "08:30", message: "look\nbetter" }), {
    ...{ job: JOB.id, cron: "30 8 * * 1-5", message: "look\nbetter" },
  });
  assert.deepEqual(said({ ...JOB, model: "rehearsal/small" }, { model: "" }), { job: JOB.id, model: null });
  assert.deepEqual(said(JOB, { "when.how": "every", "when.amount": "2", "when.unit": "h" }), {
    ...{ job: JOB.id, every: "2h" },
  });
  assert.deepEqual(said(JOB, { name: "" }), { job: JOB.id, name: "" });
  assert.equal(said(JOB, { timezone: "" }), null, "it stays in the zone that it has");
  const once: Job = { ...JOB, cron: null, at: "2026-12-24T17:00:00.000Z" };
  assert.deepEqual(said(once, { timezone: "UTC" }), { job: JOB.id, at: "2026-12-24T18:00", timezone: "UTC" });
});

test("two who edit are in each other's way only where both changed the same, each otherwise", () => {
  const now: Job = {
    ...JOB,
    version: 9,
    cron: "0 7 * * 1-5",
    when: "0 7 * * 1-5 (Europe/Zurich)",
    missed: "skip",
  };
  const clashes = (typed: Given, seen = JOB) =>
    Object.fromEntries(clashesIn({ began: JOB, seen, now }, given(JOB, typed)));
  assert.deepEqual(clashes({ message: "look" }), {}, "they changed something else");
  assert.deepEqual(clashes({ "when.time": "08:30", missed: "skip" }), { when: now.when }, "both wanted skip");
  assert.deepEqual(clashes({ "when.time": "08:30" }, now), {}, "who has seen theirs means it");
  const text = clashText(new Map([["message", `a; name: ${"b".repeat(100)}\n`]]));
  assert.match(text, /^message: somebody else has changed it meanwhile, to “a, name: b{70,}…”$/);
});
