// Transcripts as sessiond writes them, each with something in it that another reader could stumble over.

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { openLog } from "../../src/base/log.ts";
import { RealWorld } from "../../src/base/world.ts";
import { parseKey, type SessionKey } from "../../src/routing/key.ts";
import { LocalStore } from "../../src/store/local/local.ts";
import { pathsIn, transcriptPath } from "../../src/store/local/paths.ts";
import type { Range } from "../../src/store/store.ts";
import type { Block, Draft, Entry, Message } from "../../src/transcript/entry.ts";
import { contextStart } from "../../src/transcript/fold.ts";
import { spillMessage } from "../../src/transcript/spill.ts";
import { fileOf, pathOf, written } from "../fixtures/transcripts.ts";

export interface Scene {
  readonly name: string;
  readonly path: string;
  /** Our active path, and the part of it that a model is shown, as the store tells them. */
  readonly branch: readonly Entry[];
  readonly context: readonly Entry[];
}

const AT = "2026-03-04T05:06:07.000Z";
const USAGE = { input: 9, output: 4, cacheRead: 2, cacheWrite: 1, totalTokens: 16, cost: { total: 0.01 } };
const LONGEST_KEY = `agent:${"a".repeat(64)}:subagent:`.padEnd(256, "x");

export async function writeScenes(home: string): Promise<Scene[]> {
  const world = new RealWorld();
  const store = await LocalStore.open(home, {
    world,
    log: openLog("silent"),
    died: (fault) => {
      throw fault;
    },
  });
  try {
    const book = new Book(store, home, () => world.newId());
    await writeTalk(book);
    await writeCompactions(book);
    await writeRewinds(book);
    await writeKinds(book);
    await writeRelatives(book);
    await writeGenerations(book);
    return [...(await book.scenes()), codecScene(home)];
  } finally {
    await store.close();
  }
}

/** Sessions in a store, by name. */
class Book {
  readonly store: LocalStore;
  readonly #home: string;
  readonly #newId: () => string;
  readonly #keys = new Map<string, SessionKey>();

  constructor(store: LocalStore, home: string, newId: () => string) {
    this.store = store;
    this.#home = home;
    this.#newId = newId;
  }

  async open(
    name: string,
    from: { readonly key?: string; readonly parent?: string; readonly copy?: string } = {},
  ): Promise<void> {
    const key = parseKey(from.key ?? `agent:main:thread:${this.#keys.size + 1}`);
    const copied = from.copy === undefined ? null : await this.last(from.copy);
    const of = this.#keys.get(from.copy ?? "") ?? key;
    this.#keys.set(name, key);
    await this.store.commit([
      {
        do: "open",
        key,
        transcript: this.#newId(),
        cwd: "/home/ada",
        settings: {},
        ifExists: "refuse",
        parent: this.#keys.get(from.parent ?? "") ?? null,
        copy: copied === null ? null : { of, fromSeq: 1, throughSeq: copied.seq },
      },
    ]);
  }

  async add(
    name: string,
    entries: readonly Draft[],
    how: { readonly rewindTo?: number; readonly contextSeq?: number } = {},
  ): Promise<void> {
    const { key, transcript } = await this.#row(name);
    const back = how.rewindTo === undefined ? null : (await this.#all(name, { since: how.rewindTo }))[0];
    await this.store.commit([
      {
        do: "append",
        key,
        fence: 0,
        after: transcript.lastSeq,
        entries,
        rewindTo: back ? { id: back.id, seq: back.seq } : null,
        contextSeq: how.contextSeq ?? null,
      },
    ]);
  }

  /** It goes on in a new file, with what a model is shown or with nothing. */
  async rotate(name: string, keep: "context" | "nothing"): Promise<void> {
    const { key, transcript } = await this.#row(name);
    const after = transcript.lastSeq;
    await this.store.commit([
      { do: "rotate", key, fence: 0, after, transcript: this.#newId(), cwd: "/home/ada", keep },
    ]);
  }

  async last(name: string): Promise<Entry> {
    const [entry] = await this.#all(name, { before: null });
    if (!entry) throw new Error(`${name} has no entries`);
    return entry;
  }

  async scenes(): Promise<Scene[]> {
    const scenes: Scene[] = [];
    for (const name of this.#keys.keys()) {
      const { agent, transcript } = await this.#row(name);
      const path = transcriptPath(pathsIn(this.#home), agent, transcript.id);
      const branch = await this.#all(name, { from: transcript.firstSeq }); // of this file
      scenes.push({ name, path, branch, context: await this.#all(name, { from: "context" }) });
    }
    return scenes;
  }

  async #row(name: string): Promise<NonNullable<Awaited<ReturnType<LocalStore["session"]>>>> {
    const row = await this.store.session(this.#keys.get(name) ?? parseKey("agent:main:main"));
    if (!row) throw new Error(`there is no ${name}`);
    return row;
  }

  async #all(name: string, range: Range): Promise<Entry[]> {
    const { transcript } = await this.#row(name);
    const items = await Array.fromAsync(this.store.entries(transcript.id, range));
    return items.map((item) => {
      if (item.type === "gap") throw new Error(`${name} has a gap at ${item.offset}`);
      return item;
    });
  }
}

/** Files that begin in the middle of a history, and files of one that began anew. */
async function writeGenerations(book: Book): Promise<void> {
  for (const keep of ["context", "nothing"] as const) {
    const name = `a later file, with ${keep}`;
    await book.open(name, keep === "context" ? { key: LONGEST_KEY.replace(/x$/, "y") } : {});
    await book.add(name, [user("one"), ...turn("g1"), user("two"), ...turn("g2")]);
    const kept = await book.last(name);
    const compaction = {
      type: "compaction",
      timestamp: AT,
      summary: "one and two",
      tokensBefore: 9,
    } as const;
    await book.add(name, [{ ...compaction, firstKeptEntryId: kept.id }], { contextSeq: kept.seq });
    await book.rotate(name, keep);
    await book.add(name, [
      { type: "custom", timestamp: AT, customType: "sessiond/generation", data: {} },
      user("three"),
      ...turn("g3"),
    ]);
  }
}

async function writeTalk(book: Book): Promise<void> {
  await book.open("only a header");
  await book.open("only a user");
  await book.add("only a user", [user("hello?")]);
  await book.open("calls and results");
  await book.add("calls and results", [
    user("Read \u2028 it:\n\0 🙂 \ud800", { kind: "external_user", channel: "telegram", peer: "12345" }),
  ]);
  await book.add("calls and results", turn("c1"));
  await book.add("calls and results", [
    user("And again.", { kind: "inter_session", source: parseKey("agent:main:main"), tool: "send" }),
    ...turn("c2"),
  ]);
  await book.open("blobs");
  const large: Message = { role: "user", content: "long ".repeat(100_000), timestamp: 1 };
  const rows = Array.from({ length: 30 }, (_, at): Block => ({ type: "text", text: `${at} `.repeat(9_000) }));
  const result = { role: "toolResult", toolCallId: "c4", toolName: "read", isError: false } as const;
  const wide: Message = { ...result, content: rows, details: { rows }, timestamp: 2 };
  const [said, returned] = await Promise.all(
    [large, wide].map((message) => spillMessage(message, (bytes) => book.store.putBlob(bytes))),
  );
  if (!said || !returned) throw new Error("nothing was spilled");
  await book.add("blobs", [
    { type: "message", timestamp: AT, message: said },
    ...turn("c3"),
    { type: "message", timestamp: AT, message: returned },
  ]);
}

async function writeCompactions(book: Book): Promise<void> {
  await book.open("compaction");
  await book.add("compaction", [user("one"), ...turn("c1"), user("two"), ...turn("c2")]);
  const kept = await book.last("compaction");
  await book.add("compaction", [compaction("A summary.", kept.id)], { contextSeq: kept.seq });
  await book.add("compaction", [user("three"), ...turn("c3")]);
  await book.open("compaction over compaction");
  await book.add("compaction over compaction", [user("one"), ...turn("c1")]);
  const early = await book.last("compaction over compaction");
  await book.add("compaction over compaction", [compaction("Older.", early.id), user("two")], {
    contextSeq: early.seq,
  });
  await book.add("compaction over compaction", [compaction("Newer.", early.id), user("three")], {
    contextSeq: early.seq,
  });
  await book.open("compaction that kept nothing");
  await book.add("compaction that kept nothing", [user("one"), compaction("All.", "nothing"), user("two")], {
    contextSeq: 2,
  });
}

async function writeRewinds(book: Book): Promise<void> {
  await book.open("rewind");
  await book.add("rewind", [user("one"), ...turn("c1"), user("wrong way"), ...turn("c2")]);
  const left = await book.last("rewind");
  await book.add(
    "rewind",
    [{ type: "branch_summary", fromId: left.id, summary: "It was wrong.", timestamp: AT }],
    {
      rewindTo: 4,
    },
  );
  await book.add("rewind", [user("right way"), ...turn("c3")]);
  await book.open("rewind behind a compaction");
  await book.add("rewind behind a compaction", [user("one"), user("two")]);
  const kept = await book.last("rewind behind a compaction");
  await book.add("rewind behind a compaction", [compaction("Left.", kept.id)], { contextSeq: kept.seq });
  await book.add("rewind behind a compaction", [user("other two")], { rewindTo: 1, contextSeq: 1 });
}

async function writeKinds(book: Book): Promise<void> {
  await book.open("every kind of entry");
  await book.add("every kind of entry", kinds());
}

async function writeRelatives(book: Book): Promise<void> {
  await book.open("fork", { copy: "rewind" });
  await book.add("fork", [user("on my own")]);
  await book.open("child", { parent: "rewind", key: "agent:main:subagent:1" });
  await book.add("child", [user("Do this.", { kind: "internal_system", cause: "spawn" }), ...turn("c1")]);
  await book.open("longest key", { copy: "rewind", key: LONGEST_KEY });
  await book.add("longest key", [user("fits")]);
}

/** Through the codec alone, without a store. */
function codecScene(home: string): Scene {
  const drafts = [...kinds(), user("left"), user("taken")].map((draft) => ({ draft, continues: null }));
  const lines = written([...drafts.slice(0, -1), { draft: user("taken"), continues: 2 }]);
  const path = join(home, "codec.jsonl");
  writeFileSync(path, fileOf(lines));
  const branch = pathOf(lines.map(({ entry }) => entry));
  const start = contextStart(branch);
  return { name: "by the codec alone", path, branch, context: branch.filter(({ seq }) => seq >= start) };
}

function kinds(): Draft[] {
  const odd = { type: "hologram", timestamp: AT, shape: { faces: [1, null, "x"] }, message: "not a message" };
  return [
    user("hello"),
    { type: "model_change", provider: "openai", modelId: "gpt-5.1", timestamp: AT },
    { type: "thinking_level_change", thinkingLevel: "high", timestamp: AT },
    { type: "custom", customType: "sessiond/turn-started", data: { turn: "t1" }, timestamp: AT },
    ...turn("c1"),
    { type: "custom", customType: "sessiond/turn-ended", timestamp: AT },
    {
      type: "custom_message",
      customType: "sessiond/note",
      content: "It rains.",
      display: true,
      timestamp: AT,
    },
    { type: "label", targetId: "x", label: "here", timestamp: AT },
    { type: "session_info", name: "A name", timestamp: AT },
    odd as unknown as Draft,
    user("still here"),
  ];
}

function turn(call: string): Draft[] {
  const blocks: Block[] = [
    { type: "thinking", thinking: "Let me look." },
    { type: "text", text: "I look." },
    { type: "toolCall", id: call, name: "read", arguments: { path: "a.txt", lines: [1, 2] } },
  ];
  const text: Block[] = [{ type: "text", text: `result of ${call}` }];
  const toolResult = { role: "toolResult", toolCallId: call, toolName: "read", isError: false } as const;
  return [
    answer(blocks, "toolUse"),
    {
      type: "message",
      timestamp: AT,
      message: { ...toolResult, content: text, details: { n: 1 }, timestamp: 2 },
    },
    answer([{ type: "text", text: "There it is." }], "stop"),
  ];
}

function answer(content: readonly Block[], stopReason: string): Draft {
  const model = {
    api: "anthropic-messages",
    provider: "anthropic",
    model: "claude-sonnet-4-5",
    usage: USAGE,
  };
  return {
    type: "message",
    timestamp: AT,
    message: { role: "assistant", content, ...model, stopReason, timestamp: 3 },
  };
}

function user(text: string, provenance?: Extract<Draft, { type: "message" }>["provenance"]): Draft {
  const message: Message = { role: "user", content: text, timestamp: 1 };
  if (!provenance) return { type: "message", timestamp: AT, message };
  return { type: "message", timestamp: AT, message, provenance, mailId: "ext:test:1" };
}

function compaction(summary: string, firstKeptEntryId: string): Draft {
  return { type: "compaction", summary, firstKeptEntryId, tokensBefore: 1_000, timestamp: AT };
}
