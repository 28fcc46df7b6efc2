// Fills in what nobody wrote down of heartbeats, resets and upkeep.

import type { HeartbeatPolicy, Reset, ResetPolicy, UpkeepPolicy } from "./config.ts";
import * as defaults from "./defaults.ts";
import type { AgentInput, ConfigInput } from "./schema.ts";

/** The machine's, when nobody names one. */
export function zoneOf(given: string | undefined): string {
  return given ?? new Intl.DateTimeFormat("en").resolvedOptions().timeZone;
}

export function heartbeatOf(given: NonNullable<AgentInput["heartbeat"]>, zone: string): HeartbeatPolicy {
  const { everyMinutes = defaults.HEARTBEAT_MINUTES_DEFAULT, activeHours, model = null, to = "main" } = given;
  const hours =
    activeHours === undefined
      ? null
      : {
          fromMinute: minuteOf(activeHours.from),
          toMinute: minuteOf(activeHours.to),
          zone: activeHours.timezone ?? zone,
        };
  return { everyMinutes, hours, model, to };
}

function minuteOf(clock: string): number {
  const [hour = 0, minute = 0] = clock.split(":").map(Number);
  return hour * 60 + minute;
}

type SessionInput = NonNullable<ConfigInput["session"]>;
type ResetInput = NonNullable<SessionInput["reset"]>;

export function resetsOf(given: SessionInput, zone: string): ResetPolicy {
  const read = (reset: ResetInput): Reset => resetOf(reset, zone);
  const each = <Name extends string>(some: Partial<Record<Name, ResetInput | undefined>>) =>
    new Map(
      (Object.entries(some) as [Name, ResetInput | undefined][]).flatMap(([name, reset]) =>
        reset === undefined ? [] : [[name, read(reset)] as const],
      ),
    );
  return {
    usual: given.reset === undefined ? { mode: "none" } : read(given.reset),
    byType: each(given.resetByType ?? {}),
    byChannel: each(given.resetByChannel ?? {}),
  };
}

function resetOf({ mode, hour, timezone, idleMinutes }: ResetInput, zone: string): Reset {
  switch (mode) {
    case "none":
      return { mode };
    case "daily":
      return { mode, hour: hour ?? defaults.RESET_HOUR_DEFAULT, zone: timezone ?? zone };
    case "idle":
      return { mode, minutes: idleMinutes ?? defaults.RESET_MINUTES_MAX };
  }
}

export function upkeepOf(given: NonNullable<ConfigInput["upkeep"]>): UpkeepPolicy {
  return {
    mode: given.mode ?? "warn",
    everyMinutes: given.everyMinutes ?? defaults.UPKEEP_MINUTES_DEFAULT,
    staleDays: given.staleDays ?? defaults.UPKEEP_STALE_DAYS_DEFAULT,
    sessionsMax: given.sessionsMax ?? defaults.UPKEEP_SESSIONS_DEFAULT,
    subagentHours: given.subagentHours ?? defaults.UPKEEP_SUBAGENT_HOURS_DEFAULT,
    rotateMiB: given.rotateMiB ?? defaults.UPKEEP_ROTATE_MIB_DEFAULT,
    archiveDays: given.archiveDays ?? 0,
    diskMiB: given.diskMiB ?? 0,
    highWater: given.highWater ?? defaults.UPKEEP_HIGH_WATER_DEFAULT,
  };
}
