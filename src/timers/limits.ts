// Bounds of what is done at times, as src/limits.ts has all others: unit in the name, reason beside it.

import { assert } from "../base/assert.ts";
import { DELIVERY_MS_MAX, DELIVERY_RETRY_MS, DELIVERY_TRIES_MAX } from "../limits.ts";

/** Runs of a job that its record keeps after their end: what a person looks back at. Each has some hundreds of bytes. */
export const JOB_RUNS_KEPT = 20;

/** Characters of what a run said, or why it failed, in the record of its job: a line of a table. */
export const RUN_NOTE_CHARS_MAX = 200;

/** The shortest that something is repeated after: a cron expression cannot say less either. */
export const EVERY_MS_MIN = 1_000;

/** The longest: some ten years. */
export const EVERY_MS_MAX = 10 * 366 * 24 * 60 * 60 * 1_000;

/** Characters of a cron expression: every field may list all it has. */
export const EXPRESSION_CHARS_MAX = 500;

/**
 * Missed runs that are made up for, one after the other, where each is to be. Who was away for a month does not want the month
 * in an afternoon: older ones are counted as skipped, and the record says so.
 */
export const JOB_MADE_UP_MAX = 50;

/**
 * So late a time is met, whatever the grace: a clock rings some milliseconds late, and a machine that is busy some seconds. Less, and
 * a job without any grace would never run.
 */
export const ON_TIME_MS = 5_000;

/** Failures in a row after which a job is disabled, unless it says another number: it is looked at, and does not cost for ever. */
export const JOB_FAILURES_DEFAULT = 5;

/**
 * How long after its time is up the end of a run is waited for before it is given up as lost. What ends it by then is its
 * deadline; what is told of it may stand in line behind an answer that no channel takes.
 */
export const RUN_LOST_MS = 20 * 60 * 1_000;

/** Cron expressions that are kept ready to be asked. Each takes some 80 KB, and is made anew in a twentieth of a millisecond. */
export const EXPRESSIONS_KEPT = 64;

/** Times that the end of a run is tried to be written down, when others change the same record, before the outbox waits a while. */
export const JOB_TRIES_MAX = 10;

/** Times that the start tries to set a timer which other gateways change in the same moment: each try means that one of them did. */
export const START_TRIES_MAX = 10;

/** Bytes of a heartbeat's task file that a beat is shown: each beat pays for them. The rest is left out, and that is said. */
export const TASK_BYTES_MAX = 16 * 1024;

/** Characters that may stand beside HEARTBEAT_OK in an answer which says nothing else: some add a word of their own. */
export const OK_CHARS_BESIDE_MAX = 30;

/** How long the same alert is not told again: people saw it, and a day later it is still so. */
export const ALERT_QUIET_MS = 24 * 60 * 60 * 1_000;

/** Alerts that are remembered. An agent that has more to tell in a day may repeat itself. */
export const ALERTS_KEPT = 16;

/** Characters of the last alert, or of why there was no answer, that a list of heartbeats shows: a line of a table. */
export const ALERT_HEAD_CHARS_MAX = 200;

/** Heartbeats that fail in a row until main is told of it: one that fails now and then is no news. */
export const BEAT_FAILURES_TOLD = 5;

const PATIENCE_MS = DELIVERY_TRIES_MAX * DELIVERY_MS_MAX + DELIVERY_RETRY_MS * 2 ** DELIVERY_TRIES_MAX;
assert(RUN_LOST_MS > PATIENCE_MS, "an answer that no channel takes is given up before a run behind it is");
