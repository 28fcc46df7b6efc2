// The list of commands: what there is, in the order that help shows it.

import { models, token, whoami } from "./access.ts";
import { archive, archives, restore } from "./archives.ts";
import { chat } from "./chat.ts";
import type { Command } from "./command.ts";
import { completion } from "./completion.ts";
import { config } from "./config.ts";
import { cron } from "./cron.ts";
import { doctor } from "./doctor.ts";
import { exportCommand } from "./export.ts";
import { compact, context, handoff, reset, rewind } from "./context.ts";
import { fork, outbox, rm, search } from "./keeping.ts";
import { heartbeat } from "./heartbeat.ts";
import { log } from "./log.ts";
import { mail } from "./mail.ts";
import { memory } from "./memory.ts";
import { backup, fsck, rebuild } from "./offline.ts";
import { page } from "./page.ts";
import { ps } from "./ps.ts";
import { result } from "./result.ts";
import { send } from "./send.ts";
import { mcp, serve } from "./serve.ts";
import { label, limit, model, nice, pin } from "./settings.ts";
import { abort, cont, kill, steer, stop, wait } from "./signals.ts";
import { spawn } from "./spawn.ts";
import { status } from "./status.ts";
import { top } from "./top.ts";
import { trace } from "./trace.ts";
import { upkeep } from "./upkeep.ts";

export interface Group {
  readonly title: string;
  readonly commands: readonly Command[];
}

export const GROUPS: readonly Group[] = [
  { title: "Talking", commands: [chat, send, wait, spawn, steer] },
  {
    title: "Looking",
    commands: [ps, top, status, log, context, result, trace, search, memory, heartbeat, mail, outbox, models],
  },
  { title: "Ruling", commands: [abort, stop, cont, kill, nice, limit, pin, label, model] },
  { title: "Going on", commands: [compact, handoff, rewind, reset, fork, archive, restore, rm, cron] },
  { title: "The daemon", commands: [serve, page, mcp, token, whoami, config, doctor, completion] },
  { title: "The home", commands: [upkeep, archives, exportCommand, fsck, rebuild, backup] },
];
