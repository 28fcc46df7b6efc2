// Held
//
// A session that this process owns: its claim, its row as the owner knows it, and the entries that a model is shown.
// Whoever holds the lane holds this, and there is no other way to write a session's history.
//
//   Owns:      the fenced changes of one session (S4), in order, and telling of them once they are durable.
//   Does not:  decide when a turn runs (scheduler/), or what is in it (turns/).
//
// Invariants
//   H1. What it knows of the owner's part of the row is what the store has: after every commit, and after none that failed.
//   H2. Nothing is told before it is durable (B1).
//   H3. What anyone may change (settings, signals) is as fresh as the last look(); a turn looks between steps.
//   H4. A commit that failed because somebody else owns the session now (stale_writer) ends this Held: it is never
//       repeated with another fence.

import type { World } from "../base/world.ts";
import type { Bus } from "../events/bus.ts";
import type { Route } from "../mail/letter.ts";
import type { SessionKey } from "../routing/key.ts";
import type { Origin } from "../routing/route.ts";
import { rotatedRow } from "../store/generations.ts";
import type { Of } from "../store/rules.ts";
import type { Change, Receipt } from "../store/change.ts";
import type { Claim, Store } from "../store/store.ts";
import { GENERATION, type Generation } from "../transcript/generation.ts";
import { entryId, type Body, type Draft, type Entry, type Gap } from "../transcript/entry.ts";
import { isPersonal } from "../transcript/fold.ts";
import type { RunState, Session, Settings, Usage } from "./session.ts";
import { moved } from "./state.ts";

export interface HeldParts {
  readonly store: Pick<Store, "session" | "entries">;
  /** Commits, and then lets those know whom it concerns. */
  readonly commit: (changes: readonly Change[]) => Promise<Receipt>;
  readonly bus: Bus;
  readonly world: World;
}

/** What one commit of the owner does. What is not given stays as it is. */
export interface Writing {
  readonly take?: readonly string[]; //      ids of letters, which are among the entries
  readonly entries?: readonly Body[]; //     with a compaction among them, what a model is shown starts where that says
  readonly rewind?: Rewind; //               the entries continue an older one
  readonly rotate?: Rotate; //               the history goes on in a new file, and the entries are in that
  readonly reroute?: { readonly route: Route | null; readonly origin: Origin | null };
  readonly charge?: Partial<Usage>;
  readonly others?: readonly Change[]; //    what happens to others because of it: letters, answers, settings
  readonly state?: RunState;
  readonly afterwards?: readonly Change[]; // what happens after all that
}

/** The entry that is gone back to, and where the context of its path starts. */
export interface Rewind {
  readonly to: { readonly id: string; readonly seq: number };
  readonly contextSeq: number;
}

/** With what a model is shown, or with nothing: then the conversation begins anew. */
export interface Rotate {
  readonly keep: "context" | "nothing";
  readonly transcript: string; // the id of the new file
  readonly cwd: string;
}

export class Held {
  readonly key: SessionKey;
  readonly #fence: number;
  readonly #parts: HeldParts;
  #row: Session;
  #entries: Entry[] | null = null; // null: nobody has asked for them yet
  #isStale = false;
  #last: Promise<void> = Promise.resolve();
  #written = Promise.withResolvers<void>();

  constructor(parts: HeldParts, claim: Claim, row: Session) {
    this.#parts = parts;
    this.#row = row;
    this.#fence = claim.fence;
    this.key = claim.key;
  }

  /** The store's bytes, tokens of the context, title and order of lists are not kept up here: the owner has no use for them. */
  get row(): Session {
    return this.#row;
  }

  /** Somebody changed a setting, or sent a signal. Seen at the next look(). */
  changed(): void {
    this.#isStale = true;
  }

  /** H3. */
  async look(): Promise<Session> {
    if (!this.#isStale) return this.#row;
    this.#isStale = false;
    const now = await this.#parts.store.session(this.key);
    if (now === null) return this.#row; // It was deleted: the next commit says so.
    const { settings, settingsVersion, signal, usage, tree } = now;
    const { state } = this.#row.state.kind === "ended" ? now : this.#row; // It may have been revived.
    this.#row = { ...this.#row, state, settings, settingsVersion, signal, usage, tree };
    return this.#row;
  }

  /** The entries, if somebody has asked for them. */
  get known(): readonly Entry[] | null {
    return this.#entries;
  }

  /**
   * What a model is shown is made of these: the active path from where the context starts. For what runs in the lane, and
   * nobody else: what is written while they are read the first time would be missed.
   */
  async entries(): Promise<readonly Entry[]> {
    if (this.#entries !== null) return this.#entries;
    const read: Entry[] = [];
    const gaps: Gap[] = [];
    for await (const entry of this.#parts.store.entries(this.#row.transcript.id, { from: "context" })) {
      if (entry.type === "gap") gaps.push(entry);
      else read.push(entry);
    }
    this.#entries = read;
    await this.#writeDown(gaps);
    return this.#entries;
  }

  /** Damage in what the model would have been shown is said in the transcript, once for each place. */
  async #writeDown(gaps: readonly Gap[]): Promise<void> {
    const known = (gap: Gap): boolean =>
      (this.#entries ?? []).some(
        (entry) =>
          entry.type === "custom" &&
          entry.customType === "sessiond/damage" &&
          (entry.data as Partial<Gap> | undefined)?.offset === gap.offset,
      );
    const entries = gaps
      .filter((gap) => !known(gap))
      .map(({ reason, offset, bytes }): Body => ({
        type: "custom",
        customType: "sessiond/damage",
        data: { reason, offset, bytes },
      }));
    if (entries.length > 0) await this.commit({ entries });
  }

  /**
   * All of it or nothing. Resolves when it is durable and was told. Tools that run side by side settle in any order:
   * their commits are made one after the other, because each has to know the last entry before it.
   */
  commit(writing: Writing): Promise<void> {
    const committed = this.#last.then(() => this.#write(writing));
    this.#last = committed.catch(() => {}); // Whoever asked for it hears why it failed.
    return committed;
  }

  /** Resolves with the next commit that has entries. */
  written(): Promise<void> {
    return this.#written.promise;
  }

  async #write(writing: Writing): Promise<void> {
    const { key } = this;
    const fence = this.#fence;
    const { state, reroute, rewind } = writing;
    if (state) moved(key, this.#row.state, state);
    const rotate = writing.rotate === undefined ? null : await this.#rotating(writing.rotate, writing);
    const drafts = this.#stamped([...(rotate?.notes ?? []), ...(writing.entries ?? [])]);
    const contextSeq = rewind?.contextSeq ?? this.#contextSeq(drafts);
    const changes: Change[] = [];
    if (writing.take && writing.take.length > 0) changes.push({ do: "take", key, fence, ids: writing.take });
    if (rotate) changes.push(rotate.change);
    if (drafts.length > 0)
      changes.push({
        do: "append",
        key,
        fence,
        after: this.#row.transcript.lastSeq,
        entries: drafts,
        rewindTo: rewind?.to ?? null,
        contextSeq,
      });
    if (writing.charge) changes.push({ do: "charge", key, usage: writing.charge });
    if (reroute) changes.push({ do: "reroute", key, fence, ...reroute });
    if (writing.others) changes.push(...writing.others);
    if (state) changes.push({ do: "run", key, fence, state });
    if (writing.afterwards) changes.push(...writing.afterwards);
    await this.#parts.commit(changes);
    this.#row = { ...this.#row, ...(state ? { state } : {}), ...reroute };
    if (rotate) this.#rotated(rotate.change);
    const made = this.#appended(drafts, rewind?.to.id ?? this.#row.transcript.leafId);
    if (rewind) this.#entries = null; // Another path: whoever asks next reads it.
    if (contextSeq !== null) this.#startAt(contextSeq);
    this.#tell(made, state ?? null);
    if (changes.some((change) => change.do === "delete" && change.key === key)) this.#parts.bus.deleted(key);
    if (drafts.length === 0) return;
    this.#written.resolve();
    this.#written = Promise.withResolvers();
  }

  /** The new file begins in the middle, or with nothing: what was known until then is written down in it. */
  async #rotating(
    { keep, transcript, cwd }: Rotate,
    { others = [], afterwards = [] }: Writing,
  ): Promise<{ change: Of<"rotate">; notes: Body[] }> {
    const { key } = this;
    const now = (await this.#parts.store.session(key)) ?? this.#row; // It was deleted: the commit says so.
    const { usage, bornAtMs, interactedAtMs } = now;
    // As they are from then on: what the same commit sets is of the new file.
    const set = [...others, ...afterwards].flatMap((change) =>
      change.do === "set" && change.key === key ? [change.settings] : [],
    );
    const settings: Settings = Object.assign({ ...now.settings }, ...set);
    const title = keep === "context" ? now.title : "";
    const data: Generation = { usage, settings, title, bornAtMs, interactedAtMs };
    const after = this.#row.transcript.lastSeq;
    return {
      change: { do: "rotate", key, fence: this.#fence, after, transcript, cwd, keep },
      notes: [{ type: "custom", customType: GENERATION, data }],
    };
  }

  /** H1. */
  #rotated(change: Of<"rotate">): void {
    this.#row = rotatedRow(this.#row, change, this.#row.transcript.bytes, this.#parts.world.nowMs());
    if (change.keep === "nothing") this.#entries = [];
  }

  #stamped(bodies: readonly Body[]): Draft[] {
    const timestamp = new Date(this.#parts.world.nowMs()).toISOString();
    return bodies.map((body) => ({ ...body, timestamp }));
  }

  /** Where the context starts with the compaction that is among them; null: there is none. It may keep nothing but itself. */
  #contextSeq(drafts: readonly Draft[]): number | null {
    const at = drafts.findLastIndex(({ type }) => type === "compaction");
    const compaction = drafts[at];
    if (compaction?.type !== "compaction") return null;
    const kept = this.#entries?.find(({ id }) => id === compaction.firstKeptEntryId);
    return kept?.seq ?? this.#row.transcript.lastSeq + 1 + at;
  }

  /** What is before it is not shown any more, and need not be in memory. */
  #startAt(contextSeq: number): void {
    this.#row = { ...this.#row, transcript: { ...this.#row.transcript, contextSeq } };
    this.#entries = this.#entries?.filter(({ seq }) => seq >= contextSeq) ?? null;
  }

  /** H1: the same ids and numbers as the store gave them. The first of them continues the entry `after`. */
  #appended(drafts: readonly Draft[], after: string | null): Entry[] {
    const { transcript } = this.#row;
    let { lastSeq } = transcript;
    let leafId = drafts.length === 0 ? transcript.leafId : after;
    const jumpSeq = leafId === transcript.leafId ? transcript.jumpSeq : lastSeq + 1;
    const made = drafts.map((draft): Entry => {
      const parentId = leafId;
      lastSeq += 1;
      leafId = entryId(transcript.id, lastSeq);
      return { ...draft, id: leafId, parentId, seq: lastSeq };
    });
    const interactedAtMs = drafts.some(isPersonal) ? this.#parts.world.nowMs() : this.#row.interactedAtMs;
    this.#row = { ...this.#row, transcript: { ...transcript, lastSeq, leafId, jumpSeq }, interactedAtMs };
    this.#entries?.push(...made);
    return made;
  }

  /** H2. */
  #tell(entries: readonly Entry[], state: RunState | null): void {
    const { bus } = this.#parts;
    const { key } = this;
    if (bus.isQuiet(key)) return;
    for (const entry of entries) bus.tell({ type: "entry", key, seq: entry.seq, entry });
    if (state) bus.tell({ type: "state", key, state });
  }
}
