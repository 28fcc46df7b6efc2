// The lines of a job's form: what to do, when, and what it is called; the rest is under "More". What can be chosen is what there is.

import type { Output } from "../../../src/calls/door.ts";
import type { Choice, Field } from "../../parts/field.tsx";
import { shortKey } from "../../parts/text.tsx";
import { call } from "../../wire/call.ts";
import type { Job } from "../../wire/jobs.ts";
import { modelChoices } from "../../wire/models.ts";
import { ChoosingOther, type ChoosingParts } from "./choosing.tsx";
import { BY_KEY, MISSED, valuesOf, type Given } from "./form.ts";
import { WhenField } from "./when-field.tsx";

/** What a form offers; each is null where it was refused, or did not come: then it can be typed. */
export interface Known {
  readonly models: Output<"models"> | null;
  readonly sessions: readonly string[]; // that stay, newest first
  readonly agents: readonly string[];
  readonly config: Config | null; // only who administers may see it
}

/** What is used of it. */
interface Config {
  readonly timezone?: string;
  readonly webhooks?: Readonly<Record<string, { readonly url?: string | null } | undefined>>;
  readonly agents?: Readonly<
    Record<string, { readonly limits?: { readonly turnSeconds?: number } } | undefined>
  >;
}

const SESSIONS_LISTED = 100;
const SESSIONS_OFFERED = 12;
/** The others end with their task, or are sessiond's own. */
const STAYS: ReadonlySet<string> = new Set(["thread", "direct", "group", "channel"]);

export async function known(): Promise<Known> {
  const orNull = <Of,>(asked: Promise<Of>): Promise<Of | null> => asked.catch(() => null);
  const [models, listed, beats, config] = await Promise.all([
    orNull(call("models", {})),
    orNull(call("list", { limit: SESSIONS_LISTED })),
    orNull(call("heartbeats", {})),
    orNull(call("config", {})),
  ]);
  const stays = (listed?.sessions ?? []).filter(({ kind, state }) => STAYS.has(kind) && state !== "ended");
  return {
    models,
    sessions: stays.map(({ sessionKey }) => sessionKey),
    agents: (beats?.heartbeats ?? []).map(({ agent }) => agent),
    config: config?.config ?? null,
  };
}

/** `given` goes before what is usual: an example. */
export function fieldsOf(job: Job | null, there: Known, given: Given = {}): readonly Field[] {
  const values: Given = { ...valuesOf(job), ...given };
  const of = (name: string): Pick<Field, "name" | "value"> => ({ name, value: values[name] ?? "" });
  return [
    { ...of("message"), label: "What is to be done", kind: "lines", isNeeded: true },
    {
      name: "when",
      label: "When",
      named: ["at", "every", "cron"],
      show: (line) => <WhenField line={line} given={values} />,
    },
    {
      ...of("name"),
      label: "Name",
      named: ["exists"],
      hint: "No two jobs of an agent have the same. Empty: its first words.",
    },
    ...moreOf(job, there, of).map((field): Field => ({ ...field, isMore: true })),
  ];
}

type Of = (name: string) => Pick<Field, "name" | "value">;

function moreOf(job: Job | null, there: Known, of: Of): readonly Field[] {
  const isOffered = job === null && there.agents.length > 1;
  return [
    ...(isOffered ? [agentField(there, of)] : []),
    targetField(there, of),
    deliveryField(job, there, of),
    {
      ...of("model"),
      label: "Model",
      kind: "choice",
      choices: withOwn([["", "The agent's own"], ...modelChoices(there.models)], of("model").value),
      hint: "Of new sessions: one that is there has its own.",
    },
    zoneField(job, there, of),
    {
      ...of("timeout"),
      label: "A run may take",
      usual: job === null ? "" : (turnOf(job, there) ?? job.timeout),
      hint: "Such as 10m or 1h30m. Empty: as long as a turn.",
    },
    { ...of("missed"), label: "Runs that were missed", kind: "choice", choices: MISSED, usual: "coalesce" },
  ];
}

function agentField({ agents }: Known, of: Of): Field {
  const choices = agents.map((agent): Choice => [agent, agent]);
  return { ...of("agent"), value: "main", usual: "main", label: "Agent", kind: "choice", choices };
}

function targetField({ sessions }: Known, of: Of): Field {
  const value = of("target").value ?? "";
  const choices: readonly Choice[] = [
    ["fresh", "A new session each time"],
    ["main", "main: the conversation carries over"],
    ...offered(sessions),
    ["thread:", "A thread, by its name…"],
    [BY_KEY, "A session, by its key…"],
  ];
  const others = { "thread:": "Name of the thread", [BY_KEY]: "Key of the session" };
  return {
    ...of("target"),
    label: "Runs in",
    usual: "fresh",
    show: choosing({ choices, value, others, offers: sessions }),
  };
}

function deliveryField(job: Job | null, { sessions, config }: Known, of: Of): Field {
  const value = of("delivery").value ?? "";
  const hooks = Object.entries(config?.webhooks ?? {}).flatMap(([name, hook]) => (hook?.url ? [name] : []));
  const choices: readonly Choice[] = [
    ...(job === null ? [["", "As usual"] as const] : []),
    ["main", "main, as a message"],
    ["route", "Whoever wrote last, through their channel"],
    ["none", "Nobody: it stays where it ran"],
    ...offered(sessions),
    [BY_KEY, "A session, by its key…"],
    ...hooks.map((name): Choice => [`webhook:${name}:`, `Webhook ${name}, to…`]),
    ...(config === null ? [["webhook:", "A webhook…"] as const] : []),
  ];
  const others = {
    [BY_KEY]: "Key of the session",
    "webhook:": "channel:to",
    ...Object.fromEntries(hooks.map((name) => [`webhook:${name}:`, "To whom, as that program calls them"])),
  };
  return {
    ...of("delivery"),
    label: "The answer goes to",
    ...(job === null
      ? { hint: "As usual: from a new session to main, from others to whoever speaks there." }
      : {}),
    usual: job === null ? "" : job.target === "fresh" ? "main" : "route",
    show: choosing({ choices, value, others, offers: sessions }),
  };
}

function choosing(parts: Omit<ChoosingParts, "line">): NonNullable<Field["show"]> {
  const { choices, value } = parts;
  return (line) => <ChoosingOther {...parts} line={line} choices={withOwn(choices, value)} />;
}

function zoneField(job: Job | null, { config }: Known, of: Of): Field {
  const isTold = job !== null && job.timezone !== null;
  return {
    ...of("timezone"),
    label: "Time zone",
    offers: Intl.supportedValuesOf("timeZone"),
    usual: isTold ? (config?.timezone ?? job.timezone ?? "") : "",
    hint: isTold
      ? "By whose clock, such as Europe/Zurich. Empty: as it is."
      : "By whose clock, such as Europe/Zurich. Empty: the daemon's.",
  };
}

/** What a turn of its agent may take, as spans are written; undefined: not known. */
function turnOf({ agent }: Job, { config }: Known): string | undefined {
  const seconds = config?.agents?.[agent]?.limits?.turnSeconds;
  return seconds === undefined ? undefined : spanText(seconds);
}

function spanText(seconds: number): string {
  const parts = [
    [Math.floor(seconds / 86_400), "d"],
    [Math.floor(seconds / 3_600) % 24, "h"],
    [Math.floor(seconds / 60) % 60, "m"],
    [seconds % 60, "s"],
  ] as const;
  return parts.flatMap(([amount, unit]) => (amount === 0 ? [] : [`${amount}${unit}`])).join("");
}

function offered(sessions: readonly string[]): readonly Choice[] {
  return sessions.slice(0, SESSIONS_OFFERED).map((key) => [key, shortKey(key)]);
}

/** What a job has is among what it may have, also where nobody offers it any more. */
function withOwn(choices: readonly Choice[], value = ""): readonly Choice[] {
  return choices.some(([each]) => each === value) ? choices : [...choices, [value, value]];
}
