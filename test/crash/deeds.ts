// Deeds: what one attempt of the workload is made of. A deed reads what it needs and gives back the changes of one
// commit; none means that there was nothing to do.

import type { World } from "../../src/base/world.ts";
import type { Letter, Outgoing } from "../../src/mail/letter.ts";
import type { SessionKey } from "../../src/routing/key.ts";
import type { Session } from "../../src/sessions/session.ts";
import type { Of } from "../../src/store/rules.ts";
import type { Change } from "../../src/store/change.ts";
import type { Store } from "../../src/store/store.ts";
import type { Timer } from "../../src/timers/timer.ts";
import type { Block, BlobName, Draft, Entry, Message } from "../../src/transcript/entry.ts";
import { contextStart } from "../../src/transcript/fold.ts";

/** Who speaks. */
export interface Voice {
  readonly name: string; // of the attempt
  readonly world: World; // for times and new ids
}

export interface Scene extends Voice {
  readonly store: Store;
  readonly dice: World;
  /** The session it is about. */
  readonly row: Session;
  /** Others that are held with it. */
  readonly others: readonly Session[];
  fenceOf(key: SessionKey): number;
}

export type Deed = (scene: Scene) => readonly Change[] | Promise<readonly Change[]>;

/** Of these, one that the dice choose. */
export type Choice = readonly (readonly [weight: number, deed: Deed])[];

/** Done by whoever holds the session: nobody else writes to it meanwhile. */
export const HELD: Choice = [
  [30, write],
  [15, several],
  [14, takeMail],
  [6, rewind],
  [6, withBlob],
  [10, setTimer],
  [5, fire],
  [6, answer],
  [8, settle],
  [4, reroute],
  [8, rotate],
];

/** Done by anybody, also while somebody else holds the session. */
export const FREE: Choice = [
  [6, charge],
  [4, signal],
  [5, ({ row, name }) => [set(row.key, null, name)]],
  [12, letters],
  [3, postAgain],
];

/** Expects what is not so, each in its own way. */
export const STALE: Choice = [
  [1, (scene) => [append(scene, { fence: scene.fenceOf(scene.row.key) + 1 })]],
  [1, (scene) => [append(scene, { after: scene.row.transcript.lastSeq + 1 })]],
  [1, (scene) => [rotating(scene, "nothing", { fence: scene.fenceOf(scene.row.key) + 1 })]],
  [
    1,
    (scene) => [append(scene, {}), rotating(scene, "nothing", { after: scene.row.transcript.lastSeq + 1 })],
  ],
  [1, ({ row, name }) => [set(row.key, row.settingsVersion + 1_000_000, name)]],
  [1, ({ row, name }) => [{ do: "setTimer", timer: timer(row.key, name, 1), expectDueAtMs: 2 }]],
  [1, ({ name }) => [{ do: "settle", id: name, refused: null }]],
  [1, (scene) => [finish(scene)]], // over the letters that came with it
  [1, ({ row }) => [{ do: "delete", key: row.key, expect: { transcript: "another", lastSeq: 0 } }]],
];

export function choose(choice: Choice, dice: World): Deed {
  let left = dice.random() * choice.reduce((sum, [weight]) => sum + weight, 0);
  const found = choice.find(([weight]) => (left -= weight) < 0);
  return found?.[1] ?? (() => []);
}

/** A new session, with its first words and a setting. */
export function open(scene: Voice, key: SessionKey): Change[] {
  return [opening(scene, key, null), first(scene, key, 0), set(key, 1, scene.name)];
}

/** A new session that begins as another one did. */
export async function fork(scene: Scene, key: SessionKey): Promise<Change[]> {
  const path: number[] = [];
  for await (const entry of scene.store.entries(scene.row.transcript.id, { from: 1 }))
    if (entry.type !== "gap") path.push(entry.seq);
  const copied = path.slice(0, Math.ceil(scene.dice.random() * path.length));
  const copy = { of: scene.row.key, fromSeq: 1, throughSeq: copied.at(-1) ?? 0 };
  if (copied.length === 0) return open(scene, key);
  return [opening(scene, key, copy), first(scene, key, copied.length)];
}

/** As seen, or whatever has happened to it. */
export async function remove({ store, row, dice }: Scene): Promise<Change[]> {
  const { rows } = await store.mail(row.key, { limit: 1 });
  const { id: transcript, lastSeq } = row.transcript;
  const expect = rows.length === 0 && dice.random() < 0.5 ? { transcript, lastSeq } : null;
  return [{ do: "delete", key: row.key, expect }];
}

/** Its mail is read, and then it ends: for good, or until it is revived. */
export async function end(scene: Scene): Promise<Change[]> {
  const { row, dice, others } = scene;
  const { rows, next } = await scene.store.mail(row.key, { limit: 500 });
  if (next !== null) return [];
  const written = take(scene, rows);
  if (dice.random() < 0.5) return [...written, finish(scene)];
  // It reports to another, and goes.
  const alive = others.find(({ state }) => state.kind !== "ended");
  const report = alive === undefined ? [] : [post(alive.key, `cause:${scene.name}`)];
  return [...written, ...report, finish(scene), { do: "delete", key: row.key, expect: null }];
}

/** Everything that waits is dealt with, and it goes out of the way, in one commit. Nobody visits it meanwhile. */
export async function archive(scene: Scene): Promise<Change[]> {
  const { store, row } = scene;
  const { rows, next } = await store.mail(row.key, { limit: 500 });
  const now = await store.session(row.key); // it may have been visited since the scene was set
  if (next !== null || now === null) return [];
  const answers: Outgoing[] = [];
  for (const refused of [false, true])
    answers.push(...(await store.outbox({ refused, key: row.key, limit: 500 })).rows);
  const timers = await timersOf(scene);
  const written = take(scene, rows);
  const lastSeq = row.transcript.lastSeq + Math.max(1, rows.length);
  return [
    ...written,
    ...answers.map(({ id }) => ({ do: "settle", id, refused: null }) as const),
    ...timers.map(({ id, dueAtMs }) => ({ do: "clearTimer", id, expectDueAtMs: dueAtMs }) as const),
    ...(now.signal === "pause" ? [{ do: "signal", key: row.key, signal: "none" } as const] : []),
    now.signal === "kill" ? finish(scene) : fenced(scene, { do: "run", state: { kind: "idle" } }),
    { do: "archive", key: row.key, expect: { transcript: row.transcript.id, lastSeq }, why: "asked" },
  ];
}

/** The end of its life before is over: it is written to, and runs. */
export function revive(scene: Scene): Change[] {
  return [{ do: "revive", key: scene.row.key }, ...letters(scene), ...write(scene)];
}

/** Some entries, and a state that names the attempt. */
function write(scene: Scene): Change[] {
  const count = 1 + Math.floor(scene.dice.random() * 4);
  const state = { kind: "running", sinceMs: 0, turn: scene.name, step: count } as const;
  return [append(scene, { entries: texts(scene, count) }), fenced(scene, { do: "run", state })];
}

function finish(scene: Scene): Change {
  const state = { kind: "ended", atMs: 0, outcome: "done", reason: scene.name } as const;
  return fenced(scene, { do: "run", state });
}

/** One commit over several sessions: an entry in each, and a letter to the first. */
function several(scene: Scene): Change[] {
  const rows = [scene.row, ...scene.others];
  return [...rows.map((row) => append({ ...scene, row }, {})), post(scene.row.key, `cause:${scene.name}`)];
}

/** Taking letters and writing them down are one commit. */
async function takeMail(scene: Scene): Promise<Change[]> {
  const { rows } = await scene.store.mail(scene.row.key, { limit: 5 });
  return rows.length === 0 ? [] : take(scene, rows);
}

/** An entry for each letter; without any, one that says something else. */
function take(scene: Scene, letters: readonly Letter[]): Change[] {
  const ids = letters.map(({ id }) => id);
  const entries = texts(scene, Math.max(1, ids.length)).map((draft, at) => {
    const mailId = ids[at];
    return mailId === undefined ? draft : { ...draft, mailId };
  });
  return [fenced(scene, { do: "take", ids }), append(scene, { entries })];
}

/** The active path up to an entry that is at most so many from its end. */
async function pathOf(scene: Scene, back: number): Promise<Entry[]> {
  const path: Entry[] = [];
  for await (const entry of scene.store.entries(scene.row.transcript.id, { from: 1 }))
    if (entry.type !== "gap") path.push(entry);
  return path.slice(0, Math.max(1, path.length - Math.floor(scene.dice.random() * back)));
}

/** Goes on from an earlier entry of the active path. */
async function rewind(scene: Scene): Promise<Change[]> {
  const path = await pathOf(scene, 7);
  const last = path.at(-1);
  const rewindTo = last === undefined ? null : { id: last.id, seq: last.seq };
  return [append(scene, { rewindTo, entries: texts(scene, 2), contextSeq: contextStart(path) })];
}

/** What was said before it began anew is back, and what is said now is put away. Nobody visits it meanwhile. */
export async function swap(scene: Scene): Promise<Change[]> {
  const { store, row } = scene;
  const { rows } = await store.archives({ key: row.key, limit: 10 });
  const [found] = rows;
  const mail = await store.mail(row.key, { limit: 1 });
  if (found === undefined || mail.rows.length > 0 || row.state.kind !== "idle" || row.signal !== "none")
    return [];
  await store.unpack(found.id);
  const { id: transcript, lastSeq } = row.transcript;
  return [{ do: "restore", archive: found.id, over: { key: row.key, transcript, lastSeq } }];
}

/** Begins anew: what was said becomes an archive. Nobody visits it meanwhile. */
export function reset(scene: Scene): Change[] {
  return [rotating(scene, "nothing"), append(scene, {})];
}

/** Goes on in a new file; where that would be no shorter, less of it is shown from now on, and next time it can. */
async function rotate(scene: Scene): Promise<Change[]> {
  const { contextSeq, firstSeq } = scene.row.transcript;
  if (contextSeq > firstSeq) return [rotating(scene, "context"), append(scene, {})];
  const kept = (await pathOf(scene, 4)).at(-1);
  if (kept === undefined) return [append(scene, {})];
  const timestamp = new Date(scene.world.nowMs()).toISOString();
  const compaction: Draft = {
    ...{ type: "compaction", timestamp, summary: "", tokensBefore: 0 },
    firstKeptEntryId: kept.id,
  };
  return [append(scene, { entries: [compaction, ...texts(scene, 1)], contextSeq: kept.seq })];
}

async function withBlob(scene: Scene): Promise<Change[]> {
  const blob = await scene.store.putBlob(Buffer.from(`${scene.name} `.repeat(8_000)));
  return [append(scene, { entries: [draft(scene, 0, blob)] })];
}

async function timersOf({ store, row }: Scene): Promise<Timer[]> {
  const { rows } = await store.timers({ dueByMs: Number.MAX_SAFE_INTEGER, limit: 500 });
  return rows.filter(({ key }) => key === row.key);
}

/** A new one, or one that is there is moved. */
async function setTimer(scene: Scene): Promise<Change[]> {
  const id = `${scene.row.key} ${Math.floor(scene.dice.random() * 3)}`;
  const known = (await timersOf(scene)).find((each) => each.id === id);
  const dueAtMs = scene.world.nowMs() + Math.floor(scene.dice.random() * 1_000_000);
  const set = { ...timer(scene.row.key, id, dueAtMs), body: { by: scene.name } };
  return [{ do: "setTimer", timer: set, expectDueAtMs: known?.dueAtMs ?? null }];
}

/** Firing a timer and posting its letter are one commit; then it is gone, or set for the next time. */
async function fire(scene: Scene): Promise<Change[]> {
  const [due] = await timersOf(scene);
  if (due === undefined) return [];
  const expectDueAtMs = due.dueAtMs;
  const next: Change =
    scene.dice.random() < 0.5
      ? { do: "clearTimer", id: due.id, expectDueAtMs }
      : { do: "setTimer", timer: { ...due, dueAtMs: expectDueAtMs + 60_000 }, expectDueAtMs };
  return [next, post(scene.row.key, `cause:${scene.name}`)];
}

/** What is said, and its way out, are one commit. */
function answer(scene: Scene): Change[] {
  const { row, name } = scene;
  const outgoing = { id: `out:${name}`, key: row.key, route: route(name), content: content(name) };
  return [append(scene, {}), { do: "send", outgoing }];
}

/** Delivered, or refused for good; what was refused goes when somebody has seen it. */
async function settle({ store, row, dice, name }: Scene): Promise<Change[]> {
  const refused = dice.random() < 0.3;
  const { rows } = await store.outbox({ refused, key: row.key, limit: 1 });
  const why = !refused && dice.random() < 0.3 ? name : null;
  return rows.map(({ id }) => ({ do: "settle", id, refused: why }));
}

function reroute(scene: Scene): Change[] {
  const to = scene.dice.random() < 0.2 ? null : route(scene.name);
  return [fenced(scene, { do: "reroute", route: to, origin: null })];
}

function charge({ row, dice }: Scene): Change[] {
  const toolPeakBytes = Math.floor(dice.random() * 1_000);
  return [{ do: "charge", key: row.key, usage: { steps: 1, modelMs: 7, toolPeakBytes } }];
}

function signal({ row, dice }: Scene): Change[] {
  const rolled = dice.random();
  return [{ do: "signal", key: row.key, signal: rolled < 0.1 ? "kill" : rolled < 0.5 ? "pause" : "none" }];
}

export function letters({ row, name }: Scene): Change[] {
  return [post(row.key, `cause:${name}:a`), post(row.key, `cause:${name}:b`)];
}

/** As somebody does who was not told whether the first time went well. It may be taken by now. */
async function postAgain({ store, row }: Scene): Promise<Change[]> {
  const { rows } = await store.mail(row.key, { limit: 1 });
  return rows.map(({ id }) => post(row.key, id));
}

// The pieces

function opening(scene: Voice, key: SessionKey, copy: Of<"open">["copy"]): Change {
  const transcript = scene.world.newId();
  return { do: "open", key, transcript, cwd: "/", parent: null, settings: {}, copy, ifExists: "refuse" };
}

function first(scene: Voice, key: SessionKey, after: number): Change {
  const entries = texts(scene, 1);
  return { do: "append", key, fence: 0, after, entries, rewindTo: null, contextSeq: null };
}

function append(scene: Scene, how: Partial<Of<"append">>): Change {
  const { key, transcript } = scene.row;
  const plain = { fence: scene.fenceOf(key), after: transcript.lastSeq, entries: texts(scene, 1) };
  return { do: "append", key, ...plain, rewindTo: null, contextSeq: null, ...how };
}

function rotating(scene: Scene, keep: "context" | "nothing", more: Partial<Of<"rotate">> = {}): Change {
  const { key, transcript } = scene.row;
  const plain = { fence: scene.fenceOf(key), after: transcript.lastSeq, transcript: scene.world.newId() };
  return { do: "rotate", key, ...plain, cwd: "/", keep, ...more };
}

function fenced(
  scene: Scene,
  change:
    | Omit<Of<"run">, "key" | "fence">
    | Omit<Of<"take">, "key" | "fence">
    | Omit<Of<"reroute">, "key" | "fence">,
): Change {
  return { ...change, key: scene.row.key, fence: scene.fenceOf(scene.row.key) };
}

function set(key: SessionKey, version: number | null, label: string): Change {
  return { do: "set", key, version, settings: { label, pinned: label.endsWith("1") } };
}

/** The same id has the same content. */
function post(to: SessionKey, id: string): Change {
  const letter: Letter = {
    id,
    from: { kind: "internal_system", cause: "campaign" },
    class: "background",
    mode: "followup",
    content: content(`letter ${id}`),
    replyTo: null,
    origin: null,
  };
  return { do: "post", to: [to], letter };
}

function timer(key: SessionKey, id: string, dueAtMs: number): Timer {
  return { id, key, dueAtMs, body: null };
}

function route(to: string): { channel: string; to: string; thread: null } {
  return { channel: "test", to, thread: null };
}

function content(text: string): Block[] {
  return [{ type: "text", text }];
}

/** Each names the attempt that wrote it, in one word, by which search finds it. */
function texts(scene: Voice, count: number): Draft[] {
  return Array.from({ length: count }, (_, at) => draft(scene, at, null));
}

/** Every third is an answer, so that the row has something to say of its context. */
function draft({ name, world }: Voice, at: number, blob: BlobName | null): Draft {
  const timestamp = world.nowMs();
  const block: Block = { type: "text", text: `${name}e${at}`, ...(blob === null ? {} : { blob }) };
  const usage = { input: 1 + (timestamp % 1_000), output: 0, cacheRead: 0, cacheWrite: 0 };
  const model = { api: "test", provider: "test", model: "test", stopReason: "stop" };
  const message: Message =
    timestamp % 3 === 0
      ? { role: "assistant", content: [block], ...model, usage, timestamp }
      : { role: "user", content: [block], timestamp };
  return { type: "message", timestamp: new Date(timestamp).toISOString(), message };
}
