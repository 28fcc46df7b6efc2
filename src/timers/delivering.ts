// Where the answer of a run goes, and who hears that a job was disabled. All of it is changes of the commit that ends the run: so
// it is told if and only if the run is over, and once.

import type { SendPolicy } from "../config/config.ts";
import type { Letter, Route } from "../mail/letter.ts";
import { mainKey, parseAgent, type SessionKey } from "../routing/key.ts";
import { maySend } from "../routing/policy.ts";
import type { Session } from "../sessions/session.ts";
import type { Change, Store } from "../store/store.ts";
import type { Block } from "../transcript/entry.ts";
import { isSilent } from "../turns/replies.ts";
import type { Over } from "./decide.ts";
import type { Job } from "./job.ts";

export interface DeliveryParts {
  readonly store: Pick<Store, "session">;
  readonly policy: SendPolicy;
  readonly channels: ReadonlySet<string>; // an answer for another one is refused, and stays visible
}

/** `by`: whose outbox is being delivered just now, so that what is sent goes out with it; null: nobody's. */
export async function delivering(
  parts: DeliveryParts,
  job: Job,
  over: Over,
  by: SessionKey | null,
): Promise<readonly Change[]> {
  const { delivery } = job;
  if (delivery.kind === "none" || !saysSomething(over)) return [];
  switch (delivery.kind) {
    case "session":
      return await toSession(parts, job, over, delivery.key);
    case "route": {
      const whose = await spokenTo(parts, job);
      if (whose?.route == null) return []; // Nobody has ever written from anywhere: what it said is in its transcript.
      return await sending(parts, { job, over, by, route: whose.route, whose });
    }
    case "webhook": {
      const route = { channel: delivery.channel, to: delivery.to, thread: null };
      return await sending(parts, { job, over, by, route, whose: null });
    }
  }
}

/** Who is told, by a letter to the agent's main session, that a job is disabled. Main answers where it last did. */
export async function noticing(parts: DeliveryParts, job: Job, why: string): Promise<readonly Change[]> {
  const [newest] = job.runs;
  const text =
    `Job ${nameOf(job)} is disabled: ${why}. It does not run any more until it is enabled again, once what is wrong was seen to: ` +
    `\`sessiond cron edit ${job.id} --enable\`, or the tool \`cron\` with the action \`edit\`. Tell the person you talk with.`;
  return await posting(parts, [mainOf(job)], {
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

function nameOf({ id, name }: Job): string {
  return name === "" ? id : `${JSON.stringify(name)} (${id})`;
}

/** In short, what became of a run that was not done. */
function failureOf(job: Job, { run, end: { outcome, reason } }: Over): string {
  const due = new Date(run.dueAtMs).toISOString();
  return `Job ${nameOf(job)}, due at ${due}: ${outcome}${reason === null ? "" : `: ${reason}`}`;
}

async function toSession(
  parts: DeliveryParts,
  job: Job,
  over: Over,
  key: SessionKey,
): Promise<readonly Change[]> {
  const { run, end } = over;
  const main = mainOf(job);
  const reader = await parts.store.session(key);
  const head = `What came of job ${nameOf(job)}, due at ${new Date(run.dueAtMs).toISOString()}:`;
  const text = end.outcome === "done" ? `${head}\n\n${end.text}` : failureOf(job, over);
  const to = reader === null || reader.state.kind === "ended" ? [main] : [key, main];
  const heard = to.length === 1 ? await parts.store.session(main) : reader;
  return await posting(parts, to, {
    id: `cause:job:${job.id}:${run.id}:answer`,
    from: { kind: "inter_session", source: run.key ?? main, tool: null },
    class: "scheduled",
    mode: "followup",
    content: [{ type: "text", text: text.toWellFormed() }],
    replyTo: heard?.route ?? null, // What it makes of that goes to whom it last spoke with.
    origin: null,
  });
}

/** To the first that lives. A main session that was killed goes on, as with any message. */
async function posting(
  { store }: DeliveryParts,
  to: readonly SessionKey[],
  letter: Letter,
): Promise<readonly Change[]> {
  const [first] = to;
  const isOver =
    to.length === 1 && first !== undefined && (await store.session(first))?.state.kind === "ended";
  return [...(isOver ? [{ do: "revive", key: first } as const] : []), { do: "post", to, letter }];
}

/** The session that a job runs in, if somebody speaks with that; else main. */
async function spokenTo({ store }: DeliveryParts, job: Job): Promise<Session | null> {
  const target = job.target.kind === "session" ? await store.session(job.target.key) : null;
  return target?.route ? target : await store.session(mainOf(job));
}

interface Sending {
  readonly job: Job;
  readonly over: Over;
  readonly by: SessionKey | null;
  readonly route: Route;
  readonly whose: Session | null; // whose answer it is for the send policy; null: that of the session it ran in
}

/** What may not leave is refused, and visible, like every answer. */
async function sending(
  parts: DeliveryParts,
  { job, over, by, route, whose }: Sending,
): Promise<readonly Change[]> {
  const { run, end } = over;
  const ran = run.key === null ? null : await parts.store.session(run.key);
  const key = by ?? ran?.key ?? mainOf(job);
  const text = end.outcome === "done" ? end.text : failureOf(job, over);
  const content: readonly Block[] = [{ type: "text", text: text.toWellFormed() }];
  const id = `job:${job.id}:${run.id}:answer`;
  const refused = whyNot(parts, route, whose ?? ran ?? { key, settings: null });
  const send: Change = { do: "send", outgoing: { id, key, route, content } };
  return refused === null ? [send] : [send, { do: "settle", id, refused }];
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
