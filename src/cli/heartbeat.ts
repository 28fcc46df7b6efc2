// `heartbeat`: what agents look after by themselves, and when.

import { Fault } from "../base/fault.ts";
import { RealWorld } from "../base/world.ts";
import type { Output } from "../calls/door.ts";
import type { Command, Invocation } from "./command.ts";
import { ago, dim, duration, json, oneLine, table } from "./output.ts";

const ACTIONS = ["list", "run"] as const;

type Row = Output<"heartbeats">["heartbeats"][number];

export const heartbeat: Command = {
  name: "heartbeat",
  summary: "what agents look after by themselves: list, run",
  arguments: [
    { name: "action", about: ACTIONS.join(", "), required: false, completes: ACTIONS },
    { name: "agent", about: "list: only this one's; run: whose (main)", required: false },
  ],
  options: [],
  more: `An agent beats only if the HEARTBEAT.md in its workspace asks for something; without it nobody is asked.

Examples:
  sessiond heartbeat
  sessiond heartbeat run main

Exit codes of run: 0 it began, 1 it did not; why is said.`,
  run: async (invocation) => {
    const [action = "list", agent] = invocation.args;
    const of = agent === undefined ? {} : { agent };
    if (action === "list") return await list(invocation, of);
    if (action === "run") return await run(invocation, of);
    throw new Fault("bad_input", "heartbeat: say list [agent] or run [agent]");
  },
};

type Of = { readonly agent?: string };

async function list({ client: find, screen, signal }: Invocation, of: Of): Promise<number> {
  const { heartbeats } = await (await find()).call("heartbeats", of, signal);
  if (screen.json) {
    json(screen, { heartbeats });
    return 0;
  }
  const nowMs = new RealWorld().nowMs();
  screen.out(
    table(heartbeats, [
      { title: "AGENT", of: (row) => row.agent },
      {
        title: "EVERY",
        of: (row) => (row.everyMinutes === 0 ? "never" : duration(row.everyMinutes * 60_000)),
      },
      { title: "HOURS", of: hoursOf },
      { title: "TASK", of: (row) => row.task },
      { title: "NEXT", of: (row) => nextOf(row, nowMs) },
      { title: "LAST", of: (row) => lastOf(row, nowMs) },
    ]),
  );
  for (const { agent, alert, failures } of heartbeats) {
    if (failures > 0) screen.out(dim(screen, `${agent} has failed ${failures} times in a row\n`));
    if (alert !== null)
      screen.out(dim(screen, `${agent}, ${ago(since(alert.at, nowMs))}: ${oneLine(alert.text)}\n`));
  }
  return 0;
}

function hoursOf({ hours }: Row): string {
  return hours === null ? "all day" : `${hours.from}–${hours.to} ${hours.timezone}`;
}

function nextOf({ nextAt }: Row, nowMs: number): string {
  return nextAt === null ? "never" : `in ${duration(Math.max(0, Date.parse(nextAt) - nowMs))}`;
}

function lastOf({ last }: Row, nowMs: number): string {
  return last === null ? "none yet" : `${last.outcome}, ${ago(since(last.at, nowMs))}`;
}

function since(iso: string, nowMs: number): number {
  return Math.max(0, nowMs - Date.parse(iso));
}

async function run({ client: find, screen, signal }: Invocation, of: Of): Promise<number> {
  const beaten = await (await find()).call("beat", of, signal);
  if (screen.json) json(screen, beaten);
  else if (beaten.began)
    screen.out(`${beaten.agent} looks after its HEARTBEAT.md, in ${beaten.sessionKey}\n`);
  else screen.err(`no heartbeat: ${beaten.why}\n`);
  return beaten.began ? 0 : 1;
}
