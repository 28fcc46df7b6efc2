import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { Fault } from "../base/fault.ts";
import { parseAgent } from "../routing/key.ts";
import { readConfig } from "./load.ts";

const FROM = { homeDir: "/users/ann", cwd: "/somewhere", env: {} };

function refused(input: unknown): string[] {
  try {
    readConfig(input, FROM);
  } catch (fault) {
    assert.ok(fault instanceof Fault);
    return fault.message.split("\n");
  }
  return assert.fail("it was accepted");
}

describe("what happens while nobody looks", () => {
  test("heartbeats, resets and upkeep are filled in, key by key", () => {
    const config = readConfig(
      {
        timezone: "Europe/Zurich",
        agents: {
          defaults: { heartbeat: { everyMinutes: 10, activeHours: { from: "08:00", to: "24:00" } } },
          coder: { heartbeat: { to: "route", model: "fast" } },
        },
        session: {
          reset: { mode: "daily" },
          resetByType: { main: { mode: "idle", idleMinutes: 90 } },
          resetByChannel: { telegram: { mode: "daily", hour: 6, timezone: "UTC" }, slack: { mode: "none" } },
        },
        upkeep: { mode: "enforce", diskMiB: 100 },
      },
      FROM,
    );
    const hours = { fromMinute: 480, toMinute: 1440, zone: "Europe/Zurich" };
    const coder = config.agents.get(parseAgent("coder"));
    assert.deepEqual(coder?.heartbeat, { everyMinutes: 10, hours, model: "fast", to: "route" });
    const { reset } = config.session;
    assert.deepEqual(reset.usual, { mode: "daily", hour: 4, zone: "Europe/Zurich" });
    assert.deepEqual([...reset.byType], [["main", { mode: "idle", minutes: 90 }]]);
    assert.deepEqual(
      [...reset.byChannel],
      [
        ["telegram", { mode: "daily", hour: 6, zone: "UTC" }],
        ["slack", { mode: "none" }],
      ],
    );
    const { mode, diskMiB, highWater, staleDays } = config.upkeep;
    assert.deepEqual(
      { mode, diskMiB, highWater, staleDays },
      { mode: "enforce", diskMiB: 100, highWater: 0.9, staleDays: 30 },
    );
  });

  test("what cannot be meant is refused in its place", () => {
    for (const [input, line] of [
      [
        { timezone: "Mars/Olympus" },
        'timezone is no time zone that is known here; one is "Europe/Zurich", another "UTC"',
      ],
      [
        { session: { reset: { mode: "idle" } } },
        'session.reset has idleMinutes with mode "idle", and only then',
      ],
      [
        { session: { reset: { mode: "idle", idleMinutes: 5, hour: 4 } } },
        'session.reset has an hour only with mode "daily"',
      ],
      [
        { agents: { main: { heartbeat: { activeHours: { from: "8:00", to: "22:00" } } } } },
        'agents.main.heartbeat.activeHours.from is a time of day from "00:00" to "24:00", not "8:00"',
      ],
      [{ upkeep: { highWater: 2 } }, "upkeep.highWater is a number from 0.5 to 1, not 2"],
    ] as const)
      assert.deepEqual(refused(input), [`config: ${line}`]);
  });
});
