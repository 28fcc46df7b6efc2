// Two engines that are told the same give the same answers: the same receipts and refusals, and in the end the
// same rows, entries, mail, timers and answers. One of them is simple enough to be believed.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import * as fc from "fast-check";
import { Fault } from "../../base/fault.ts";
import type { SessionKey } from "../../routing/key.ts";
import type { RunState } from "../../sessions/session.ts";
import type { Of } from "../rules.ts";
import type { Change } from "../change.ts";
import { step, type Action, type Step } from "./actions.ts";
import { Corner, entriesOf, pages, type Open, type Opened } from "./corner.ts";
import { answered, ended, noted, said } from "./samples.ts";

/** Runs that a person waits for, and commits in each. A failing one is shortened to the few that matter. */
const RUNS = 50;
const COMMITS_MAX = 30;

export function storesAgree(name: string, simple: Open, other: Open): void {
  describe(`stores agree: ${name}`, () => {
    const opened: Opened[] = [];
    before(async () => {
      opened.push(await simple());
      opened.push(await other());
    });
    after(async () => {
      for (const each of opened) await each.close();
    });

    test("any sequence of commits, valid or not, has the same outcome in both", async () => {
      const [left, right] = opened;
      assert(left && right);
      let runs = 0;
      const property = fc.asyncProperty(
        fc.array(step, { minLength: 1, maxLength: COMMITS_MAX, size: "max" }),
        async (steps) => {
          runs += 1;
          const pair = new Pair(left, right);
          await pair.begin();
          for (const each of steps) await pair.take(each);
          await pair.compare();
          if (runs % 10 === 0) await pair.compareAfterRestart();
        },
      );
      await fc.assert(property, { numRuns: RUNS });
    });
  });
}

/** The same corner of two stores. What is expected is read from the simple one, and told to both. */
class Pair {
  readonly #left: Corner;
  readonly #right: Corner;
  readonly #fences = new Map<SessionKey, readonly [left: number, right: number]>();
  #deletions = 0;

  constructor(left: Opened, right: Opened) {
    this.#left = new Corner(left);
    this.#right = new Corner(right, this.#left.agent);
  }

  /** A few sessions with a few words, so that there is something to do. */
  async begin(): Promise<void> {
    for (const n of [0, 1, 2]) {
      const opening = this.#left.opening(this.#key(n));
      for (const at of [this.#left, this.#right]) {
        await at.store.commit([opening]);
        await at.append(opening.key, [said("one"), said("two")]);
      }
    }
  }

  async take({ passMs, claim, move, actions }: Step): Promise<void> {
    for (const { world } of [this.#left, this.#right]) world.pass(passMs);
    if (claim !== null) await this.#claim(claim);
    if (move !== null) await this.#move(move);
    const changes: Change[] = [];
    for (const each of actions) changes.push(await this.#change(each));
    const done = await outcome(this.#left, changes);
    const other = changes.map((change) => this.#fencedRight(change));
    assert.deepEqual(await outcome(this.#right, other), done, JSON.stringify(changes));
    if (typeof done === "string") return;
    for (const change of changes) {
      if (change.do === "delete" || change.do === "purge") this.#deletions += 1;
      if (change.do === "delete" || change.do === "archive") this.#fences.delete(change.key);
      if (change.do === "restore" && change.over !== null) this.#fences.delete(change.over.key);
    }
  }

  async compare(): Promise<void> {
    assert.deepEqual(await this.#right.everything(), await this.#left.everything());
    for (const query of [
      {},
      { titlePrefix: "" },
      { titlePrefix: "r" },
      { text: "E R" },
      { state: "idle" },
      { label: "Red" },
    ] as const) {
      const [ours, theirs] = [this.#left, this.#right].map((at) =>
        pages((page) => at.store.sessions({ ...query, ...page, agent: at.agent }), 2),
      );
      assert.deepEqual(await theirs, await ours);
    }
    for (const row of await pages((page) =>
      this.#left.store.sessions({ ...page, agent: this.#left.agent }),
    )) {
      for (const range of [{ from: "context" }, { before: null }, { before: 3 }, { from: 2 }] as const) {
        const ours = await entriesOf(this.#left.store, row.transcript.id, range);
        assert.deepEqual(await entriesOf(this.#right.store, row.transcript.id, range), ours);
      }
    }
    const claims = await this.#left.claim("last");
    assert.deepEqual([...(await this.#right.claim("last")).keys()].toSorted(), [...claims.keys()].toSorted());
  }

  async compareAfterRestart(): Promise<void> {
    await this.#right.reopen();
    assert.deepEqual(await this.#right.everything(), await this.#left.everything());
  }

  async #archiving(who: number, off: number): Promise<Of<"archive">> {
    const key = this.#key(who);
    const tail = (await this.#left.store.session(key))?.transcript;
    const lastSeq = Math.max(0, (tail?.lastSeq ?? 0) + off);
    return { do: "archive", key, expect: { transcript: tail?.id ?? "none", lastSeq }, why: "asked" };
  }

  /** Over whoever has its key, as a rule. */
  async #restoring({ which, off, blind }: Extract<Action, { do: "restore" }>): Promise<Change> {
    const archives = await this.#left.archives();
    const found = archives[which % Math.max(1, archives.length)];
    if (found === undefined) return await this.#archiving(which, 0);
    const { id: archive, key } = found;
    const tail = (await this.#left.store.session(key))?.transcript;
    if (tail === undefined || blind) return { do: "restore", archive, over: null };
    const lastSeq = Math.max(0, tail.lastSeq + off);
    return { do: "restore", archive, over: { key, transcript: tail.id, lastSeq } };
  }

  async #archive(which: number): Promise<string> {
    const archives = await this.#left.archives();
    return archives[which % Math.max(1, archives.length)]?.id ?? "none";
  }

  async #move({ way, which }: NonNullable<Step["move"]>): Promise<void> {
    const id = await this.#archive(which);
    const moved = async ({ store }: Corner): Promise<string> =>
      await store[way](id).then(
        () => "done",
        (error: unknown) => (error instanceof Fault ? error.code : assert.fail(String(error))),
      );
    assert.equal(await moved(this.#right), await moved(this.#left));
  }

  async #claim(owner: string): Promise<void> {
    const [claims, others] = [await this.#left.claim(owner, 3_000), await this.#right.claim(owner, 3_000)];
    assert.deepEqual([...others.keys()].toSorted(), [...claims.keys()].toSorted());
    for (const [key, fence] of claims) this.#fences.set(key, [fence, others.get(key) ?? 0]);
  }

  /** Fences are each store's own numbers: a right one becomes a right one, a wrong one stays as wrong. */
  #fencedRight(change: Change): Change {
    if (!("fence" in change)) return change;
    const [left, right] = this.#fences.get(change.key) ?? [0, 0];
    return { ...change, fence: change.fence - left + right };
  }

  async #change(action: Action): Promise<Change> {
    const at = this.#left;
    switch (action.do) {
      case "open":
        return await this.#open(action);
      case "append":
        return await this.#append(action);
      case "rotate":
        return await this.#rotate(action);
      case "take": {
        const mail = await at.mail(this.#key(action.from ?? action.who));
        const ids = mail.slice(0, action.count).map(({ id }) => id);
        return { do: "take", key: this.#key(action.who), fence: this.#fence(action), ids };
      }
      case "run":
        return {
          do: "run",
          key: this.#key(action.who),
          fence: this.#fence(action),
          state: stateOf(action.state),
        };
      case "reroute": {
        const route = { channel: "c", to: `${action.fenceOff}`, thread: null };
        return { do: "reroute", key: this.#key(action.who), fence: this.#fence(action), route, origin: null };
      }
      case "post": {
        // An id of a cause is forgotten with its reader, sooner or later: it is not used again after a deletion.
        const name = action.cause ? `${this.#deletions}-${action.id}` : `${action.id}`;
        const id = `${action.cause ? "cause" : "ext"}:${at.id(name)}`;
        const content = [{ type: "text", text: action.other ? "other" : "usual" }] as const;
        return at.posting(
          action.to.map((each) => this.#key(each)),
          name,
          { id, content },
        );
      }
      case "signal":
        return {
          do: "signal",
          key: this.#key(action.who),
          signal: action.signal as "none" | "pause" | "kill",
        };
      case "revive":
        return { do: "revive", key: this.#key(action.who) };
      case "set": {
        const key = this.#key(action.who);
        const version = (await at.store.session(key))?.settingsVersion ?? 1;
        return {
          do: "set",
          key,
          version: action.any ? null : version + action.off,
          settings: { label: action.label },
        };
      }
      case "charge": {
        const usage = { input: action.amount, toolPeakBytes: action.amount };
        return { do: "charge", key: this.#key(action.who), usage };
      }
      case "setTimer": {
        const due = await this.#due(action.id);
        const timer = at.timer(`${action.id}`, this.#key(action.who), { dueAtMs: action.due });
        return {
          do: "setTimer",
          timer,
          expectDueAtMs: action.blind || due === null ? null : due + action.off,
        };
      }
      case "clearTimer": {
        const timers = await at.timers();
        const timer = timers[action.id % Math.max(1, timers.length)] ?? at.timer("none", this.#key(0));
        return { do: "clearTimer", id: timer.id, expectDueAtMs: timer.dueAtMs + action.off };
      }
      case "send":
        return at.sending(`${action.id}`, this.#key(action.who));
      case "settle": {
        const answers = [...(await at.outbox(false)), ...(await at.outbox(true))];
        const id = answers[action.id % Math.max(1, answers.length)]?.id ?? "none";
        return { do: "settle", id, refused: action.refused };
      }
      case "delete":
        return { do: "delete", key: this.#key(action.who), expect: null };
      case "archive":
        return await this.#archiving(action.who, action.off);
      case "restore":
        return await this.#restoring(action);
      case "purge": {
        const archive = await this.#archive(action.which);
        return archive === "none" ? await this.#archiving(action.which, 0) : { do: "purge", archive };
      }
    }
  }

  async #open(action: Extract<Action, { do: "open" }>): Promise<Of<"open">> {
    const key = this.#key(action.who);
    const known = await this.#left.store.session(key);
    const more = {
      parent: action.parent === null ? null : this.#key(action.parent),
      settings: { label: action.label },
      ifExists: action.keep ? ("keep" as const) : ("refuse" as const),
      ...(action.reuse && known ? { transcript: known.transcript.id } : {}),
    };
    if (action.copy === null) return this.#left.opening(key, more);
    const of = this.#key(action.copy.of);
    const last = (await this.#left.store.session(of))?.transcript.lastSeq ?? 0;
    const copy = { of, fromSeq: 1 + action.copy.from, throughSeq: last - action.copy.through };
    return this.#left.opening(key, { ...more, copy });
  }

  async #append(action: Extract<Action, { do: "append" }>): Promise<Of<"append">> {
    const key = this.#key(action.who);
    const row = await this.#left.store.session(key);
    const lastSeq = row?.transcript.lastSeq ?? 0;
    const lines = row ? await entriesOf(this.#left.store, row.transcript.id, { since: 0 }) : [];
    const seq = lastSeq - (action.back ?? 0);
    const named = lines.find((each) => each.seq === seq + action.idOff);
    const rewindTo = { id: named?.id ?? "none", seq };
    return {
      do: "append",
      key,
      fence: this.#fence(action),
      after: lastSeq + action.off,
      entries: [
        ...action.texts.map(said),
        ...(action.answer === null ? [] : [answered(action.answer)]),
        noted(action.texts),
      ],
      rewindTo: action.back === null ? null : rewindTo,
      contextSeq: action.contextBack === null ? null : Math.max(1, lastSeq - action.contextBack),
    };
  }

  async #rotate(action: Extract<Action, { do: "rotate" }>): Promise<Of<"rotate">> {
    const key = this.#key(action.who);
    const row = await this.#left.store.session(key);
    return {
      do: "rotate",
      key,
      fence: this.#fence(action),
      after: (row?.transcript.lastSeq ?? 0) + action.off,
      transcript: action.reuse && row ? row.transcript.id : this.#left.world.newId(),
      cwd: "/tmp",
      keep: action.keep as "context" | "nothing",
    };
  }

  async #due(id: number): Promise<number | null> {
    const timer = (await this.#left.timers()).find((each) => each.id === this.#left.id(`${id}`));
    return timer?.dueAtMs ?? null;
  }

  #key(n: number): SessionKey {
    return this.#left.key("abcd".charAt(n));
  }

  #fence(action: { readonly who: number; readonly fenceOff: number }): number {
    return (this.#fences.get(this.#key(action.who))?.[0] ?? 0) + action.fenceOff;
  }
}

/** What a caller hears. Where the feed stands is each store's own. */
async function outcome(at: Corner, changes: readonly Change[]): Promise<unknown> {
  try {
    const { seqs, posts, forwarded } = await at.store.commit(changes);
    return { seqs, posts, forwarded: forwarded.toSorted() };
  } catch (error) {
    if (error instanceof Fault) return error.code;
    throw error;
  }
}

function stateOf(kind: string): RunState {
  if (kind === "running") return { kind, sinceMs: 1, turn: "t", step: 2 };
  if (kind === "waiting") return { kind, sinceMs: 1, for: "children" };
  if (kind === "queued" || kind === "paused") return { kind, sinceMs: 1 };
  return kind === "ended" ? ended(1) : { kind: "idle" };
}
