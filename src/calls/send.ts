// How a message becomes a letter: whose it is, which session it is for, and whether that session has to be opened first.

import type { z } from "zod";
import { Fault } from "../base/fault.ts";
import { copyOf, type Copy } from "../children/copy.ts";
import {
  REPEAT_LOOKBACK_ENTRIES,
  MESSAGE_PICTURES_BYTES_MAX,
  MESSAGE_TEXT_BYTES_MAX,
  THREAD_START_ENTRIES_MAX,
} from "../limits.ts";
import type { Letter } from "../mail/letter.ts";
import { handedOn } from "../mail/urgency.ts";
import { chatOf, describeKey, parseAgent, parseKey, type KeyKind, type SessionKey } from "../routing/key.ts";
import type { Routed } from "../routing/route.ts";
import type { Session } from "../sessions/session.ts";
import type { Change, Receipt } from "../store/change.ts";
import type { Block } from "../transcript/entry.ts";
import { spillPicture } from "../transcript/spill.ts";
import { isNote } from "../transcript/note.ts";
import type { Caller, Done, System } from "./call.ts";
import { configured, mustNotBeArchived, reached } from "./reach.ts";
import type { receiveInput, sendInput, sent } from "./schemas.ts";

type Sent = z.input<typeof sent>;

/** What a message may bring along. */
type Brought = Extract<Change, { readonly do: "open" | "revive" | "set" }>;

/** What sending comes to, and the letter's id: whoever waits for the answer has to know it before it is committed. */
type Sending = Done<Sent> & { readonly id: string };

/** Sessions that a message opens. Sub-agents are spawned, and runs of cron jobs are the clock's. */
const OPENED_BY_MESSAGE: ReadonlySet<KeyKind> = new Set([
  "main",
  "direct",
  "group",
  "channel",
  "thread",
  "hook",
  "acp",
]);

export async function send(
  system: System,
  caller: Caller,
  input: z.output<typeof sendInput>,
): Promise<Sending> {
  const key = parseKey(input.sessionKey);
  const content = await contentOf(system, input);
  if (caller.kind === "agent") return await sendFromSession(system, caller, { key, content, input });
  configured(system, describeKey(key).agent);
  if (input.after !== undefined || !OPENED_BY_MESSAGE.has(describeKey(key).kind))
    await mustNotBeArchived(system, caller, key);
  const letter: Letter = {
    id: sentId(caller, key, input.id ?? system.world.newId()),
    from: { kind: "external_user", channel: null, peer: null },
    class: "interactive",
    mode: input.mode ?? null,
    content,
    replyTo: null,
    origin: null,
  };
  return await posting(system, key, letter, input);
}

/** From one session to another that it may see. The answer comes back as a letter, unless it is not wanted. */
async function sendFromSession(
  system: System,
  caller: Extract<Caller, { kind: "agent" }>,
  of: {
    readonly key: SessionKey;
    readonly content: readonly Block[];
    readonly input: z.output<typeof sendInput>;
  },
): Promise<Sending> {
  const source = caller.session.key;
  if (of.key === source) throw new Fault("bad_input", "a session does not send to itself; just go on");
  if (of.input.model !== undefined)
    throw new Fault("forbidden", "a session sets its own model, and no other's");
  if (of.input.after !== undefined)
    throw new Fault("bad_input", "after: what a session sends goes into the mailbox, whatever is before it");
  const target = await reached(system, caller, of.key);
  const letter: Letter = {
    id: caller.cause,
    from: { kind: "inter_session", source, tool: caller.tool },
    class: handedOn(caller.class),
    mode: of.input.mode ?? null,
    content: of.content,
    replyTo: of.input.reply === false ? null : { channel: "session", to: source, thread: null },
    origin: null,
  };
  const { lastSeq: seq } = target.transcript;
  const output = (): Sent => ({ sessionKey: of.key, id: letter.id, repeated: false, seq });
  return { id: letter.id, changes: [{ do: "post", to: [of.key], letter }], output };
}

type Received = z.output<typeof receiveInput>;

export async function receive(system: System, caller: Caller, input: Received): Promise<Sending> {
  const { id, routed } = arrival(system, caller, input);
  const letter: Letter = {
    id,
    from: routed.from,
    class: "interactive",
    mode: input.mode ?? null,
    content: await contentOf(system, input),
    replyTo: input.channel === "" ? null : routed.replyTo, // what came through no channel is read where it is
    origin: routed.origin,
  };
  return await posting(system, routed.key, letter);
}

/** Where a message of a channel belongs, and the id that it has there. */
export function arrival(
  system: System,
  caller: Caller,
  input: Received,
): { readonly id: string; readonly routed: Routed } {
  const { message: _message, images: _images, mode: _mode, id, ...envelope } = input;
  const agent = parseAgent(input.agent);
  configured(system, agent);
  const routed = system.routes.of({ ...envelope, agent });
  const { channel, account } = envelope;
  const whose = ["receive", principalOf(caller), channel, account ?? "", routed.key];
  return { id: letterId(whose, id ?? system.world.newId()), routed };
}

/** The id of a letter that was sent to a session by its key. */
export function sentId(caller: Caller, key: SessionKey, id: string): string {
  return letterId(["send", principalOf(caller), key], id);
}

/** The id of a task that a person gives. The child's key may be made of it, so it does not name the child. */
export function spawnedId(caller: Caller, id: string): string {
  return letterId(["spawn", principalOf(caller)], id);
}

/** Whether an id is of such a task. */
export function isSpawned(id: string): boolean {
  return id.startsWith(letterId(["spawn"], ""));
}

export function principalOf(caller: Caller): string {
  return caller.kind === "person" ? caller.principal : caller.session.key;
}

/**
 * Whose id it is, and for which session: many programs count their messages from 1, and many channels in each chat. Within
 * that the sender's own id says which message it is.
 */
function letterId(whose: readonly string[], id: string): string {
  return `ext:${whose.map(encodeURIComponent).join(":")}:${id}`;
}

/** The session is there, or it is opened in the same commit. */
async function posting(
  system: System,
  key: SessionKey,
  letter: Letter,
  { model, after }: Pick<z.output<typeof sendInput>, "model" | "after"> = {},
): Promise<Sending> {
  const session = system.lanes.worker(key)?.session ?? (await system.store.session(key));
  if (session === null && after !== undefined) throw new Fault("not_found", `there is no session ${key}`);
  const opened = session === null ? [await opening(system, key)] : revived(session);
  const set = model === undefined ? [] : await modelSet(system, key, model);
  // Read before it was posted, so whoever follows from here sees the message itself.
  const seq = session?.transcript.lastSeq;
  const output = async (receipt: Receipt | null): Promise<Sent> => {
    const [posted] = receipt?.posts ?? [];
    if (posted?.repeated) return { ...(await firstReceipt(system, posted.to, letter.id)), repeated: true };
    return {
      sessionKey: posted?.to ?? key,
      id: letter.id,
      repeated: false,
      seq: seq ?? receipt?.seqs[key] ?? 0,
    };
  };
  // Of a message that was sent before nothing happens: neither the message, nor what it brings along.
  const changes = [...opened, ...set].map((change): Change => ({ ...change, with: letter.id }));
  const expect =
    session && after !== undefined ? { transcript: session.transcript.id, lastSeq: after } : undefined;
  const post: Change = { do: "post", to: [key], letter, ...(expect && { expect }) };
  return { id: letter.id, changes: [...changes, post], output };
}

/**
 * In the commit of the letter: so the turn that takes it has the model, also when the letter opens the session. What a worker
 * knows of settings may be old, so the store is asked.
 */
async function modelSet(
  { catalog, config, store }: System,
  key: SessionKey,
  model: string,
): Promise<readonly Brought[]> {
  const { id } = catalog.find(model);
  const settings = (await store.session(key))?.settings;
  const now = settings?.model ?? config.agents.get(describeKey(key).agent)?.model ?? "";
  return catalog.get(now)?.id === id ? [] : [{ do: "set", key, version: null, settings: { model: id } }];
}

/** Who was killed, or is about to be, and is written to again goes on where it was. What runs once does not. */
function revived({ key, kind, state, signal }: Session): readonly Brought[] {
  const mayEnd = state.kind === "ended" || signal === "kill";
  return mayEnd && OPENED_BY_MESSAGE.has(kind) ? [{ do: "revive", key }] : [];
}

/** Of a letter that was posted before: whoever follows from here sees the turn that took it, if that was lately. */
async function firstReceipt(system: System, to: SessionKey, id: string): Promise<Omit<Sent, "repeated">> {
  const session = await system.store.session(to);
  let seq = session?.transcript.lastSeq ?? 0;
  let looked = 0;
  if (seq === 0 || session === null) return { sessionKey: to, id, seq: 0 };
  let isFound = false;
  for await (const entry of system.store.entries(session.transcript.id, { before: null })) {
    if ((looked += 1) > REPEAT_LOOKBACK_ENTRIES) break;
    isFound ||= entry.type === "message" && entry.mailId === id;
    if (!isFound || entry.type === "gap" || !isNote(entry, "turn-started")) continue;
    seq = entry.seq - 1;
    break;
  }
  return { sessionKey: to, id, seq };
}

/** A session as a message opens it, if it is not there yet. */
export async function opening(system: System, key: SessionKey): Promise<Brought> {
  const base = chatOf(key);
  const { kind, agent } = describeKey(key);
  if (!OPENED_BY_MESSAGE.has(kind))
    throw new Fault("not_found", `there is no session ${key}, and a message opens none of kind ${kind}`);
  const chat =
    base !== null && system.config.session.threads === "parent" ? await system.store.session(base) : null;
  return {
    do: "open",
    key,
    transcript: system.world.newId(),
    cwd: system.config.agents.get(agent)?.workspace ?? "",
    parent: null,
    settings: {},
    copy: chat && (await lastOf(system, chat)),
    ifExists: "keep",
  };
}

/** What a thread starts with: the last of its chat. A turn that runs now is not over: it gets what was said before it. */
async function lastOf({ store }: System, chat: Session): Promise<Copy | null> {
  let looked = 0;
  for await (const entry of store.entries(chat.transcript.id, { before: null })) {
    if (entry.type === "gap" || (looked += 1) > THREAD_START_ENTRIES_MAX) return null;
    if (isNote(entry, "turn-ended")) return await copyOf(store, chat, entry.seq, THREAD_START_ENTRIES_MAX);
  }
  return null;
}

/** Text, then pictures. Pictures are blobs before anything names them. */
async function contentOf(
  system: System,
  { message, images = [] }: Pick<z.output<typeof sendInput>, "message" | "images">,
): Promise<Block[]> {
  if (message.trim() === "" && images.length === 0)
    throw new Fault("bad_input", "message: there is nothing in it");
  const written = Buffer.byteLength(JSON.stringify(message));
  if (written > MESSAGE_TEXT_BYTES_MAX)
    throw new Fault(
      "bad_input",
      `message: ${written} bytes when written down, at most ${MESSAGE_TEXT_BYTES_MAX}`,
    );
  const bytes = images.reduce((sum, { data }) => sum + Math.floor((data.length * 3) / 4), 0);
  if (bytes > MESSAGE_PICTURES_BYTES_MAX)
    throw new Fault("bad_input", `images: ${bytes} bytes together, at most ${MESSAGE_PICTURES_BYTES_MAX}`);
  const pictures = images.map(({ data, mimeType }) =>
    spillPicture({ type: "image", data, mimeType }, (blob) => system.store.putBlob(blob)),
  );
  const text: Block[] = message === "" ? [] : [{ type: "text", text: message.toWellFormed() }];
  return [...text, ...(await Promise.all(pictures))];
}
