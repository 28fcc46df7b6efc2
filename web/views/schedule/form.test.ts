import assert from "node:assert/strict";
import { test } from "node:test";
import { addInput, editInput, fieldsOf } from "./form.ts";
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

function asGiven(job: Job): Record<string, string> {
  return Object.fromEntries(fieldsOf(job).map(({ name, value = "" }) => [name, value]));
}

test("a new job says what was typed and nothing else", () => {
  const given = {
    name: " tea ",
    when: "in 20m",
    timezone: "",
    message: "tea",
    target: "main",
    delivery: "",
    missed: "skip",
  };
  assert.deepEqual(addInput(given, "one"), {
    ...{ name: "tea", target: "main", at: "20m", message: "tea", missed: "skip", id: "one" },
  });
  assert.equal(addInput({ ...given, when: "every 15m" }, "one").every, "15m");
  assert.equal(addInput({ ...given, when: "0 9 * * *" }, "one").cron, "0 9 * * *");
  assert.throws(() => addInput({ ...given, when: "tomorrow" }, "one"), /says no time/);
});

test("a form that is sent as it was changes nothing", () => {
  assert.equal(editInput(JOB, asGiven(JOB)), null);
  const every: Job = { ...JOB, cron: null, every: "15m", timezone: null, when: "every 15m" };
  assert.equal(editInput(every, asGiven(every)), null);
  const once: Job = { ...JOB, cron: null, at: "2026-12-24T17:00:00.000Z" };
  assert.equal(editInput(once, asGiven(once)), null);
});

test("an edit says what is other than it was", () => {
  const given = { ...asGiven(JOB), when: "30 8 * * 1-5", message: "look\nbetter" };
  assert.deepEqual(editInput(JOB, given), { job: JOB.id, cron: "30 8 * * 1-5", message: "look\nbetter" });
  const small: Job = { ...JOB, model: "rehearsal/small" };
  assert.deepEqual(editInput(small, { ...asGiven(small), model: "" }), { job: JOB.id, model: null });
  assert.deepEqual(editInput(JOB, { ...asGiven(JOB), when: "every 2h", timezone: "" }), {
    job: JOB.id,
    every: "2h",
  });
  assert.deepEqual(editInput(JOB, { ...asGiven(JOB), name: "" }), { job: JOB.id, name: "" });
});
