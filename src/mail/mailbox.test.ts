import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate as settle } from "node:timers/promises";
import * as fc from "fast-check";
import { LETTER_BYTES_MAX, MAILBOX_KEPT_BYTES, MAILBOX_KEPT_LETTERS } from "../limits.ts";
import { DEFAULT_AGENT, mainKey } from "../routing/key.ts";
import { letterOf } from "../store/contract/samples.ts";
import type { Mail } from "./letter.ts";
import { Mailbox } from "./mailbox.ts";

/** The letters that wait in a store. A page is seen at one moment and handed over at a later one. */
class Posted {
  readonly mailbox: Mailbox;
  readonly taken: string[] = [];
  waiting: Mail[] = [];
  reads = 0;
  posted = 0;
  isBroken = false;

  constructor() {
    this.mailbox = new Mailbox(async ({ limit = 0 }) => {
      this.reads += 1;
      await settle();
      if (this.isBroken) throw new Error("not now");
      const rows = this.waiting.slice(0, limit);
      const next = this.waiting.length > limit ? "more" : null;
      await settle();
      return { rows, next };
    });
  }

  /** Durable, and not told yet. */
  post(text = "text"): Mail {
    this.posted += 1;
    const id = `ext:${this.posted}`;
    const mail = { ...letterOf(id, text), to: mainKey(DEFAULT_AGENT), postedAtMs: this.posted };
    this.waiting.push(mail);
    return mail;
  }

  postAndTell(text?: string): void {
    this.mailbox.arrive(this.post(text), false);
  }

  take(count: number): void {
    const ids = this.mailbox.known.slice(0, count).map(({ id }) => id);
    for (const id of ids)
      assert.ok(
        this.waiting.some((mail) => mail.id === id),
        `${id} waits`,
      );
    this.waiting = this.waiting.filter(({ id }) => !ids.includes(id));
    this.taken.push(...ids);
    this.mailbox.remove(ids);
  }

  async takeAll(): Promise<void> {
    while ((await this.mailbox.waiting()).length > 0) this.take(7);
  }

  get all(): string[] {
    return Array.from({ length: this.posted }, (_, at) => `ext:${at + 1}`);
  }
}

test("every letter is found once, oldest first, however posting, telling, reading and taking interleave", async () => {
  const deed = fc.oneof(
    fc.record({ do: fc.constant("post" as const), times: fc.constantFrom(1, 2, 150) }),
    fc.constant({ do: "post, told later" as const }),
    fc.constant({ do: "tell" as const }),
    fc.constant({ do: "read" as const }),
    fc.constant({ do: "wait" as const }),
    fc.record({ do: fc.constant("take" as const), count: fc.integer({ min: 1, max: 250 }) }),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(deed, { maxLength: 40 }), async (deeds) => {
      const store = new Posted();
      const untold: Mail[] = [];
      const tellAll = (): void => untold.splice(0).forEach((mail) => store.mailbox.arrive(mail, false));
      let reading: Promise<unknown> | null = null;
      for (const what of deeds) {
        if (what.do === "post") {
          tellAll(); // They are told in the order in which they were posted.
          for (let n = 0; n < what.times; n += 1) store.postAndTell();
        } else if (what.do === "post, told later") untold.push(store.post());
        else if (what.do === "tell") tellAll();
        else if (what.do === "wait") await settle();
        else if (what.do === "read")
          reading ??= store.mailbox.waiting().then(() => {
            reading = null;
          });
        else {
          await reading; // A session does one thing after the other: it takes what it has read.
          tellAll(); // Whoever posted hears of it before the owner hears of what it commits later.
          store.take(what.count);
        }
        assert.ok(store.mailbox.known.length <= MAILBOX_KEPT_LETTERS);
      }
      await reading;
      tellAll();
      await store.takeAll();
      assert.deepEqual(store.taken, store.all);
      assert.deepEqual(store.waiting, []);
    }),
    { numRuns: 200 },
  );
});

test("a letter that arrives in an empty mailbox is not read back from the store", async () => {
  const store = new Posted();
  assert.deepEqual(await store.mailbox.waiting(), []);
  assert.equal(store.reads, 1);
  for (let n = 0; n < 10; n += 1) {
    store.postAndTell();
    assert.equal((await store.mailbox.waiting()).length, 1);
    store.take(1);
  }
  assert.equal(store.reads, 1);
});

test("a letter that was read before its sender heard that it is durable is there once", async () => {
  const store = new Posted();
  const mail = store.post();
  assert.deepEqual(await store.mailbox.waiting(), [mail]);
  store.mailbox.arrive(mail, false);
  assert.deepEqual(await store.mailbox.waiting(), [mail]);
});

test("a letter that arrives while the store is being read is neither lost nor doubled", async () => {
  for (const isSeen of [true, false]) {
    const store = new Posted();
    const reading = store.mailbox.waiting();
    if (!isSeen) await settle(); // The page is made; the letter comes before it is handed over.
    store.postAndTell();
    await reading;
    await store.takeAll();
    assert.deepEqual(store.taken, store.all);
  }
});

test("large letters are kept in memory only up to a bound, and the store has the others", async () => {
  const store = new Posted();
  const large = "x".repeat(LETTER_BYTES_MAX / 4);
  for (let n = 0; n < 20; n += 1) store.post(large);
  const bytes = (await store.mailbox.waiting()).reduce((sum) => sum + large.length, 0);
  assert.ok(bytes <= MAILBOX_KEPT_BYTES);
  for (let n = 0; n < 20; n += 1) store.postAndTell(large);
  assert.ok(store.mailbox.known.length * large.length <= MAILBOX_KEPT_BYTES);
  await store.takeAll();
  assert.deepEqual(store.taken, store.all);
});

test("the largest letter is found, also beside others", async () => {
  const store = new Posted();
  const largest = "x".repeat(LETTER_BYTES_MAX);
  for (const text of [largest, "small", largest]) store.post(text);
  await store.takeAll();
  assert.deepEqual(store.taken, store.all);
});

test("what could not be read is read the next time", async () => {
  const store = new Posted();
  store.isBroken = true;
  store.postAndTell();
  await assert.rejects(store.mailbox.waiting(), /not now/);
  store.postAndTell();
  store.isBroken = false;
  await store.takeAll();
  assert.deepEqual(store.taken, store.all);
});

test("an urgent letter is known also behind a backlog, and is there once", async () => {
  const store = new Posted();
  await store.mailbox.waiting();
  for (let n = 0; n < MAILBOX_KEPT_LETTERS + 50; n += 1) store.postAndTell();
  const urgent = store.post();
  store.mailbox.arrive(urgent, true);
  store.mailbox.arrive(urgent, true);
  assert.equal(store.mailbox.known.filter(({ id }) => id === urgent.id).length, 1);
  const others = store.post();
  store.mailbox.arrive(others, false);
  assert.ok(!store.mailbox.known.includes(others));
  store.mailbox.remove([urgent.id]); // it entered the turn that runs
  store.waiting = store.waiting.filter(({ id }) => id !== urgent.id);
  await store.takeAll();
  assert.deepEqual(
    store.taken,
    store.all.filter((id) => id !== urgent.id),
  );
});

test("an urgent letter that nobody takes is taken in its place", async () => {
  const store = new Posted();
  await store.mailbox.waiting();
  for (let n = 0; n < MAILBOX_KEPT_LETTERS + 50; n += 1) store.postAndTell();
  store.mailbox.arrive(store.post(), true);
  const seen = new Set<string>();
  while ((await store.mailbox.waiting()).length > 0) {
    for (const { id } of store.mailbox.known.slice(0, 1)) seen.add(id);
    store.take(1);
  }
  assert.equal(seen.size, MAILBOX_KEPT_LETTERS + 51);
  assert.deepEqual([...store.taken].sort(), [...store.all].sort());
});

test("a letter that came while the store was read is found, also when one before it stays", async () => {
  const store = new Posted();
  const reading = store.mailbox.waiting();
  store.postAndTell(); // The page that is being read has it.
  await reading;
  store.postAndTell(); // A turn waits for this one, and the other is for a later turn.
  const found = (await store.mailbox.waiting()).map(({ id }) => id);
  assert.deepEqual(found, ["ext:1", "ext:2"]);
});
