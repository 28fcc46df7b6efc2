// `heartbeat`: what agents look after by themselves, and when.

import { Fault } from "../base/fault.ts";
import { RealWorld } from "../base/world.ts";
import type { Output } from "../calls/door.ts";
import { OUTCOMES_HELP, waitAndTell, WAITING } from "./answer.ts";
import type { Command, Invocation } from "./command.ts";
import { age, ago, dim, json, many, oneLine, roomOn, table, type Column } from "./output.ts";

const ACTIONS = ["list", "run"] as const;

type Row = Output<"heartbeats">["heartbeats"][number];

export const heartbeat: Command = {
  name: "heartbeat",
  summary: "what agents look after by themselves: list, run",
  arguments: [
    { name: "action", about: ACTIONS.join(", "), required: false, completes: ACTIONS },
    { name: "agent", about: "list: only this one's; run: whose (main)", required: false },
  ],
  options: WAITING.map(({ about, ...option }) => ({ ...option, about: `run: ${about}` })),
  more: `An agent beats only if the HEARTBEAT.md in its workspace asks for something; without it nobody is asked.

Examples:
  sessiond heartbeat
  sessiond heartbeat run main --wait

Exit codes of run: 0 it began, 1 it did not; why is said.
${OUTCOMES_HELP}`,
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
  const columns: readonly Column<Row>[] = [
    { title: "AGENT", least: 12, of: (row) => row.agent },
    { title: "EVERY", of: everyOf },
    { title: "HOURS", least: 11, keep: 1, of: hoursOf },
    { title: "TASK", keep: 2, of: (row) => row.task },
    { title: "NEXT", of: (row) => nextOf(row, nowMs) },
    { title: "LAST", of: (row) => lastOf(row, nowMs) },
  ];
  screen.out(table(heartbeats, columns, roomOn(screen)));
  for (const row of heartbeats) for (const line of notesOf(row, nowMs)) screen.out(`${dim(screen, line)}\n`);
  return 0;
}

/** What a table has no room for. */
function notesOf({ agent, alert, failures, trouble }: Row, nowMs: number): readonly string[] {
  const failed =
    failures === 0
      ? []
      : [
          `${agent} has failed ${many(failures, "time")} in a row${trouble === null ? "" : `: ${oneLine(trouble)}`}`,
        ];
  if (alert === null) return failed;
  const when = ago(since(alert.at, nowMs));
  const said = alert.isOver ? `was an alert ${when}, and is over` : `alert ${when}`;
  return [...failed, `${agent}, ${said}: ${oneLine(alert.text)}`];
}

function everyOf({ everyMinutes }: Row): string {
  if (everyMinutes === 0) return "never";
  const [hours, minutes] = [Math.floor(everyMinutes / 60), everyMinutes % 60];
  return `${hours === 0 ? "" : `${hours}h`}${minutes === 0 ? "" : `${minutes}m`}`;
}

function hoursOf({ hours }: Row): string {
  return hours === null ? "all day" : `${hours.from}–${hours.to} ${hours.timezone}`;
}

function nextOf({ nextAt, state }: Row, nowMs: number): string {
  if (state === "paused") return "paused";
  if (nextAt === null) return "never";
  const left = age(Math.max(0, Date.parse(nextAt) - nowMs));
  return left === "now" ? left : `in ${left}`;
}

function lastOf({ last, state }: Row, nowMs: number): string {
  if (state === "running") return "runs now";
  return last === null ? "none yet" : `${last.outcome}, ${ago(since(last.at, nowMs))}`;
}

function since(iso: string, nowMs: number): number {
  return Math.max(0, nowMs - Date.parse(iso));
}

async function run(invocation: Invocation, of: Of): Promise<number> {
  const { client: find, options, screen, signal } = invocation;
  const client = await find();
  const beaten = await client.call("beat", of, signal);
  if (options["wait"] === true && beaten.id !== null)
    return await waitAndTell(invocation, client, { sessionKey: beaten.sessionKey, id: beaten.id });
  if (screen.json) json(screen, beaten);
  else if (beaten.began)
    screen.out(`${beaten.agent} looks after its HEARTBEAT.md, in ${beaten.sessionKey}\n`);
  else screen.err(`no heartbeat: ${beaten.why}\n`);
  return beaten.began ? 0 : 1;
}
