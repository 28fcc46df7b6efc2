// What upkeep would do, does and did, in words. Pure.

import { bytes, many } from "../../../src/base/figures.ts";
import type { Input, Output } from "../../../src/calls/door.ts";

export type Plan = Output<"upkeepPlan">;
export type Step = Plan["steps"][number];
export type Run = Output<"upkeep">;
export type ArchiveRow = Output<"archives">["archives"][number];

export function stepsOf({ purge, archive, rotate, pack, collect }: Plan["totals"]): number {
  return purge + archive + rotate + pack + collect;
}

/** "archive 12 sessions, erase 3 archives for good"; empty: nothing. */
export function planWords({ archive, purge, rotate, pack, collect }: Plan["totals"]): string {
  return list([
    archive > 0 && `archive ${many(archive, "session")}`,
    purge > 0 && `erase ${many(purge, "archive")} for good`,
    rotate > 0 && `ask ${many(rotate, "session")} to go on in a new file`,
    pack > 0 && `pack ${many(pack, "archive")}`,
    collect > 0 && `remove ${many(collect, "blob")} that nobody names`,
  ]);
}

export function reportWords(report: NonNullable<Run["report"]>): readonly string[] {
  const { archived, purged, rotated, packed, packedBytes, collected, freedBytes, skipped, failed, stopped } =
    report;
  const done = list([
    archived > 0 && `archived ${many(archived, "session")}`,
    purged > 0 && `erased ${many(purged, "archive")} for good`,
    rotated > 0 && `asked ${many(rotated, "session")} to go on in a new file`,
    packed > 0 && `packed ${many(packed, "archive")} of ${bytes(packedBytes)}`,
    collected > 0 && `removed ${many(collected, "blob")}`,
  ]);
  return [
    done === "" ? "There was nothing to do." : `Done: ${done}.`,
    ...(freedBytes > 0 ? [`${bytes(freedBytes)} were freed.`] : []),
    ...(skipped > 0 ? [`${many(skipped, "step")} left alone: something had changed meanwhile.`] : []),
    ...(failed > 0 ? [`${many(failed, "step")} failed; the daemon's log says why.`] : []),
    ...(stopped === "disk_full"
      ? ["The disk is full: free some space; the rest is done by the next run."]
      : []),
    ...(stopped === "closed" ? ["The daemon was stopped: the rest is done by the next run."] : []),
  ];
}

/** With "and" before the last. */
function list(parts: readonly (string | false)[]): string {
  const said = parts.filter((part) => part !== false);
  return said.length < 2 ? said.join("") : `${said.slice(0, -1).join(", ")} and ${said.at(-1)}`;
}

const WHY: Readonly<Record<string, string>> = {
  ended: "it ended, and the time for which it is kept is over",
  stale: "nothing was changed in it for upkeep.staleDays",
  cap: "there are more sessions than upkeep.sessionsMax, and it is the oldest",
  budget: "more is used than upkeep.diskMiB, and it is the oldest",
  retention: "it is older than upkeep.archiveDays",
  rotate: "its file is larger than upkeep.rotateMiB",
  pack: "it is archived, and not packed yet",
  collect: "no transcript names them",
};

/** Which rule of the policy; one that is not known here is told as the daemon calls it. */
export function whyWords({ do: what, why }: Pick<Step, "do" | "why">): string {
  return WHY[why ?? what] ?? why ?? "";
}

export const VERBS: Readonly<Record<Step["do"], string>> = {
  archive: "archive",
  purge: "erase",
  rotate: "new file",
  pack: "pack",
  collect: "remove",
};

const ARCHIVED: Readonly<Record<ArchiveRow["why"], string>> = {
  asked: "somebody wanted it",
  stale: "not used for long",
  cap: "too many sessions",
  ended: "it had ended",
  budget: "the disk's budget",
  reset: "a new conversation began",
};

export function archivedWords({ why }: Pick<ArchiveRow, "why">): string {
  return ARCHIVED[why];
}

type Wanted = Pick<Input<"archives">, "agent" | "sessionKey" | "id">;

/** What somebody typed to find archives: a key, the end of one of main's, the beginning of an id, or an agent. */
export function wantedOf(typed: string): Wanted {
  const text = typed.trim();
  if (text === "") return {};
  if (text.includes(":")) return { sessionKey: text.startsWith("agent:") ? text : `agent:main:${text}` };
  return /^[0-9a-f][0-9a-f-]{5,}$/.test(text) ? { id: text } : { agent: text };
}
