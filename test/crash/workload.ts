// The program that the campaigns kill: it commits to many sessions at once — entries, letters, state, several
// sessions in one commit, blobs, forks, deletions — and reports every attempt and every acknowledgement on its
// standard output, each before the next thing happens.
//
//   node test/crash/workload.ts HOME SEED RUN [COMMITS]
//
// It has no memory of its own: like any daemon it learns from the store what there is, and goes on.

import { writeSync } from "node:fs";
import { openLog } from "../../src/base/log.ts";
import { RealWorld, SimulatedWorld } from "../../src/base/world.ts";
import type { Letter } from "../../src/mail/letter.ts";
import { DEFAULT_AGENT, directKey, type SessionKey } from "../../src/routing/key.ts";
import type { Change } from "../../src/store/store.ts";
import { LocalStore } from "../../src/store/local/local.ts";
import type { Block, Draft } from "../../src/transcript/entry.ts";
import type { Attempt, Mark, Said } from "./ledger.ts";

const [home = "", seed = "1", run = "0", commits = "Infinity"] = process.argv.slice(2);
const dice = new SimulatedWorld(Number(seed) * 1_000 + Number(run));
const world = new RealWorld();
const store = await LocalStore.open(home, {
  world,
  log: openLog("error"),
  died: (fault) => {
    say({ died: fault.code });
    process.exit(1);
  },
});

const IN_FLIGHT = 8;
const KEYS = Array.from({ length: 24 }, (_, n) =>
  directKey({ agent: DEFAULT_AGENT, channel: "test", account: null, peer: String(n) }),
);

/** Forks that exist and that nobody has tried to delete. Their keys are used once. */
const forks: SessionKey[] = [];

/** Sessions that an attempt is about to change: one turn at a time, as lanes will see to it. */
const busy = new Set<SessionKey>();
let attempts = 0;

function say(said: Said): void {
  const line = Buffer.from(`${JSON.stringify(said)}\n`);
  for (let done = 0; done < line.length;) {
    try {
      done += writeSync(1, line, done);
    } catch (error) {
      if (!(error instanceof Error && "code" in error && error.code === "EAGAIN")) throw error;
    }
  }
}

/** `marks` are what the store must show of it afterwards: all of them or none. */
async function attempt(name: string, marks: readonly Mark[], changes: readonly Change[]): Promise<void> {
  say({ attempt: { name, marks } satisfies Attempt });
  try {
    await store.commit(changes);
    say({ done: name });
  } catch (error) {
    say({ refused: name, why: error instanceof Error ? error.message : String(error) });
  }
}

function entry(text: string, mailId: string | null = null): Draft {
  const block: Block = { type: "text", text };
  return {
    type: "message",
    timestamp: new Date(world.nowMs()).toISOString(),
    ...(mailId === null ? {} : { mailId }),
    message: { role: "user", content: [block], timestamp: world.nowMs() },
  };
}

function letter(id: string): Letter {
  const content: Block[] = [{ type: "text", text: `letter ${id}` }];
  return {
    id,
    from: { kind: "internal_system", cause: "campaign" },
    class: "background",
    mode: "followup",
    content,
    replyTo: null,
  };
}

function append(key: SessionKey, after: number, entries: readonly Draft[]): Change {
  return { do: "append", key, fence: 0, after, entries, rewindTo: null, contextSeq: null };
}

/** Some sessions that nobody is changing. There always are: eight attempts hold at most three each. */
function idle(count: number): SessionKey[] {
  const free = KEYS.filter((key) => !busy.has(key));
  return Array.from(
    { length: count },
    () => free.splice(Math.floor(dice.random() * free.length), 1)[0],
  ).filter((key) => key !== undefined);
}

async function step(): Promise<void> {
  attempts += 1;
  const name = `${run}.${attempts}`;
  const mine = idle(dice.random() < 0.25 ? 3 : 1);
  for (const key of mine) busy.add(key);
  try {
    await change(name, mine);
  } finally {
    for (const key of mine) busy.delete(key);
  }
}

async function change(name: string, mine: readonly SessionKey[]): Promise<void> {
  const [first] = mine;
  if (!first) return;
  const row = await store.session(first);
  if (!row)
    return await attempt(
      name,
      [{ opened: first }, { entry: `${name}:0`, in: first }],
      [open(first, null), append(first, 0, [entry(`${name}:0`)])],
    );
  const what = dice.random();
  const after = row.transcript.lastSeq;
  if (mine.length > 1) return await several(name, mine);
  if (what < 0.2) return await takeMail(name, first, after);
  if (what < 0.35) {
    const posts = [`cause:${name}:a`, `cause:${name}:b`].map((id): Change => ({
      do: "post",
      to: [first],
      letter: letter(id),
    }));
    return await attempt(name, [{ letter: `cause:${name}:a` }, { letter: `cause:${name}:b` }], posts);
  }
  if (what < 0.42) return await withBlob(name, first, after);
  if (what < 0.47) return await fork(name, first, after);
  const fading = what < 0.49 ? forks.shift() : undefined;
  if (fading) return await attempt(name, [{ gone: fading }], [{ do: "delete", key: fading }]);
  const texts = Array.from({ length: 1 + Math.floor(dice.random() * 4) }, (_, at) => `${name}:${at}`);
  // The state names the attempt that wrote it, so that a row can be compared with its transcript.
  const state = { kind: "running", sinceMs: 0, turn: name, step: texts.length } as const;
  const marks = texts.map((text): Mark => ({ entry: text, in: first }));
  return await attempt(
    name,
    [...marks, { turn: name, in: first }],
    [
      append(
        first,
        after,
        texts.map((text) => entry(text)),
      ),
      { do: "run", key: first, fence: 0, state },
    ],
  );
}

function open(key: SessionKey, copy: Extract<Change, { do: "open" }>["copy"]): Change {
  return {
    do: "open",
    key,
    transcript: world.newId(),
    cwd: "/",
    parent: null,
    settings: {},
    copy,
    ifExists: "refuse",
  };
}

/** One commit over several sessions: an entry in each that exists, and a letter to the first. */
async function several(name: string, keys: readonly SessionKey[]): Promise<void> {
  const marks: Mark[] = [{ letter: `cause:${name}` }];
  const changes: Change[] = [];
  for (const key of keys) {
    const row = await store.session(key);
    if (!row) continue;
    marks.push({ entry: `${name}:0`, in: key });
    changes.push(append(key, row.transcript.lastSeq, [entry(`${name}:0`)]));
  }
  const [first] = keys;
  if (first)
    await attempt(name, marks, [...changes, { do: "post", to: [first], letter: letter(`cause:${name}`) }]);
}

/** Taking letters and writing them down are one commit. */
async function takeMail(name: string, key: SessionKey, after: number): Promise<void> {
  const { rows } = await store.mail(key, { limit: 5 });
  const ids = rows.map((mail) => mail.id);
  if (ids.length === 0) return;
  const entries = ids.map((id, at) => entry(`${name}:${at}`, id));
  const marks = ids.flatMap((id, at): Mark[] => [{ taken: id }, { entry: `${name}:${at}`, in: key }]);
  await attempt(name, marks, [{ do: "take", key, fence: 0, ids }, append(key, after, entries)]);
}

async function withBlob(name: string, key: SessionKey, after: number): Promise<void> {
  const blob = await store.putBlob(Buffer.from(`${name} `.repeat(8_000)));
  const draft = entry(`${name}:0`);
  if (draft.type !== "message") return;
  const content: Block[] = [{ type: "text", text: `${name}:0`, blob }];
  await attempt(
    name,
    [
      { entry: `${name}:0`, in: key },
      { blob: blob.sha256, in: key },
    ],
    [append(key, after, [{ ...draft, message: { role: "user", content, timestamp: 0 } }])],
  );
}

async function fork(name: string, of: SessionKey, throughSeq: number): Promise<void> {
  const key = directKey({ agent: DEFAULT_AGENT, channel: "fork", account: null, peer: name });
  await attempt(
    name,
    [{ opened: key }, { copied: throughSeq, of, in: key }, { entry: `${name}:0`, in: key }],
    [open(key, { of, fromSeq: 1, throughSeq }), append(key, throughSeq, [entry(`${name}:0`)])],
  );
  forks.push(key);
}

async function lane(): Promise<void> {
  while (attempts < Number(commits)) await step();
}

say({ ready: true });
await Promise.all(Array.from({ length: IN_FLIGHT }, lane));
await store.close();
say({ closed: true });
