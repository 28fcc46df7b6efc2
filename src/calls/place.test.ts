import assert from "node:assert/strict";
import { cpSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { Home, opening, said, scratch } from "../../test/fixtures/home.ts";
import { Bus, type Event } from "../events/bus.ts";
import type { SessionKey } from "../routing/key.ts";
import { textOf } from "../transcript/entry.ts";
import { followFrom, placeAfter, placeIn, type Place } from "./place.ts";

const ANEW = /begins anew; follow it from 0$/;

/** A home, and those who follow sessions in it. */
class Watched {
  readonly home: Home;

  static async open(t: TestContext): Promise<Watched> {
    return new Watched(await Home.open(t));
  }

  constructor(home: Home) {
    this.home = home;
  }

  /** As somebody is told it after the entry with this number. */
  async word(key: SessionKey, seq: number): Promise<string> {
    const { transcript, bornAtMs } = await this.home.row(key);
    for await (const entry of this.home.store.entries(transcript.id, { since: seq }))
      if (entry.type !== "gap" && entry.seq === seq) return placeAfter(entry, bornAtMs);
    throw new Error(`${key} has no entry ${seq}`);
  }

  async place(key: SessionKey, from: string | number | null): Promise<Place> {
    return await placeIn(this.home.store, { name: key, session: await this.home.store.session(key) }, from);
  }

  /** What somebody is told who goes on from there, as long as there is something to tell. */
  async heard(key: SessionKey, at: Place): Promise<string[]> {
    const { transcript, bornAtMs } = await this.home.row(key);
    const rest = await Array.fromAsync(this.home.store.entries(transcript.id, { since: at.seq + 1 }));
    const texts: string[] = [];
    const many = rest.filter(({ type }) => type !== "gap").length;
    const events = this.follow(key, at, bornAtMs);
    while (texts.length < many) {
      const { value } = await events.next();
      if (value?.type === "entry") texts.push(textOf(value.entry));
    }
    await events.return();
    return texts;
  }

  follow(key: SessionKey, place: Place, bornAtMs: number): AsyncGenerator<Event, void> {
    const look = () => this.home.store.session(key);
    const { signal } = new AbortController();
    return followFrom(this.home.store, new Bus(), { key, place, bornAtMs, look }, signal);
  }

  async comesBack(key: SessionKey, word: string): Promise<string[]> {
    return await this.heard(key, await this.place(key, word));
  }

  /** Returns the transcript that it was before: with "nothing", an archive. */
  async rotate(key: SessionKey, keep: "context" | "nothing"): Promise<string> {
    const { id, lastSeq: after } = (await this.home.row(key)).transcript;
    const transcript = this.home.world.newId();
    await this.home.store.commit([{ do: "rotate", key, fence: 0, after, transcript, cwd: "/", keep }]);
    return id;
  }

  async swap(key: SessionKey, archive: string): Promise<void> {
    const { id: transcript, lastSeq } = (await this.home.row(key)).transcript;
    await this.home.store.commit([{ do: "restore", archive, over: { key, transcript, lastSeq } }]);
  }
}

test("a word goes on after its entry, also when the history is in another file by then", async (t) => {
  const watched = await Watched.open(t);
  const key = await watched.home.talk("a", "one", "two", "three");
  const word = await watched.word(key, 2);
  assert.deepEqual(await watched.comesBack(key, word), ["three"]);
  await watched.home.append(key, [said("four")], { contextSeq: 3 });
  await watched.rotate(key, "context");
  await watched.home.say(key, "five");
  assert.deepEqual(await watched.comesBack(key, word), ["three", "four", "five"]);
  assert.deepEqual(await watched.comesBack(key, await watched.word(key, 3)), ["four", "five"]);
  await watched.home.reopen();
  assert.deepEqual(await watched.comesBack(key, word), ["three", "four", "five"]);
});

test("a word without a print, as they were made once, goes on after its number in a session born then", async (t) => {
  const watched = await Watched.open(t);
  const key = await watched.home.talk("a", "one", "two", "three");
  const { bornAtMs } = await watched.home.row(key);
  assert.deepEqual(await watched.comesBack(key, `2@${bornAtMs}`), ["three"]);
  for (const word of [`2@${bornAtMs + 1}`, `4@${bornAtMs}`])
    await assert.rejects(watched.place(key, word), { code: "bad_input", message: ANEW });
});

test("where a conversation began anew, a word of the one before goes on with all of the new one", async (t) => {
  const watched = await Watched.open(t);
  const key = await watched.home.talk("a", "one", "two", "three");
  const words = await Promise.all([1, 2, 3].map((seq) => watched.word(key, seq)));
  await watched.rotate(key, "nothing");
  for (const word of words) assert.deepEqual(await watched.comesBack(key, word), []);
  await watched.home.say(key, "new", "words");
  for (const word of words) assert.deepEqual(await watched.comesBack(key, word), ["new", "words"]);
});

test("an archive that is put back after a reset does not take the words of what was there", async (t) => {
  const watched = await Watched.open(t);
  const key = await watched.home.talk("a", "one", "two");
  const old = await watched.word(key, 2);
  const first = await watched.rotate(key, "nothing");
  await watched.home.say(key, "three", "four");
  const words = await Promise.all([3, 4].map((seq) => watched.word(key, seq)));
  const { bornAtMs } = await watched.home.row(key);
  const { id: second } = (await watched.home.row(key)).transcript;

  await watched.swap(key, first);
  assert.equal((await watched.home.row(key)).bornAtMs, bornAtMs, "that does not tell the two apart");
  for (const word of words) await assert.rejects(watched.comesBack(key, word), ANEW);
  await watched.home.say(key, "other three", "other four", "other five");
  for (const word of words) await assert.rejects(watched.comesBack(key, word), ANEW);
  assert.deepEqual(await watched.comesBack(key, old), ["other three", "other four", "other five"]);
  assert.deepEqual(await watched.heard(key, await watched.place(key, 4)), ["other five"], "a bare number");

  const others = await Promise.all([3, 4].map((seq) => watched.word(key, seq)));
  await watched.swap(key, second);
  for (const word of others) await assert.rejects(watched.comesBack(key, word), ANEW);
  assert.deepEqual(await watched.comesBack(key, words[0] ?? ""), ["four"]);
});

test("restored while nobody was in its place, it does not take the words of the conversation after it", async (t) => {
  const watched = await Watched.open(t);
  const key = await watched.home.talk("a", "one");
  const first = await watched.rotate(key, "nothing");
  await watched.home.say(key, "two");
  const word = await watched.word(key, 2);
  const { id: transcript, lastSeq } = (await watched.home.row(key)).transcript;
  await watched.home.store.commit([
    { do: "archive", key, expect: { transcript, lastSeq }, why: "asked" },
    { do: "restore", archive: first, over: null },
  ]);
  await watched.home.say(key, "other two", "other three");
  await assert.rejects(watched.comesBack(key, word), ANEW);
});

test("who goes on as another history takes its place hears so, wherever it was", async (t) => {
  for (const from of [4, null]) {
    const watched = await Watched.open(t);
    const key = await watched.home.talk("a", "one", "two");
    const first = await watched.rotate(key, "nothing");
    await watched.home.say(key, "three", "four");
    const { bornAtMs } = await watched.home.row(key);
    const at = await watched.place(key, from);
    await watched.swap(key, first);
    const gone = { code: "not_found", message: /begins anew: follow it from 0$/ };
    await assert.rejects(watched.follow(key, at, bornAtMs).next(), gone);
    await watched.home.say(key, "other three", "other four", "other five");
    await assert.rejects(watched.follow(key, at, bornAtMs).next(), gone);
  }
});

test("another session of the key, and one of a home that was set back, do not take a word", async (t) => {
  const watched = await Watched.open(t);
  const key = await watched.home.talk("a", "one");
  await watched.home.close();
  const path = join(scratch(t), "copy");
  cpSync(watched.home.path, path, { recursive: true });
  await watched.home.reopen();
  await watched.home.append(key, [{ ...said("two"), timestamp: "2026-01-02T00:00:00.000Z" }]);
  const word = await watched.word(key, 2);

  const copy = new Watched(await Home.open(t, path));
  await copy.home.say(key, "other two", "three");
  await assert.rejects(copy.comesBack(key, word), ANEW);

  await watched.home.store.commit([{ do: "delete", key, expect: null }]);
  await assert.rejects(watched.comesBack(key, word), ANEW);
  watched.home.world.pass(1);
  await watched.home.store.commit([opening(key, watched.home.world.newId())]);
  await watched.home.say(key, "one", "two", "three");
  await assert.rejects(watched.comesBack(key, word), ANEW);
  await watched.rotate(key, "nothing");
  await assert.rejects(watched.comesBack(key, word), ANEW);
});

test("a word whose entry cannot be read any more is refused, and a number is not", async (t) => {
  const watched = await Watched.open(t);
  const key = await watched.home.talk("a", "one", "two", "three");
  const words = await Promise.all([1, 2].map((seq) => watched.word(key, seq)));
  const file = await watched.home.file(key);
  await watched.home.close();
  const lines = readFileSync(file, "utf8").split("\n");
  writeFileSync(file, lines.map((line, at) => (at === 2 ? "x".repeat(line.length) : line)).join("\n"));
  await watched.home.reopen();
  await assert.rejects(watched.comesBack(key, words[1] ?? ""), ANEW);
  assert.deepEqual(await watched.comesBack(key, words[0] ?? ""), ["three"]);
  assert.deepEqual(await watched.heard(key, await watched.place(key, 2)), ["three"]);
});

test("a number that no entry has is refused, with those that there are", async (t) => {
  const watched = await Watched.open(t);
  const key = await watched.home.talk("a", "one", "two");
  for (const from of [3, "3", "999999999999999"])
    await assert.rejects(watched.place(key, from), { code: "bad_input", message: /follow from 0 to 2$/ });
  assert.deepEqual(await watched.heard(key, await watched.place(key, 0)), ["one", "two"]);
  assert.equal((await watched.place(key, null)).seq, 2);
});
