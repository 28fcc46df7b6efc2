// What needs somebody, in words with what to do about it. Pure: what is looked at comes in.

import { age, bytes, duration, many, percent } from "../../../src/base/figures.ts";
import { oneLine } from "../../../src/base/harmless.ts";
import type { Overview } from "../../wire/events.ts";
import type { Heartbeat, JobRow, TimedOnes } from "../../wire/jobs.ts";
import type { View } from "../../state/place.ts";

export interface Looked extends TimedOnes {
  readonly now: Pick<Overview, "providers" | "servers" | "upkeep" | "disk" | "failures">;
  readonly lateMs: number | null; // null: not known yet
  readonly nowMs: number;
}

export interface Ill {
  readonly is: "bad" | "warn";
  readonly what: string; // who it is about
  readonly words: string;
  readonly todo: string;
  readonly to: readonly [view: View, of: string | null] | null; // where to do it; null: not on this page
}

/** A disk with less than this share free, or less than so many bytes, is nearly full. */
const FREE_SHARE = 0.1;
const FREE_BYTES = 1e9;
/** As many as the daemon remembers: there may have been more. */
const FAILURES_TOLD = 20;
/** People notice a pause of this. */
const LATE_MS = 250;

/** What is worse comes first; empty: all is well. */
export function illsIn(looked: Looked): readonly Ill[] {
  const { now, lateMs } = looked;
  const ills = [
    ...diskIlls(now.disk),
    ...loopIlls(lateMs),
    ...now.servers.flatMap((server) => serverIlls(server, looked.nowMs)),
    ...now.providers.flatMap(providerIlls),
    ...looked.jobs.flatMap(jobIlls),
    ...looked.heartbeats.flatMap(heartbeatIlls),
    ...upkeepIlls(now.upkeep),
    ...failureIlls(now.failures, looked.nowMs),
  ];
  return ills.toSorted((a, b) => Number(a.is === "warn") - Number(b.is === "warn"));
}

function diskIlls(disk: Overview["disk"]): readonly Ill[] {
  if (disk === null) return [];
  const { freeBytes, totalBytes } = disk;
  const isSmall = freeBytes < FREE_BYTES;
  if (!isSmall && freeBytes >= totalBytes * FREE_SHARE) return [];
  return [
    {
      is: isSmall ? "bad" : "warn",
      what: "Disk",
      words: `${bytes(freeBytes)} free, ${percent(freeBytes, totalBytes)} of it`,
      todo: "Free some space. Upkeep shows what can go; on a full disk nothing new is taken, and nothing is lost.",
      to: ["upkeep", null],
    },
  ];
}

function loopIlls(lateMs: number | null): readonly Ill[] {
  if (lateMs === null || lateMs < LATE_MS) return [];
  return [
    {
      is: "warn",
      what: "Event loop",
      words: `the daemon comes to things ${duration(lateMs)} late`,
      todo: "See what else the machine does; fewer slots make the daemon do less at once.",
      to: null,
    },
  ];
}

function serverIlls(
  { name, state, why, retryAt }: Overview["servers"][number],
  nowMs: number,
): readonly Ill[] {
  if (state !== "down") return [];
  const waitMs = retryAt === null ? 0 : Date.parse(retryAt) - nowMs;
  const again = retryAt === null ? "" : ` It is tried again ${waitMs < 1_000 ? "now" : `in ${age(waitMs)}`}.`;
  return [
    {
      is: "bad",
      what: `Tool server ${oneLine(name)}`,
      words: `down${why === null ? "" : `: ${oneLine(why)}`}`,
      todo: `Its tools are missing until it is back.${again}`,
      to: ["settings", null],
    },
  ];
}

function providerIlls({ provider, coolsForMs }: Overview["providers"][number]): readonly Ill[] {
  if (coolsForMs <= 0) return [];
  return [
    {
      is: "warn",
      what: `Provider ${oneLine(provider)}`,
      words: `has too much to do, and is not asked for ${duration(coolsForMs)}`,
      todo: "Wait: turns go on by themselves. If it comes often, give agents a failover model.",
      to: ["settings", null],
    },
  ];
}

function jobIlls({ id, name, message, failures, why, enabled }: JobRow): readonly Ill[] {
  if (failures === 0 && why === null) return [];
  const isOff = !enabled && why !== null;
  return [
    {
      is: isOff ? "bad" : "warn",
      what: `Job ${oneLine(name === "" ? message.slice(0, 40) : name)}`,
      words: isOff ? `was disabled: ${oneLine(why)}` : `failed ${many(failures, "time")} in a row`,
      todo: isOff ? "See its runs, mend it, then enable it." : "Its runs say why.",
      to: ["schedule", id],
    },
  ];
}

function heartbeatIlls({ agent, failures, trouble, alert }: Heartbeat): readonly Ill[] {
  const of = { is: "warn", what: `Heartbeat of ${agent}`, to: ["schedule", `heartbeat:${agent}`] } as const;
  const why = trouble === null ? "" : `: ${oneLine(trouble)}`;
  return [
    ...(failures === 0
      ? []
      : [{ ...of, words: `failed ${many(failures, "time")} in a row${why}`, todo: "Look at its session." }]),
    ...(alert === null || alert.isOver
      ? []
      : [
          {
            ...of,
            words: `alert: ${oneLine(alert.text)}`,
            todo: "It holds until a later beat does not say it again.",
          },
        ]),
  ];
}

function upkeepIlls({ mode, steps, overBytes }: Overview["upkeep"]): readonly Ill[] {
  const to = ["upkeep", null] as const;
  if (overBytes > 0)
    return [
      {
        is: "warn",
        what: "Upkeep",
        words: `${bytes(overBytes)} above the budget stay`,
        todo: "They are of what is protected, named or of today: unpin or remove some, or allow more (upkeep.diskMiB).",
        to,
      },
    ];
  if (mode === "enforce" || steps === null || steps === 0) return [];
  return [
    {
      is: "warn",
      what: "Upkeep",
      words: `${many(steps, "step")} ${steps === 1 ? "waits" : "wait"}: in mode warn nobody does ${steps === 1 ? "it" : "them"}`,
      todo: "See the plan, and apply it.",
      to,
    },
  ];
}

/** What failed longer ago is listed, and that is all. */
const LATELY_MS = 3_600_000;

/** A run of a job that failed is told of by its job, and its turn is one of these. */
function failureIlls(failures: Overview["failures"], nowMs: number): readonly Ill[] {
  const lately = failures.filter(({ at }) => nowMs - Date.parse(at) < LATELY_MS);
  const of = (kind: string): number => lately.filter(({ what }) => what === kind).length;
  const [turns, answers] = [of("turn"), of("answer")];
  const words = [
    ...(turns > 0 ? [`${many(turns, "turn")} failed`] : []),
    ...(answers > 0 ? [`${many(answers, "answer")} could not be delivered`] : []),
  ].join(", ");
  if (words === "") return [];
  const isMore = lately.length === failures.length && failures.length >= FAILURES_TOLD;
  return [
    {
      is: "warn",
      what: "Failures",
      words: `${words} in the last hour${isMore ? ", or more" : ""}`,
      todo: "Each is below, with why.",
      to: null,
    },
  ];
}
