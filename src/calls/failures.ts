// What went wrong since the start, the newest of it: for people who look what needs them. From commits once they are durable. It is
// no record: transcripts, jobs and the outbox are, and the log has more.

import { z } from "zod";
import { redacted } from "../base/redact.ts";
import type { Outgoing } from "../mail/letter.ts";
import type { SessionKey } from "../routing/key.ts";
import type { Change } from "../store/change.ts";
import { hasFailed, type Job, type Run } from "../timers/job.ts";
import type { Draft } from "../transcript/entry.ts";
import { isNote } from "../transcript/note.ts";
import type { TurnEnded } from "../turns/where.ts";
import { FAILURE_REASON_CHARS_MAX, FAILURES_KEPT } from "./limits.ts";

export const failure = z.strictObject({
  at: z.string(),
  sessionKey: z.string().nullable().describe("null: it happened in none."),
  what: z
    .enum(["turn", "job", "answer"])
    .describe(
      "answer: one that will not be delivered. A run of a job that failed is one, and its turn another.",
    ),
  outcome: z
    .string()
    .describe(
      "How the turn or the run ended: failed, overflow, timeout, limit, interrupted, lost; or refused.",
    ),
  reason: z.string().describe("The beginning of why, without secrets; empty: nobody said."),
  job: z.string().nullable().describe("The id of the job; null: of none."),
  seq: z.int().nullable().describe("Of the entry in its session that says so; null: there is none."),
});

type Failure = z.input<typeof failure>;

export class Failures {
  readonly #clean: (text: string) => string;
  readonly #nowMs: () => number;
  readonly #newest: Failure[] = []; // the newest is first

  /** `clean` takes out the secrets of the configuration. */
  constructor(clean: (text: string) => string, nowMs: () => number) {
    this.#clean = clean;
    this.#nowMs = nowMs;
  }

  /** Newest first, at most FAILURES_KEPT. */
  get newest(): readonly Failure[] {
    return this.#newest;
  }

  told(changes: readonly Change[]): void {
    for (const change of changes)
      if (change.do === "append")
        for (const [at, entry] of change.entries.entries())
          this.#written(change.key, entry, change.after + 1 + at);
  }

  /** A run that was not done. */
  runFailed({ id }: Job, { key, outcome, note, endedAtMs }: Run): void {
    const at = new Date(endedAtMs ?? this.#nowMs()).toISOString();
    this.#add({
      at,
      sessionKey: key,
      what: "job",
      outcome: outcome ?? "",
      reason: note ?? "",
      job: id,
      seq: null,
    });
  }

  /** An answer that its channel will not take. */
  refused({ key }: Pick<Outgoing, "key">, reason: string): void {
    const at = new Date(this.#nowMs()).toISOString();
    this.#add({ at, sessionKey: key, what: "answer", outcome: "refused", reason, job: null, seq: null });
  }

  #written(key: SessionKey, entry: Draft, seq: number): void {
    if (!isNote(entry, "turn-ended") || entry.type !== "custom") return;
    const { outcome, reason } = entry.data as TurnEnded;
    if (!hasFailed(outcome)) return;
    const at = entry.timestamp;
    this.#add({ at, sessionKey: key, what: "turn", outcome, reason: reason ?? "", job: null, seq });
  }

  /** Secrets go first: a text that is cut in the middle of one would keep its beginning. */
  #add(failed: Failure): void {
    const reason = redacted(this.#clean(failed.reason)).trim();
    const isLong = reason.length > FAILURE_REASON_CHARS_MAX;
    const cut = isLong ? `${reason.slice(0, FAILURE_REASON_CHARS_MAX - 1).toWellFormed()}…` : reason;
    this.#newest.unshift({ ...failed, reason: cut });
    if (this.#newest.length > FAILURES_KEPT) this.#newest.pop();
  }
}
