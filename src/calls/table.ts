// The table of calls: everything that can be asked of sessiond, on one screen. Adding a call is adding a line here; every
// door is made from this table.

import { archiveCalls } from "./archiving.ts";
import { abort, ask, list, status, wait } from "./asking.ts";
import { call, just, type Call } from "./call.ts";
import { commandCalls } from "./commands.ts";
import { configuredCalls } from "./configured.ts";
import { contextCalls } from "./context.ts";
import { cronCalls } from "./cron.ts";
import { fork, forked, forkInput } from "./fork.ts";
import { heartbeatCalls } from "./heartbeat.ts";
import { lookingCalls } from "./looking.ts";
import { mail } from "./mail.ts";
import { memoryCalls } from "./memory.ts";
import { remove, removed, removeInput } from "./removing.ts";
import { outbox, redeliver } from "./outbox.ts";
import * as shape from "./schemas.ts";
import { receivingCalls } from "./received.ts";
import { reset } from "./resetting.ts";
import { send } from "./send.ts";
import { pin, set, signal } from "./setting.ts";
import * as settings from "./setting-shapes.ts";
import * as gateway from "./overview.ts";
import * as child from "./child-shapes.ts";
import { children, join, kill, spawn, steer, subagents, yieldTurn } from "./children.ts";
import { tokenCalls } from "./tokens.ts";
import { upkeepCalls } from "./upkeep.ts";

/** All that others are made of. */
const rows = {
  send: call({
    about:
      "Sends a message to a session. It is acknowledged when it is durable; the answer comes later, in that session.",
    who: "both",
    tool: "sessions_send",
    scope: "operate",
    http: "POST /sessions/:sessionKey/messages",
    input: shape.sendInput,
    output: shape.sent,
    idempotent: false, // with an id of the sender's it is
    run: send,
  }),
  ask: call({
    about:
      "Sends a message to a session and waits until the turn that took it has ended: how, and with which answer.",
    who: "person",
    tool: null,
    scope: "operate",
    http: "POST /sessions/:sessionKey/ask",
    input: shape.askInput,
    output: shape.asked,
    idempotent: false,
    run: ask,
  }),
  wait: call({
    about: "Waits until the turn that took a message has ended, and says how, with the answer.",
    who: "person",
    tool: null,
    scope: "read",
    http: "GET /sessions/:sessionKey/messages/:id",
    input: shape.waitInput,
    output: shape.answered,
    idempotent: true,
    run: wait,
  }),
  abort: call({
    about: "Stops the turn that runs in a session. The session goes on with the next message.",
    who: "person",
    tool: null,
    scope: "operate",
    http: "POST /sessions/:sessionKey/abort",
    input: shape.oneSession,
    output: shape.accepted,
    idempotent: true,
    run: abort,
  }),
  stop: call({
    about: "Pauses a session: a turn that runs stops after its step, and letters wait. Nothing is lost.",
    who: "person",
    tool: null,
    scope: "operate",
    http: "POST /sessions/:sessionKey/stop",
    input: shape.oneSession,
    output: shape.accepted,
    idempotent: true,
    run: (system, caller, input) => signal(system, caller, input.sessionKey, "pause"),
  }),
  cont: call({
    about: "Goes on with a session that was paused.",
    who: "person",
    tool: null,
    scope: "operate",
    http: "POST /sessions/:sessionKey/cont",
    input: shape.oneSession,
    output: shape.accepted,
    idempotent: true,
    run: (system, caller, input) => signal(system, caller, input.sessionKey, "none"),
  }),
  status: call({
    about:
      "Time and date, the model in use, tokens and cost so far, context and settings of a session (without a key: of this " +
      'one). With `model` it also sets the model of this session from now on; "default" goes back to the usual one.',
    who: "both",
    tool: "session_status",
    scope: "read",
    http: "GET /sessions/:sessionKey",
    input: shape.statusInput,
    output: shape.status,
    idempotent: true,
    run: status,
  }),
  list: call({
    about: "Sessions, newest first, by any of the given properties.",
    who: "both",
    tool: "sessions_list",
    scope: "read",
    http: "GET /sessions",
    input: shape.listInput,
    toolInput: shape.listToolInput,
    output: shape.listed,
    idempotent: true,
    run: list,
  }),
  ...lookingCalls,
  mail,
  set: call({
    about: "Changes settings of a session. null: as the agent's configuration says.",
    who: "person",
    tool: null,
    scope: "operate",
    http: "PATCH /sessions/:sessionKey",
    input: settings.setInput,
    output: settings.settled,
    idempotent: true,
    run: set,
  }),
  pin: call({
    about: "Pins an entry: it stays whole when the rest of a long conversation is summarised.",
    who: "person",
    tool: null,
    scope: "operate",
    http: "POST /sessions/:sessionKey/pins",
    input: settings.pinInput,
    output: settings.settled,
    idempotent: true,
    run: pin,
  }),
  spawn: call({
    about:
      "Gives a task to a child: a sub-agent with a conversation of its own, that works while you go on. What became of it is " +
      "reported to you, once, as a message. Its name, if it has one, can be used again: resumeIfExists goes on with it.",
    who: "both",
    tool: "sessions_spawn",
    scope: "operate",
    http: "POST /sessions/:parent/children",
    input: child.spawnInput,
    output: child.spawned,
    delegates: true,
    idempotent: false, // with an id of the sender's it is
    run: spawn,
  }),
  children: call({
    about: "The children of a session, with what they do or wait for.",
    who: "both",
    tool: null,
    scope: "read",
    http: "GET /sessions/:sessionKey/children",
    input: child.childrenInput,
    output: child.children,
    idempotent: true,
    run: children,
  }),
  steer: call({
    about: "Tells a child that works something that it reads before its next step.",
    who: "both",
    tool: null,
    scope: "operate",
    http: "POST /sessions/:sessionKey/steer",
    input: child.steerInput,
    output: child.steered,
    idempotent: false,
    run: steer,
  }),
  kill: call({
    about:
      "Ends a session and everything below it, at once, with all processes. Who waits for it hears of it; its transcript stays.",
    who: "both",
    tool: null,
    scope: "operate",
    http: "POST /sessions/:sessionKey/kill",
    input: child.killInput,
    output: child.killed,
    idempotent: true,
    run: kill,
  }),
  remove: call({
    about:
      "Removes a session and everything below it for good, with their transcripts and archives, and those of whoever was archived below them; of " +
      "a key that has no session, its archives and whoever is below it. Refused while one of them does something, or has mail; main sessions stay.",
    who: "person",
    tool: null,
    scope: "operate",
    http: "DELETE /sessions/:sessionKey",
    input: removeInput,
    output: removed,
    idempotent: false, // the second time there is nothing to be removed
    run: remove,
  }),
  join: call({
    about: "Waits, in the turn, until children have reported.",
    who: "agent",
    tool: null,
    scope: "operate",
    http: null,
    input: child.joinInput,
    output: child.joined,
    delegates: true,
    idempotent: true,
    run: join,
  }),
  yield: call({
    about:
      "Ends this turn for now: it goes on when the children that you wait for have reported. Better than waiting when you " +
      "have nothing else to do.",
    who: "agent",
    tool: "sessions_yield",
    scope: "operate",
    http: null,
    input: child.yieldInput,
    output: child.yielded,
    delegates: true,
    idempotent: true,
    run: yieldTurn,
  }),
  subagents: call({
    about:
      "Your children. spawn: gives one a task. list: who they are and what they do. steer: tells one something before its " +
      "next step. kill: ends one with everything below it. wait: until they have reported.",
    who: "agent",
    tool: "subagents",
    scope: "operate",
    http: null,
    input: child.subagentsInput,
    output: child.subagentsOutput,
    delegates: true,
    idempotent: false,
    run: subagents,
  }),
  fork: call({
    about:
      "Makes a new session that begins with what another knew at one of its entries (without one: now), and goes its own " +
      "way from there. The other is not changed. The new one waits for a message.",
    who: "both",
    tool: "sessions_fork",
    scope: "operate",
    http: "POST /sessions/:sessionKey/forks",
    input: forkInput,
    output: forked,
    idempotent: false,
    run: fork,
  }),
  outbox,
  redeliver,
  overview: call({
    about:
      "What is going on in this gateway: slots in use and who waits for them, providers, programs that agents run, " +
      "servers of tools; what was used since the start and since midnight, and what went wrong.",
    who: "person",
    tool: null,
    scope: "read",
    http: "GET /overview",
    input: gateway.nothing,
    output: gateway.overview,
    idempotent: true,
    run: async (system) => just(await gateway.overviewOf(system)),
  }),
  models: call({
    about: "The models that can be named, with what is known of them, and the providers that have a key.",
    who: "person",
    tool: null,
    scope: "read",
    http: "GET /catalog",
    input: gateway.nothing,
    output: gateway.models,
    idempotent: true,
    run: async (system) => just(gateway.modelsOf(system)),
  }),
  ...configuredCalls,
  ...contextCalls,
  ...memoryCalls,
  ...heartbeatCalls,
  ...cronCalls,
  ...archiveCalls,
  ...upkeepCalls,
  ...tokenCalls,
  reset,
} satisfies Record<string, Call>;

export type Rows = typeof rows;

export const calls = {
  ...rows,
  ...receivingCalls(rows),
  ...commandCalls(rows),
} satisfies Record<string, Call>;

export type Calls = typeof calls;
export type CallName = keyof Calls;
