// Metrics
//
// Numbers for Prometheus. What happened is counted from commits, once they are durable: so a number is never ahead of what a
// crash would leave, and nobody has to remember to count. How things stand is looked at when somebody asks.
//
//   Owns:      the names, and what each of them counts.
//   Does not:  listen anywhere; keep anything over a restart: counters begin at 0, as Prometheus expects of them.
//
// Invariants
//   M1. A label has few values, whatever people do: classes, outcomes, models that the catalog names, routes of the gateway.
//       No key, no name of a tool, no text of anybody.
//   M2. What is counted was committed, and once: a letter that is posted again is not counted again.

import { Counter, Gauge, Histogram, collectDefaultMetrics, Registry } from "prom-client";
import type { System } from "../calls/call.ts";
import { isDisabling, resetsIn } from "../calls/news.ts";
import type { Totals } from "../calls/totals.ts";
import { OUTCOMES } from "../calls/words.ts";
import type { Agent } from "../config/config.ts";
import { detailsOf } from "../context/compaction.ts";
import { PRUNED, type Pruned } from "../context/prune.ts";
import type { Change, Receipt } from "../store/change.ts";
import type { Draft, Message } from "../transcript/entry.ts";
import { PAID, tokensOf } from "../transcript/fold.ts";
import { CLASSES } from "../mail/urgency.ts";
import type { Load } from "../scheduler/slots.ts";
import { upkeepIn } from "./upkeep-metrics.ts";
import { runOver } from "../timers/ended.ts";
import { isRunLetter } from "../timers/firing.ts";
import { cameIn } from "../timers/pulse.ts";

type Assistant = Extract<Message, { role: "assistant" }>;

/** What is looked at when somebody asks. */
export interface Looking {
  readonly system: System;
  readonly version: string;
  /** How many streams are followed now. */
  readonly subscribers: () => number;
  readonly isDraining: () => boolean;
}

/** How a turn can have ended. What another version wrote is `other` (M1). */
const ENDS: ReadonlySet<string> = new Set(OUTCOMES);
const METHODS = new Set(["GET", "HEAD", "POST", "PATCH", "PUT", "DELETE", "OPTIONS"]);

/** From what a look-up in memory takes to what an agent's turn does. */
const REQUEST_SECONDS = [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10, 60, 300];

/** Gauges of prom-client whose names end as only those of counters do. What they say is in others, or says little. */
const MISNAMED = ["active_resources_total", "active_handles_total", "active_requests_total"];

/** How often the event loop is looked at for the figures of the process. Usual are 10 ms, which wake an idle process for nothing. */
const LOOP_LOOK_MS = 100;

export class Metrics {
  readonly #registry = new Registry();
  readonly contentType = this.#registry.contentType;
  readonly #count = countersIn(this.#registry);
  readonly #requests;
  readonly #requestSeconds;
  #models: ReadonlySet<string> | null = null; // null: nobody has said yet what there is to look at
  /** What was told before that: a start goes on with turns at once. */
  readonly #early: (readonly [readonly Change[], Receipt])[] = [];

  constructor() {
    const registers = [this.#registry];
    const labelNames = ["route", "method", "status"] as const;
    this.#requests = new Counter({
      name: "sessiond_http_requests_total",
      help: "HTTP requests that were answered, by route, method and class of status.",
      labelNames,
      registers,
    });
    this.#requestSeconds = new Histogram({
      name: "sessiond_http_request_duration_seconds",
      help: "From the arrival of a request until it was answered; a stream is answered when it begins.",
      labelNames,
      buckets: REQUEST_SECONDS,
      registers,
    });
    collectDefaultMetrics({
      register: this.#registry,
      prefix: "sessiond_",
      eventLoopMonitoringPrecision: LOOP_LOOK_MS,
    });
    for (const name of MISNAMED) {
      this.#registry.removeSingleMetric(`sessiond_nodejs_${name}`);
      this.#registry.removeSingleMetric(`sessiond_nodejs_${name.replace("_total", "")}`);
    }
  }

  /** Once, as soon as there is something to look at. */
  look(looking: Looking): void {
    const { catalog, config } = looking.system;
    const named = [...Object.keys(config.models.aliases), ...[...config.agents.values()].flatMap(modelsOf)];
    const ids = [
      ...catalog.known().map(({ id }) => id),
      ...named.flatMap((name) => catalog.get(name)?.id ?? []),
    ];
    this.#models = new Set(ids);
    gaugesIn(this.#registry, looking);
    commandsIn(this.#registry, looking.system.totals);
    upkeepIn(this.#registry, looking.system.upkeep);
    for (const [changes, receipt] of this.#early.splice(0)) this.told(changes, receipt);
  }

  /** A commit that is durable (M2). */
  told(changes: readonly Change[], receipt: Receipt): void {
    if (this.#models === null) return void this.#early.push([changes, receipt]);
    this.#count.commits.inc();
    for (const { why } of resetsIn(changes)) this.#count.resets.inc({ why });
    let posts = 0;
    const sent = new Set(changes.flatMap((change) => (change.do === "send" ? [change.outgoing.id] : [])));
    for (const change of changes) {
      // What is taken off the list and sent again in one commit was not delivered (calls/outbox.ts).
      if (change.do === "settle" && change.refused === null && sent.has(change.id)) continue;
      if (change.do === "post") {
        if (receipt.posts[posts]?.repeated === false) this.#posted(change);
        posts += 1;
      } else this.#changed(change, receipt);
    }
  }

  /** A request that was answered. `route` is the pattern that it fitted, never its path (M1). */
  request(route: string, method: string, status: number, seconds: number): void {
    const labels = {
      route,
      method: METHODS.has(method) ? method : "other",
      status: `${Math.floor(status / 100)}xx`,
    };
    this.#requests.inc(labels);
    this.#requestSeconds.observe(labels, seconds);
  }

  /** In Prometheus' text format, which knows no "Nan", as prom-client spells what cannot be said of an empty window. */
  async text(): Promise<string> {
    return (await this.#registry.metrics()).replaceAll(/ Nan$/gm, " NaN");
  }

  #posted({ letter }: Extract<Change, { do: "post" }>): void {
    this.#count.letters.inc({ class: letter.class, from: letter.from.kind });
    if (isRunLetter(letter)) this.#count.jobRuns.inc();
    if (isDisabling(letter)) this.#count.jobsDisabled.inc();
  }

  #changed(change: Change, { seqs }: Receipt): void {
    const count = this.#count;
    switch (change.do) {
      case "open":
        if (!Object.hasOwn(seqs, change.key)) return; // It was there already.
        count.opened.inc();
        if (change.parent !== null) count.children.inc();
        return;
      case "append":
        count.entries.inc(change.entries.length);
        for (const entry of change.entries) this.#written(entry);
        return;
      case "charge":
        count.steps.inc(change.usage.steps ?? 0);
        return;
      case "send":
        this.#sent(change);
        return;
      case "settle":
        count.settled.inc({ outcome: change.refused === null ? "delivered" : "refused" });
        return;
      case "delete":
        count.deleted.inc();
        return;
      case "setTimer":
        this.#beaten(change);
        return;
      default:
    }
  }

  /** What a turn says to the timer that began it goes through the outbox, too, and is counted with what does. */
  #sent(change: Extract<Change, { do: "send" }>): void {
    const outcome = runOver(change);
    if (outcome !== null) this.#count.jobRunsOver.inc({ outcome });
    this.#count.sent.inc();
  }

  /** One that began is counted when it is over. */
  #beaten(change: Change): void {
    const outcome = cameIn(change);
    if (outcome !== null && outcome !== "began") this.#count.heartbeats.inc({ outcome });
  }

  #written(entry: Draft): void {
    if (entry.type === "custom" && entry.customType === "sessiond/turn-ended") {
      const { outcome } = (entry.data ?? {}) as { readonly outcome?: string };
      this.#count.turns.inc({ outcome: outcome !== undefined && ENDS.has(outcome) ? outcome : "other" });
    }
    if (entry.type === "custom" && entry.customType === PRUNED)
      this.#count.pruned.inc((entry.data as Pruned).results);
    if (entry.type === "custom" && entry.customType === PAID) this.#paid(entry);
    if (entry.type === "compaction") this.#compacted(entry);
    if (entry.type !== "message") return;
    const { message } = entry;
    if (message.role === "toolResult")
      this.#count.toolCalls.inc({ outcome: message.isError ? "error" : "ok" });
    else if (message.role === "assistant") this.#spoken(message);
  }

  /** A summary is no answer to anybody: its tokens are counted apart. */
  #paid(entry: Draft): void {
    const { input, output, cacheRead, cacheWrite } = tokensOf(entry);
    this.#count.summaryTokens.inc(input + output + cacheRead + cacheWrite);
  }

  #compacted(entry: Draft): void {
    const details = detailsOf(entry);
    if (details === null) return;
    const { occasion, truncated } = details;
    this.#count.compactions.inc({ occasion, outcome: truncated === null ? "summary" : "truncation" });
  }

  #spoken({ provider, model: name, usage }: Assistant): void {
    const id = `${provider}/${name}`;
    const model = this.#models?.has(id) === true ? id : "other";
    const { input, output, cacheRead, cacheWrite, cost } = usage;
    const kinds = { input, output, cache_read: cacheRead, cache_write: cacheWrite };
    for (const [kind, tokens] of Object.entries(kinds)) this.#count.tokens.inc({ model, kind }, tokens);
    this.#count.cost.inc({ model }, cost?.total ?? 0);
  }
}

function modelsOf({ model, failover, subagents, heartbeat }: Agent): readonly string[] {
  const others = [subagents.model, heartbeat.model].filter((each) => each !== null);
  return [model, ...failover, ...others];
}

function countersIn(registry: Registry) {
  const counter = <Label extends string>(name: string, help: string, labelNames: readonly Label[] = []) =>
    new Counter<Label>({ name: `sessiond_${name}_total`, help, labelNames, registers: [registry] });
  return {
    commits: counter("commits", "Commits of this process that are durable."),
    letters: counter("letters", "Letters posted to sessions, by class and by who wrote them.", [
      "class",
      "from",
    ]),
    turns: counter("turns_ended", "Turns that have ended, by how.", ["outcome"]),
    entries: counter("entries_appended", "Entries written into transcripts."),
    steps: counter("steps", "Times that a model was asked and answered."),
    toolCalls: counter("tool_calls", "Results of tools, by whether the tool failed or was refused.", [
      "outcome",
    ]),
    tokens: counter("tokens", "Tokens that models have read and written, by model and kind.", [
      "model",
      "kind",
    ]),
    cost: counter("cost_dollars", "What models have cost, as far as their prices are known.", ["model"]),
    pruned: counter("pruned_results", "Tool results that have left the prompt."),
    compactions: counter("compactions", "Contexts that were made smaller, by why and by what came of it.", [
      "occasion",
      "outcome",
    ]),
    summaryTokens: counter(
      "summary_tokens",
      "Tokens that summaries of contexts have cost, read and written.",
    ),
    children: counter("children_spawned", "Sessions that other sessions have opened."),
    sent: counter("answers_sent", "Answers handed to the outbox, for a channel."),
    settled: counter("answers_settled", "Answers that a channel has taken, or that were refused.", [
      "outcome",
    ]),
    heartbeats: counter("heartbeats", "Heartbeats of agents that are over, by what came of them.", [
      "outcome",
    ]),
    jobRuns: counter("job_runs_started", "Runs of cron jobs that were begun."),
    jobRunsOver: counter("job_runs_ended", "Runs of cron jobs whose turn has ended, by how.", ["outcome"]),
    jobsDisabled: counter("jobs_disabled", "Cron jobs that were disabled because they failed too often."),
    resets: counter("resets", "Conversations that were begun anew, by why.", ["why"]),
    opened: counter("sessions_opened", "Sessions that were opened."),
    deleted: counter("sessions_deleted", "Sessions that were deleted."),
  };
}

/** Each is a command of the table: there are few (M1). One that only looks commits nothing, so it is counted where it is obeyed. */
function commandsIn(registry: Registry, totals: Totals): void {
  const made: Counter<"name"> = new Counter({
    name: "sessiond_commands_total",
    help: "Chat commands that were obeyed, by name.",
    labelNames: ["name"],
    registers: [],
    collect: () => {
      made.reset();
      for (const [name, times] of totals.commands) made.inc({ name }, times);
    },
  });
  registry.registerMetric(made);
}

/** Each is read anew whenever somebody asks. */
function gaugesIn(registry: Registry, { system, version, subscribers, isDraining }: Looking): void {
  const gauge = (name: string, help: string, look: () => number): void => {
    const made: Gauge = new Gauge({
      name: `sessiond_${name}`,
      help,
      registers: [],
      collect: () => made.set(look()),
    });
    registry.registerMetric(made);
  };
  const byClass = (name: string, help: string, look: () => Load["inUse"]): void => {
    const made: Gauge<"class"> = new Gauge({
      name: `sessiond_${name}`,
      help,
      labelNames: ["class"],
      registers: [],
      collect: () => {
        const now = look();
        for (const each of CLASSES) made.set({ class: each }, now[each]);
      },
    });
    registry.registerMetric(made);
  };
  const { slots, processSlots, processes } = system;
  gauge("model_slots", "Model calls that may be in flight.", () => slots.load().slots);
  byClass("model_slots_in_use", "Model calls in flight, by class.", () => slots.load().inUse);
  byClass("model_slots_waiting", "Turns that wait for a model call, by class.", () => slots.load().waiting);
  gauge("program_slots", "Programs that may be waited for.", () => processSlots.load().slots);
  byClass("program_slots_in_use", "Programs that are waited for, by class.", () => processSlots.load().inUse);
  byClass(
    "program_slots_waiting",
    "Calls of tools that wait to start a program, by class.",
    () => processSlots.load().waiting,
  );
  gauge("programs_running", "Programs that run now, also in the background.", () => processes.all().length);
  gauge("subscribers", "Streams that are followed: by server-sent events, and on sockets.", subscribers);
  gauge("draining", "1 while the gateway ends and takes nothing new, else 0.", () => (isDraining() ? 1 : 0));
  new Gauge({
    name: "sessiond_build_info",
    help: "Always 1; its labels say what runs here.",
    labelNames: ["version", "node"],
    registers: [registry],
  }).set({ version, node: process.version }, 1);
}
