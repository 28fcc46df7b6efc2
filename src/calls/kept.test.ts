import assert from "node:assert/strict";
import { test } from "node:test";
import { SimulatedWorld } from "../base/world.ts";
import { ENTRY_LOOKBACK_ENTRIES } from "../limits.ts";
import type { SessionKey } from "../routing/key.ts";
import { Corner, refused } from "../store/contract/corner.ts";
import { noted, said } from "../store/contract/samples.ts";
import { MemoryStore } from "../store/memory.ts";
import type { Block, Draft } from "../transcript/entry.ts";
import { keptBy, readKept } from "./kept.ts";

const AT = "2026-01-01T00:00:00.000Z";
const NEVER = new AbortController().signal;

function corner(): Corner {
  const world = new SimulatedWorld(1);
  const store = new MemoryStore(world);
  const nothing = async (): Promise<void> => {};
  return new Corner({ store, world, reopen: nothing, sweep: nothing, close: () => store.close() });
}

function result(...content: readonly Block[]): Draft {
  const of = { toolCallId: "a", toolName: "look", isError: false, timestamp: 0 };
  return { type: "message", timestamp: AT, message: { role: "toolResult", content, ...of } };
}

async function textBy(at: Corner, key: SessionKey, ref: string): Promise<string> {
  const kept = await keptBy(at.store, await at.row(key), ref, NEVER);
  return (await readKept(at.store, kept, { from: 0, to: kept.total }, NEVER)).toString();
}

test("an entry that a rewind left behind is read by its id", async () => {
  const at = corner();
  const key = await at.talk("a", ["one", "two", "three"]);
  const [, , left] = await at.entries(key, { from: 1 });
  await at.rewind(key, 1, ["other"]);
  assert.equal((await at.entries(key, { from: 1 })).length, 2);
  assert.equal(await textBy(at, key, left?.id ?? ""), "three");
});

test("what a fork began with is read by the id it came with, and by its blob, however much was said since", async () => {
  const at = corner();
  const blob = await at.store.putBlob(Buffer.from("all of it"));
  const source = await at.open("source");
  await at.append(source, [noted("x"), said("ask"), result({ type: "text", text: "a…t", blob })]);
  const { id: transcript } = (await at.row(source)).transcript;
  const copy = { of: source, fromSeq: 2, throughSeq: 3 };
  const key = await at.open("fork", { copy });
  const { id = "" } = (await at.entries(key, { from: 1 })).find(({ seq }) => seq === 2) ?? {};
  assert.ok(id.startsWith(transcript.slice(-8)));
  const some = Array.from({ length: 1_000 }, () => noted("x"));
  for (let many = 0; many <= ENTRY_LOOKBACK_ENTRIES; many += some.length) await at.append(key, some);
  assert.equal(await textBy(at, key, id), "all of it");
  assert.equal(await textBy(at, key, blob.sha256), "all of it");
});

test("a hash that no entry names opens nothing, also when there is such a blob", async () => {
  const at = corner();
  const blob = await at.store.putBlob(Buffer.from("a secret of another"));
  const key = await at.talk("a", [`I know blob ${blob.sha256}`]);
  await refused("not_found", textBy(at, key, blob.sha256));
  const empty = await at.open("b");
  await refused("not_found", textBy(at, empty, blob.sha256));
  await refused("not_found", textBy(at, empty, "x-1"));
});

test("a blob that is shorter than its entry says is damage, and what is no name of a blob is taken for none", async () => {
  const at = corner();
  const blob = await at.store.putBlob(Buffer.from("short"));
  const key = await at.open("a");
  const lies = [
    { ...blob, bytes: 10 },
    { ...blob, bytes: -1 },
    { ...blob, bytes: "many" },
    { sha256: "../../x", bytes: 5 },
  ];
  await at.append(
    key,
    lies.map((each) => result({ type: "text", text: "head", blob: each } as unknown as Block)),
  );
  const [longer, ...others] = await at.entries(key, { from: 1 });
  await refused("damaged", textBy(at, key, longer?.id ?? ""));
  for (const { id } of others) assert.equal(await textBy(at, key, id), "head");
});

test("who does not wait any more is not read for", async () => {
  const at = corner();
  const key = await at.talk("a", ["one"]);
  const over = AbortSignal.abort(new Error("called off"));
  await assert.rejects(keptBy(at.store, await at.row(key), "other", over), /called off/);
  const [entry] = await at.entries(key, { from: 1 });
  const kept = await keptBy(at.store, await at.row(key), entry?.id ?? "", NEVER);
  await assert.rejects(readKept(at.store, kept, { from: 0, to: 3 }, over), /called off/);
});
