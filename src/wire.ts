// Wire
//
// Puts a system together from its parts. Which parts is not decided here: main.ts brings threads, files, programs and
// providers; the simulator brings a memory and a clock that it holds.
//
//   Owns:      who is told of whom.
//   Does not:  import a store engine, a provider, a client of tool servers, or anything that starts programs. So what
//              is wired here can be run where nothing of that exists.

import type { Log } from "./base/log.ts";
import { cleaning } from "./base/redact.ts";
import type { World } from "./base/world.ts";
import type { System, Tokens } from "./calls/call.ts";
import { Door, toolsOf } from "./calls/door.ts";
import { Failures } from "./calls/failures.ts";
import { Later } from "./calls/later.ts";
import { News } from "./calls/news.ts";
import { isReminder } from "./calls/received.ts";
import { opening } from "./calls/send.ts";
import { Today } from "./calls/today.ts";
import { Totals } from "./calls/totals.ts";
import { deadlineDue } from "./children/deadline.ts";
import { isCircle } from "./children/waiting.ts";
import type { Agent, Config } from "./config/config.ts";
import { secretsIn } from "./config/outside.ts";
import type { Prompts } from "./config/prompt.ts";
import { Bus } from "./events/bus.ts";
import type { Memory } from "./memory/memory.ts";
import type { Deliver } from "./mail/outbox.ts";
import type { Catalog } from "./models/catalog.ts";
import { mainKey, type SessionKey } from "./routing/key.ts";
import { Routes } from "./routing/route.ts";
import type { Processes } from "./sandbox/processes.ts";
import { Lanes } from "./scheduler/lanes.ts";
import { Slots } from "./scheduler/slots.ts";
import { Budgets } from "./sessions/budget.ts";
import type { Change, Receipt } from "./store/change.ts";
import type { Store } from "./store/store.ts";
import { heartbeatEnded } from "./timers/alert.ts";
import { Clock } from "./timers/clock.ts";
import { armJobs } from "./timers/arming.ts";
import { timerDoor } from "./timers/ended.ts";
import { jobDue, type JobParts } from "./timers/firing.ts";
import { fitHeartbeats, heartbeatDue, type HeartbeatParts } from "./timers/heartbeat.ts";
import { alarmedBy } from "./timers/jobs.ts";
import { isHeartbeat } from "./timers/pulse.ts";
import type { ReadTask } from "./timers/task.ts";
import type { Timer } from "./timers/timer.ts";
import type { McpServers } from "./tools/mcp/tools.ts";
import type { Tool } from "./tools/tool.ts";
import { Toolbox } from "./tools/toolbox.ts";
import { Answers } from "./turns/answers.ts";
import type { WriteFile } from "./turns/handoff.ts";
import { Suspects } from "./turns/resuming.ts";
import { beginWork, type SessionWorker, type WorkParts } from "./turns/worker.ts";
import { Upkeep } from "./upkeep/rounds.ts";

export interface Wiring {
  readonly config: Config;
  readonly world: World;
  readonly log: Log;
  readonly catalog: Catalog;
  readonly prompts: Pick<Prompts, "of">;
  readonly task: ReadTask; // of heartbeats
  readonly channels: ReadonlyMap<string, Deliver>;
  readonly store: Store;
  readonly processes: Pick<Processes, "all" | "killAll" | "killEverything">;
  readonly mcp: Pick<McpServers, "names" | "tools" | "status" | "close">;
  readonly memory: Memory;
  /** Who may call from outside; without it, nobody does. */
  readonly tokens?: Tokens | undefined;
  /** Hears of every commit of this process once it is durable: what is counted is counted from these. */
  readonly told?: ((changes: readonly Change[], receipt: Receipt) => void) | undefined;
  /** What there is room for; without it, nobody knows. */
  readonly disk?: System["disk"] | undefined;
  /** Where the configuration was read from; without it, from no file. */
  readonly configFile?: string | null | undefined;
  readonly writeFile: WriteFile;
  readonly tools: {
    /** For every agent, besides the calls that agents may make. */
    readonly ours: readonly Tool[];
    /** Those that run programs. */
    readonly exec: readonly Tool[];
    /** What the program brought along. */
    readonly given: readonly Tool[];
  };
}

export interface Wired {
  readonly system: System;
  readonly bus: Bus;
  readonly door: Door;
}

/** Nothing runs yet: `begin` starts it. */
export function wire(wiring: Wiring): Wired {
  const { config, world, log, catalog, prompts, channels, store, processes, mcp } = wiring;
  const base = { world, log, store };
  const bus = new Bus();
  const slots = modelSlots(world, config);
  const processSlots = toolSlots(world, config);
  const shared = { world, store, catalog, processes, slots, processSlots, answers: new Answers() };
  const { news, ...counts } = countsOf(wiring);
  const commit = async (changes: readonly Change[]): Promise<Receipt> => {
    const receipt = await store.commit(changes);
    for (const each of [lanes, clock, news, ...Object.values(counts)]) each.told(changes, receipt);
    tellArchived(bus, changes);
    wiring.told?.(changes, receipt);
    return receipt;
  };
  const { due, doors, ...unattended } = unattendedIn(wiring, commit, () => system);
  const tools = toolboxOf(wiring, () => system);
  const agents: ReadonlyMap<string, Agent> = config.agents;
  const work: WorkParts = {
    ...shared,
    log,
    bus,
    commit,
    mayBegin: () => !door.isDraining,
    raise: (key, to) => {
      slots.raise(key, to);
      processSlots.raise(key, to);
    },
    tools,
    prompts,
    session: config.session,
    writeFile: wiring.writeFile,
    agents,
    isCircle: (key, others) => isCircle({ store, lanes }, key, others),
    suspects: new Suspects(),
    budgets: new Budgets({ agents, find: (key) => store.session(key) }),
    channels: new Set(channels.keys()),
    clean: cleaning(secretsIn(config)),
    outbox: { ...base, commit, channels: doors, refused: (...of) => counts.failures.refused(...of) },
  };
  const lanes: Lanes<SessionWorker> = new Lanes({ ...base, begin: (claim) => beginWork(work, claim) });
  const clock = new Clock({ ...base, commit: thenDelivered(lanes, commit), due });
  const system: System = {
    ...shared,
    ...unattended,
    config,
    routes: new Routes(config.session),
    lanes,
    clock,
    mcp,
    memory: wiring.memory,
    ...counts,
    disk: wiring.disk ?? null,
    configFile: wiring.configFile ?? null,
    tokens: wiring.tokens ?? null,
    commit,
    isDraining: () => door.isDraining,
  };
  const door = new Door({ system, bus, commit });
  return { system, bus, door };
}

/** Who hears of every commit, and remembers some of it. */
function countsOf({ config, world, log }: Wiring) {
  const failures = new Failures(cleaning(secretsIn(config)), () => world.nowMs());
  return {
    failures,
    news: new News(log, world.nowMs(), failures),
    totals: new Totals(world.nowMs()),
    today: new Today({ world, log }, config.timezone),
  };
}

/** What an alarm sends no turn hands over: who has its session is told. Else whoever claims it next does it. */
function thenDelivered(lanes: Lanes<SessionWorker>, commit: System["commit"]): System["commit"] {
  return async (changes) => {
    const receipt = await commit(changes);
    for (const change of changes) if (change.do === "send") lanes.worker(change.outgoing.key)?.deliver();
    return receipt;
  };
}

/** Who follows a session that was put out of the way hears of it. */
function tellArchived(bus: Bus, changes: readonly Change[]): void {
  for (const change of changes) {
    if (change.do === "archive") bus.archived(change.key, change.expect.transcript);
    if (change.do === "restore" && change.over !== null) bus.swapped(change.over.key, change.over.transcript);
  }
}

/** What goes on while nobody looks: jobs, heartbeats, upkeep. */
function unattendedIn(
  { config, world, log, store, channels, task, processes }: Wiring,
  commit: (changes: readonly Change[]) => Promise<Receipt>,
  system: () => System,
) {
  const base = { world, log, store, channels: new Set(channels.keys()) };
  const heartbeat: HeartbeatParts = { ...base, config, task, troubles: new Map() };
  const agents: ReadonlyMap<string, Agent> = config.agents;
  const jobs: JobParts = {
    ...base,
    policy: config.session.sendPolicy,
    zone: config.timezone,
    opening: (key) => opening(system(), key),
    workspaceOf: (agent) => agents.get(agent)?.workspace ?? null,
  };
  const due = async (timer: Timer): Promise<readonly Change[]> => {
    if (isReminder(timer)) return [];
    const job = alarmedBy(timer);
    if (job !== null) return await jobDue(jobs, job);
    return isHeartbeat(timer.id) ? await heartbeatDue(heartbeat, timer) : await deadlineDue(store, timer);
  };
  const door = timerDoor({ jobs, commit, beatEnded: (beat, end) => heartbeatEnded(heartbeat, beat, end) });
  const doors: ReadonlyMap<string, Deliver> = new Map([...channels, ["timer", door]]);
  const programs = (): ReadonlySet<SessionKey> => withPrograms(processes);
  const upkeep = new Upkeep({ ...base, commit, policy: config.upkeep, programs });
  return { heartbeat, jobs, upkeep, later: new Later(world, log), due, doors };
}

/** Every agent's main session exists from the first start, its heartbeat, and the alarms of its jobs; then what was left is gone on with. */
export async function begin(system: System): Promise<void> {
  await system.today.begin(system.store); // Before anything is written: what is there now was before the start.
  const mains = [...system.config.agents.keys()].map(mainKey);
  await system.store.commit(await Promise.all(mains.map((key) => opening(system, key))));
  const commit = (changes: readonly Change[]): Promise<Receipt> => system.store.commit(changes);
  await fitHeartbeats(system.heartbeat, commit);
  await armJobs(system.jobs, commit);
  system.lanes.start();
  system.clock.start();
  system.upkeep.start();
}

function withPrograms(processes: Wiring["processes"]): ReadonlySet<SessionKey> {
  return new Set(processes.all().flatMap(({ session }) => session ?? []));
}

function toolboxOf(
  { config, log, mcp, tools: { ours, exec, given } }: Wiring,
  system: () => System,
): Toolbox {
  const tools = new Toolbox({ ours: [...toolsOf(system), ...ours], given, exec, mcp });
  warnOfPolicies(config, log, tools);
  return tools;
}

function warnOfPolicies({ agents }: Config, log: Log, tools: Toolbox): void {
  for (const { id, tools: policy } of agents.values())
    for (const name of tools.unknownIn(policy))
      log.warn({ agent: id, tool: name }, "the tool policy names a tool that is not there");
}

/** Model calls in flight; what they cost is counted in tokens. */
function modelSlots(world: World, { scheduler, models }: Config): Slots {
  const limited = [...models.providers.values()].flatMap(({ id, concurrency }): [string, number][] =>
    concurrency === null ? [] : [[id, concurrency]],
  );
  return new Slots(world, { ...scheduler, providers: new Map(limited) });
}

/** Programs that are waited for; what they cost is counted in milliseconds. */
function toolSlots(world: World, { scheduler: { processes, reserve, share } }: Config): Slots {
  return new Slots(world, { slots: processes, reserve, share, providers: new Map() });
}
