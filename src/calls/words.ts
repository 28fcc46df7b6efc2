// Words that shapes, metrics and the command line share. Nothing is loaded for them.

/** What sessions are, by their keys. */
export const KINDS = [
  "main",
  "heartbeat",
  "direct",
  "group",
  "channel",
  "thread",
  "subagent",
  "cron",
  "hook",
  "acp",
] as const;

export const STATES = ["idle", "queued", "running", "waiting", "paused", "ended"] as const;

/** How sessions end. */
export const ENDS = ["done", "failed", "killed", "timeout", "limit", "interrupted"] as const;

/** Ends that somebody should look at: neither what was done nor what somebody stopped. */
export const BAD_ENDS: ReadonlySet<string | null> = new Set(["failed", "timeout", "limit", "interrupted"]);

/** How turns end. */
export const OUTCOMES = [
  "done",
  "failed",
  "overflow",
  "aborted",
  "killed",
  "timeout",
  "limit",
  "interrupted",
] as const;

/** Who wrote what came through no channel: somebody at a terminal or a page. */
export const A_PERSON = "a person";
