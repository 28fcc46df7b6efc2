import assert from "node:assert/strict";
import { test } from "node:test";
import { Fault, type FaultCode } from "../../../src/base/fault.ts";
import type { Input, Output } from "../../../src/calls/door.ts";
import type { Row } from "../../wire/events.ts";
import { Listing, type Door } from "./listing.ts";
import { asked, isWanted, queryOf, wantedIn, type Wanted } from "./wanted.ts";

const ANY = wantedIn({});

function row(n: number, more: Partial<Row> = {}): Row {
  return {
    sessionKey: `agent:main:hook:n${n}`,
    agent: "main",
    kind: "hook",
    parent: null,
    title: `number ${n}`,
    labelled: false,
    pinned: false,
    state: "idle",
    since: null,
    step: null,
    outcome: null,
    pausing: false,
    class: null,
    why: null,
    model: "rehearsal/default",
    contextTokens: null,
    windowTokens: 0,
    tokens: 0,
    cost: 0,
    entries: 0,
    bornAt: "2026-01-01T00:00:00.000Z",
    updatedAt: new Date(1_000_000 - n * 1_000).toISOString(),
    ...more,
  };
}

const MAIN = row(0, { sessionKey: "agent:main:main", kind: "main", title: "" });

/** Rows in the order of a list, given in pages as the daemon does; and each question that was asked. */
class Shelf implements Door {
  rows: readonly Row[];
  readonly questions: Input<"list">[] = [];
  /** Before the next answer. */
  meanwhile: (() => void) | null = null;
  refusal: FaultCode | null = null;

  constructor(rows: readonly Row[]) {
    this.rows = rows;
  }

  list = async (input: Input<"list">): Promise<Output<"list">> => {
    this.questions.push(input);
    const wanted: Wanted = {
      agent: input.agent ?? null,
      kind: input.kind ?? null,
      state: input.state ?? null,
      text: input.text ?? "",
    };
    const found = this.rows.filter((each) => isWanted(each, wanted));
    const from = Number(input.cursor ?? 0);
    const to = from + (input.limit ?? 50);
    await Promise.resolve();
    if (this.refusal !== null) throw new Fault(this.refusal, "not now");
    const { meanwhile } = this;
    this.meanwhile = null;
    meanwhile?.();
    return { sessions: found.slice(from, to), next: to < found.length ? String(to) : null };
  };

  faultOf = (error: unknown): Fault => error as Fault;
  changed = (): void => {};
}

function told(listing: Listing, changed: readonly Row[], gone: readonly string[] = []): void {
  listing.told({ changed: new Map(changed.map((each) => [each.sessionKey, each])), gone: new Set(gone) });
}

/** Until nothing is being read. */
async function rest(listing: Listing): Promise<void> {
  while (listing.isReading) await new Promise((done) => setImmediate(done));
}

function keys(listing: Listing): string[] {
  return listing.forest.lines().map(({ key }) => key.replace(/^agent:main:(?:hook:)?/, ""));
}

test("what does something is listed first, however old it is; the rest as far as somebody looks", async () => {
  const old = Array.from({ length: 2_000 }, (_, n) => row(n + 1));
  const shelf = new Shelf([MAIN, ...old, row(5_000, { state: "running" }), row(5_001, { state: "waiting" })]);
  const listing = new Listing(ANY, shelf);
  await listing.read();
  assert.deepEqual(keys(listing).slice(0, 5), ["main", "n5000", "n5001", "n1", "n2"]);
  assert.ok(listing.forest.size < 600, "a page or two");
  assert.equal(listing.isWhole, false);
  listing.see(500);
  await rest(listing);
  assert.ok(listing.forest.size >= 700 && listing.forest.size < 1_100);
});

test("who wants the end gets all of it, and may change their mind", async () => {
  const shelf = new Shelf(Array.from({ length: 5_000 }, (_, n) => row(n)));
  const listing = new Listing(ANY, shelf);
  await listing.read();
  shelf.meanwhile = () => listing.readAll(false);
  listing.readAll(true);
  await Promise.resolve();
  await rest(listing);
  assert.ok(listing.forest.size < 1_000);
  listing.readAll(true);
  await rest(listing);
  assert.equal(listing.forest.size, 5_000);
  assert.equal(listing.isWhole, true);
});

test("pages that are folded away whole are not read on for ever", async () => {
  const ended = Array.from({ length: 10_000 }, (_, n) =>
    row(n, { sessionKey: `agent:main:subagent:s${n}`, parent: MAIN.sessionKey, state: "ended" }),
  );
  const listing = new Listing(ANY, new Shelf([MAIN, ...ended]));
  await listing.read();
  assert.equal(listing.forest.lines().length, 2);
  assert.ok(listing.forest.size <= 1_400);
  const before = listing.forest.size;
  listing.more();
  await rest(listing);
  assert.ok(listing.forest.size > before);
});

test("who stands at the end of a brood, where older ones come in above, is not read everything", async () => {
  const brood = Array.from({ length: 8_000 }, (_, n) =>
    row(n, {
      sessionKey: `agent:main:subagent:s${n}`,
      parent: MAIN.sessionKey,
      bornAt: new Date(10_000_000 - n * 1_000).toISOString(),
    }),
  );
  const shelf = new Shelf([MAIN, ...brood]);
  const listing = new Listing(ANY, shelf);
  await listing.read();
  const end = async (): Promise<void> => {
    // The table stays at the line that is seen: what comes in above moves it.
    for (let before = 0; before < shelf.questions.length;) {
      before = shelf.questions.length;
      listing.see(listing.forest.lines().length - 1);
      await rest(listing);
    }
  };
  await end();
  const first = shelf.questions.length;
  assert.ok(first < 15, `${first} questions`);
  assert.equal(keys(listing).at(-1), "subagent:s0");
  listing.more();
  await rest(listing);
  await end();
  assert.ok(shelf.questions.length > first && shelf.questions.length < 2 * first);
  listing.see(20); // Who goes up and reads on there is read for as before.
  const { size } = listing.forest;
  listing.see(size - 100);
  await rest(listing);
  assert.ok(listing.forest.size > size);
});

test("what came by the stream is not undone by a page that was made before it (L2)", async () => {
  const shelf = new Shelf([row(1), row(2), row(3)]);
  const listing = new Listing(wantedIn({ kind: "hook" }), shelf);
  shelf.meanwhile = () =>
    told(
      listing,
      [row(1, { title: "newer", updatedAt: "2026-01-01T00:00:00.000Z" })],
      ["agent:main:hook:n2"],
    );
  await listing.read();
  assert.deepEqual(keys(listing), ["n1", "n3"]);
  assert.equal(listing.forest.branch("agent:main:hook:n1")?.row.title, "newer");
});

test("a row that is wanted no more goes, one that is wanted now comes", async () => {
  const listing = new Listing(
    wantedIn({ state: "running" }),
    new Shelf([row(1, { state: "running" }), row(2)]),
  );
  await listing.read();
  assert.deepEqual(keys(listing), ["n1"]);
  told(listing, [row(1, { state: "ended" }), row(2, { state: "running" })]);
  assert.deepEqual(keys(listing), ["n2"]);
});

test("a refusal is kept until it is tried again, and what was read stays", async () => {
  const shelf = new Shelf(Array.from({ length: 900 }, (_, n) => row(n)));
  const listing = new Listing(ANY, shelf);
  await listing.read();
  const { size } = listing.forest;
  shelf.refusal = "closed";
  listing.readAll(true);
  await rest(listing);
  assert.equal(listing.fault?.code, "closed");
  assert.equal(listing.forest.size, size);
  shelf.refusal = null;
  await listing.read();
  assert.equal(listing.fault, null);
  assert.equal(listing.forest.size, 900);
});

test("a filter in an address is understood, or what of it is not is left out", () => {
  const wanted = wantedIn({
    agent: "ada",
    kind: "nonsense",
    state: "queued",
    text: " two words ",
    more: "x",
  });
  assert.deepEqual(wanted, { agent: "ada", kind: null, state: "queued", text: " two words " });
  assert.deepEqual(asked(wanted), { agent: "ada", state: "running", text: "two words" });
  assert.deepEqual(wantedIn(queryOf(wanted)), wanted);
  const one = row(1, { agent: "ada", state: "queued", title: "Words, and two more" });
  assert.equal(isWanted(one, wanted), true);
  for (const other of [{ agent: "bob" }, { state: "running" as const }, { title: "words" }])
    assert.equal(isWanted({ ...one, ...other }, wanted), false, JSON.stringify(other));
});
