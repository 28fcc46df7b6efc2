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
