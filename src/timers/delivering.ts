// Where the answer of a run goes, and who hears that a job was disabled. All of it is changes of the commit that ends the run: so
// it is told if and only if the run is over, and once.

import type { Log } from "../base/log.ts";
import type { SendPolicy } from "../config/config.ts";
import { MAILBOX_LETTERS_MAX } from "../limits.ts";
import type { Letter, Route } from "../mail/letter.ts";
import { isCronRun, mainKey, parseAgent, type SessionKey } from "../routing/key.ts";
import { maySend } from "../routing/policy.ts";
import type { Session } from "../sessions/session.ts";
import type { Change } from "../store/change.ts";
import type { Store } from "../store/store.ts";
import type { Block } from "../transcript/entry.ts";
import { isSilent } from "../turns/replies.ts";
import { untold, type Decision, type Over } from "./decide.ts";
import type { Job } from "./job.ts";
import { nameOf, titleOf } from "./title.ts";

export interface DeliveryParts {
  readonly log: Log;
  readonly store: Pick<Store, "session" | "waiting">;
  readonly policy: SendPolicy;
  readonly channels: ReadonlySet<string>; // an answer for another one is refused, and stays visible
  readonly zone: string; // by whose clock the times of a job are told that has none
}

/** What is sent and told because of what has ended, and the record then: it says what could not be told. */
export interface Followed {
  readonly job: Job;
  readonly changes: readonly Change[];
}

/** `by`: whose outbox is being delivered just now, so that what is sent goes out with it; null: nobody's. */
export async function following(
  parts: DeliveryParts,
  { job: decided, over, notice }: Decision,
  by: SessionKey | null,
): Promise<Followed> {
  let job = decided;
  const changes: Change[] = [];
  for (const each of over) {
    const told = await delivering(parts, job, each, by);
    if (typeof told !== "string") changes.push(...told);
    else {
      const isTrouble = told !== NOBODY;
      parts.log[isTrouble ? "warn" : "debug"](
        { job: job.id, run: each.run.id },
        `the answer of a run was not told: ${told}`,
      );
      job = untold(job, each.run.id, isTrouble ? `not told: ${told}` : told);
    }
  }
  if (notice !== null) changes.push(...(await noticing(parts, job, notice)));
  return { job, changes };
}

/** Or why it is told to nobody who should hear of it. */
async function delivering(
  parts: DeliveryParts,
  job: Job,
  over: Over,
  by: SessionKey | null,
): Promise<readonly Change[] | string> {
  const { delivery } = over;
  if (delivery.kind === "none" || !saysSomething(over)) return [];
  switch (delivery.kind) {
    case "session":
      return await toSession(parts, job, over, delivery.key);
    case "route": {
      const whose = await spokenTo(parts, delivery.of);
      if (whose?.route == null) return await toNobody(parts, job, over, delivery.of);
      return await sending(parts, { job, over, by, route: whose.route, whose });
    }
    case "webhook": {
      const route = { channel: delivery.channel, to: delivery.to, thread: null };
      return await sending(parts, { job, over, by, route, whose: null });
    }
  }
}

/**
 * Nobody has ever written from anywhere. What it said is in its transcript, and the record says that it is only there; a failure is
 * told to main, if the job may speak for it and did not fail there.
 */
async function toNobody(
  parts: DeliveryParts,
  job: Job,
  over: Over,
  of: readonly SessionKey[],
): Promise<readonly Change[] | string> {
  const main = mainOf(job);
  if (over.end.outcome !== "done" && of.includes(main) && over.run.key !== main)
    return await toSession(parts, job, over, main);
  return NOBODY;
}

/** It is no trouble, and does not read like one: whoever has no channel reads transcripts. */
const NOBODY = "stays in the session: nobody writes to it through a channel";

/** Who is told, by a letter to the agent's main session, that a job is disabled. Main answers where it last did. */
async function noticing(parts: DeliveryParts, job: Job, why: string): Promise<readonly Change[]> {
  const [newest] = job.runs;
  const main = await parts.store.session(mainOf(job));
  if (main === null) return []; // The agent is not configured any more, and its main session was removed.
  const text =
    `Job ${nameOf(job)} is disabled: ${why}. It does not run any more until it is enabled again, once what is wrong was seen to: ` +
    `\`sessiond cron edit ${job.id} --enable\`, or the tool \`cron\` with the action \`edit\`. Tell the person you talk with.`;
  return posting(main, {
    id: `cause:job:${job.id}:${newest?.id ?? job.version}:disabled`,
    from: { kind: "internal_system", cause: "cron" },
    class: "scheduled",
    mode: "followup",
    content: [{ type: "text", text }],
    replyTo: null,
    origin: null,
  });
}

/** A run that has nothing to say is done, and that is all. One that failed always has. */
function saysSomething({ end: { outcome, text } }: Over): boolean {
  return outcome !== "done" || (text.trim() !== "" && !isSilent([{ type: "text", text }]));
}

function mainOf({ agent }: Job): SessionKey {
  return mainKey(parseAgent(agent));
}

/** In short, what became of a run that was not done. */
function failureOf({ zone }: DeliveryParts, job: Job, { run, end: { outcome, reason } }: Over): string {
  return `Job ${titleOf(job, run, zone)}: ${outcome}${reason === null ? "" : `: ${reason}`}`;
}

async function toSession(
  parts: DeliveryParts,
  job: Job,
  over: Over,
  key: SessionKey,
): Promise<readonly Change[] | string> {
  const { run, end } = over;
  const main = mainOf(job);
  const named = await parts.store.session(key);
  // Only to one: who answers it, and where that goes, is decided here. If it has ended by then, it is looked again.
  const reader = named !== null && named.state.kind !== "ended" ? named : await parts.store.session(main);
  if (reader === null) return `there is neither ${key} nor ${main}`;
  if ((await parts.store.waiting(reader.key, MAILBOX_LETTERS_MAX)) >= MAILBOX_LETTERS_MAX)
    return `${MAILBOX_LETTERS_MAX} letters wait for ${reader.key} already`;
  const head = `What came of job ${titleOf(job, run, parts.zone)}:`;
  const text = end.outcome === "done" ? `${head}\n\n${end.text}` : failureOf(parts, job, over);
  return posting(reader, {
    id: `cause:job:${job.id}:${run.id}:answer`,
    from: { kind: "inter_session", source: run.key ?? main, tool: null },
    class: "scheduled",
    mode: "followup",
    content: [{ type: "text", text: text.toWellFormed() }],
    replyTo: reader.route, // What it makes of that goes to whom it last spoke with.
    origin: null,
  });
}

/** A main session that was killed goes on, as with any message. */
function posting({ key, state }: Session, letter: Letter): readonly Change[] {
  const isOver = state.kind === "ended";
  return [...(isOver ? [{ do: "revive", key } as const] : []), { do: "post", to: [key], letter }];
}

/** The first that somebody speaks with; null: nobody does with any of them. */
async function spokenTo({ store }: DeliveryParts, keys: readonly SessionKey[]): Promise<Session | null> {
  for (const key of keys) {
    const session = await store.session(key);
    if (session?.route) return session;
  }
  return null;
}

interface Sending {
  readonly job: Job;
  readonly over: Over;
  readonly by: SessionKey | null;
  readonly route: Route;
  readonly whose: Session | null; // whose answer it is for the send policy; null: that of where it ran
}

/** What may not leave is refused, and visible, like every answer. */
async function sending(
  parts: DeliveryParts,
  { job, over, by, route, whose }: Sending,
): Promise<readonly Change[]> {
  const { run, end } = over;
  // Somebody wrote into the turn from there, and was answered with the same.
  if (end.answered?.some((heard) => isSame(heard, route)) === true) return [];
  const ran = run.key === null ? null : await parts.store.session(run.key);
  const key = by ?? ran?.key ?? mainOf(job);
  const text = end.outcome === "done" ? end.text : failureOf(parts, job, over);
  const content: readonly Block[] = [{ type: "text", text: text.toWellFormed() }];
  const id = `job:${job.id}:${run.id}:answer`;
  const refused = whyNot(parts, route, whose ?? (await speakerOf(parts, job, { key: ran?.key ?? key, ran })));
  const send: Change = { do: "send", outgoing: { id, key, route, content } };
  return refused === null ? [send] : [send, { do: "settle", id, refused }];
}

/** A fresh session ends with its run: unless somebody was quick, it has no send setting of its own, and main's holds. */
async function speakerOf(
  { store }: DeliveryParts,
  job: Job,
  { key, ran }: { readonly key: SessionKey; readonly ran: Session | null },
): Promise<{ readonly key: SessionKey; readonly settings: Session["settings"] | null }> {
  if (ran !== null && (!isCronRun(ran.key) || ran.settings.sendPolicy !== null)) return ran;
  return { key, settings: (await store.session(mainOf(job)))?.settings ?? null };
}

function isSame(a: Route, b: Route): boolean {
  return a.channel === b.channel && a.to === b.to && a.thread === b.thread;
}

function whyNot(
  { policy, channels }: DeliveryParts,
  { channel }: Route,
  { key, settings }: { readonly key: SessionKey; readonly settings: Session["settings"] | null },
): string | null {
  const may = maySend(policy, { key, channel, override: settings?.sendPolicy ?? null });
  if (!may.allowed) return may.why;
  return channels.has(channel) ? null : `there is no channel ${JSON.stringify(channel)}`;
}
