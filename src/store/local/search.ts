// Search
//
// The thread that keeps the full-text index (words.ts) up with what was said. It follows the feed like any subscriber
// and is always a little behind; it says how much.
//
// Invariants
//   X1. What was seen of the feed and the texts of it are committed together.
//   X2. It takes at most a quarter of a core while commits keep coming: people come first. And it works in short
//       stretches, however far behind it is, because questions wait for the end of one.
//   X3. Whatever is wrong with the index, or with one transcript, the store goes on. An index that cannot be used is
//       made anew; should that not help, search is off until the next start, and says so.

import { constants, setPriority } from "node:os";
import { DatabaseSync } from "node:sqlite";
import { workerData, type MessagePort } from "node:worker_threads";
import type { FaultWords } from "../../base/fault.ts";
import type { SessionKey } from "../../routing/key.ts";
import type { Session } from "../../sessions/session.ts";
import type { Changed, Hits, SearchQuery } from "../store.ts";
import { addTexts, Budget, TEXTS_AT_ONCE } from "./indexing.ts";
import { pathsIn, type Paths } from "./paths.ts";
import { epochOf, tune } from "./schema.ts";
import { numberOf, snapshot } from "./spliced.ts";
import { isFull, isOfDisk } from "./trouble.ts";
import { throwAway, Words, type Seen } from "./words.ts";

export type ToSearch =
  | { readonly do: "look" }
  | { readonly do: "search"; readonly id: number; readonly query: SearchQuery };

export type FromSearch =
  | { readonly say: "caught up" }
  | { readonly say: "answer"; readonly id: number; readonly answer: Hits | FaultWords }
  | { readonly say: "trouble"; readonly message: string };

/** Groups of commits looked at in one stretch, as long as not more sessions changed in them: some hundredths of a second. */
const GROUPS_AT_ONCE = 64;
const CHANGES_AT_ONCE = 256;

/** Sessions looked at in one stretch, when all have to be. */
const SESSIONS_AT_ONCE = 64;

/** What is said in quick succession is read in one go. */
const LOOK_AFTER_MS = 20;

/** On a full disk it stays behind, and tries again after this. */
const FULL_AGAIN_MS = 1_000;

class Search {
  readonly #say: (message: FromSearch) => void;
  readonly #paths: Paths;
  readonly #state: DatabaseSync;
  readonly #epoch: string;
  readonly #unreadable = new Set<string>(); // transcripts that people were told of
  #words: Words;
  #timer: NodeJS.Timeout | null = null;
  #restMs = 0;
  #newest = 0; // group of the feed when it last looked
  #anew = false; // the index was thrown away, and nothing has worked since
  #off: string | null = null; // why there is no search any more

  constructor(home: string, say: (message: FromSearch) => void) {
    this.#say = say;
    this.#paths = pathsIn(home);
    this.#state = new DatabaseSync(this.#paths.state);
    tune(this.#state, "read");
    this.#epoch = epochOf(this.#state);
    this.#words = Words.open(this.#paths.search);
  }

  /** Soon, and while commits keep coming not before it has rested three times as long as it worked (X2). */
  look(afterMs: number = LOOK_AFTER_MS): void {
    if (this.#off !== null) return;
    this.#timer ??= setTimeout(() => this.#lookNow(), Math.max(afterMs, this.#restMs));
  }

  answer(query: SearchQuery): Hits | FaultWords {
    if (this.#off !== null) return { code: "disk_failed", message: this.#off };
    try {
      return { hits: this.#words.find(query), behind: this.#behind() };
    } catch (error) {
      this.#trouble(error);
      return { hits: [], behind: 1 }; // at least: it is being made anew
    }
  }

  #lookNow(): void {
    this.#timer = null;
    const before = performance.now();
    try {
      const more = this.#catchUp();
      this.#anew = false;
      const { newest } = this.#feedEnds();
      this.#restMs = newest === this.#newest ? 0 : 3 * (performance.now() - before);
      this.#newest = newest;
      if (more) this.look();
      else this.#say({ say: "caught up" });
    } catch (error) {
      this.#trouble(error);
    }
  }

  /** X3. What is neither the disk's nor SQLite's is our bug: the thread dies, and the process with it. */
  #trouble(error: unknown): void {
    if (isFull(error)) return this.look(FULL_AGAIN_MS);
    if (!isOfDisk(error)) throw error;
    if (this.#anew) {
      this.#off = `search is off until the next start: ${error.message}`;
      return this.#say({ say: "trouble", message: this.#off });
    }
    this.#say({ say: "trouble", message: `the search index is made anew: ${error.message}` });
    this.#anew = true;
    this.#words.close();
    throwAway(this.#paths.search);
    this.#words = Words.open(this.#paths.search);
    this.look();
  }

  /** True: there is more. */
  #catchUp(): boolean {
    const ends = this.#feedEnds();
    const seen = this.#seen();
    const isRead = seen.scanned === null && seen.cursor === ends.newest && seen.epoch === this.#epoch;
    if (isRead && !this.#words.isForgetting) return false;
    this.#words.together(() => {
      this.#words.forgetSome(TEXTS_AT_ONCE);
      if (isRead) return;
      // The feed does not reach back to where we were, or it is another one: read everything again, by the table.
      const lost = seen.epoch !== this.#epoch || seen.cursor < ends.oldest - 1 || seen.cursor > ends.newest;
      if (lost) this.#startOver(ends.newest);
      else if (seen.scanned !== null) this.#addSessions(seen.cursor, seen.scanned);
      else this.#addGroups(seen.cursor);
    }); // X1
    return this.#behind() > 0 || this.#words.isForgetting;
  }

  /** What is there stays, but for what was deleted while we were not told. */
  #startOver(cursor: number): void {
    for (const transcript of this.#words.transcripts()) this.#forgetIfGone(transcript);
    this.#words.saw({ epoch: this.#epoch, cursor, scanned: 0 });
  }

  /** One that is back by now stays, with what is known of it. */
  #forgetIfGone(transcript: string): void {
    if (numberOf(this.#state, transcript) === null) this.#words.forget(transcript);
  }

  /**
   * What was said in these groups, and nothing that came later: that is told by later ones (X2). Should it be too much for one stretch,
   * the next one begins with the first group that is not done.
   */
  #addGroups(cursor: number): void {
    const groups = this.#state
      .prepare("SELECT n, body FROM feed WHERE n > ? ORDER BY n LIMIT ?")
      .all(cursor, GROUPS_AT_ONCE);
    const told = new Map<SessionKey, { readonly lastSeq: number; readonly since: number }>();
    let through = cursor;
    let changes = 0;
    for (const group of groups) {
      const changed = JSON.parse(String(group["body"])) as Changed[];
      const n = Number(group["n"]);
      changes += changed.length;
      if (changes > CHANGES_AT_ONCE && through > cursor) break;
      for (const { key, lastSeq, deleted } of changed) {
        if (deleted) for (const transcript of this.#words.ofKey(key)) this.#forgetIfGone(transcript);
        if (deleted) told.delete(key);
        else told.set(key, { lastSeq, since: told.get(key)?.since ?? n });
      }
      through = n;
    }
    const transcriptOf = this.#state.prepare("SELECT transcript FROM sessions WHERE key = ?");
    const budget = new Budget();
    for (const [key, { lastSeq, since }] of told) {
      const found = transcriptOf.get(key); // else deleted meanwhile; the feed will say so
      if (found && !this.#addTranscript(String(found["transcript"]), lastSeq, budget))
        through = Math.min(through, since - 1);
    }
    this.#words.saw({ epoch: this.#epoch, cursor: through, scanned: null });
  }

  #addSessions(cursor: number, scanned: number): void {
    const some = this.#state
      .prepare("SELECT n, transcript FROM sessions WHERE n > ? ORDER BY n LIMIT ?")
      .all(scanned, SESSIONS_AT_ONCE);
    const budget = new Budget();
    let through = scanned;
    for (const { n, transcript } of some) {
      if (!this.#addTranscript(String(transcript), Infinity, budget)) break;
      through = Number(n);
    }
    const isLast = some.length < SESSIONS_AT_ONCE && through === Number(some.at(-1)?.["n"] ?? scanned);
    this.#words.saw({ epoch: this.#epoch, cursor, scanned: isLast ? null : through });
  }

  /** False: not all of it. One that cannot be read is passed over, and tried again when something is added to it. */
  #addTranscript(transcript: string, lastSeq: number, budget: Budget): boolean {
    if (budget.isSpent) return false;
    try {
      const taken = snapshot(this.#state, this.#paths, transcript);
      if (taken === null) return true;
      try {
        this.#rename(taken.row);
        return addTexts(this.#words, taken, lastSeq, budget);
      } finally {
        taken.source.close();
      }
    } catch (error) {
      if (!(error instanceof Error && "syscall" in error)) throw error;
      if (this.#unreadable.has(transcript)) return true;
      this.#unreadable.add(transcript);
      this.#say({ say: "trouble", message: `transcript ${transcript} cannot be searched: ${error.message}` });
      return true;
    }
  }

  /**
   * A history that went on in a new file is the same history, and the place in it is the same: only its name is another.
   * One that began anew is another history, and what was before it is not found any more.
   */
  #rename({ key, transcript }: Session): void {
    for (const known of this.#words.ofKey(key)) {
      if (known === transcript.id) continue;
      if (numberOf(this.#state, known) === null) this.#words.forget(known);
      else this.#words.rename(known, transcript.id);
    }
  }

  #behind(): number {
    const seen = this.#seen();
    const unread =
      seen.scanned === null
        ? 0
        : Number(
            this.#state.prepare("SELECT count(*) AS n FROM sessions WHERE n > ?").get(seen.scanned)?.["n"],
          );
    return this.#feedEnds().newest - seen.cursor + unread;
  }

  /** A new index begins with the table: the feed of a home that was rebuilt knows nothing of what is there. */
  #seen(): Seen {
    return this.#words.seen() ?? { epoch: this.#epoch, cursor: this.#feedEnds().newest, scanned: 0 };
  }

  #feedEnds(): { readonly oldest: number; readonly newest: number } {
    const row = this.#state.prepare("SELECT min(n) AS oldest, max(n) AS newest FROM feed").get();
    return { oldest: Number(row?.["oldest"] ?? 1), newest: Number(row?.["newest"] ?? 0) };
  }
}

// On Linux a thread has a priority of its own; elsewhere this would be the whole process's, and X2 has to do.
if (process.platform === "linux") setPriority(0, constants.priority.PRIORITY_LOW);

const { port, home } = workerData as { readonly port: MessagePort; readonly home: string };
const say = (message: FromSearch): void => port.postMessage(message);
let search: Search | null = null;

function hear(message: ToSearch): void {
  try {
    search ??= new Search(home, say); // by now the writer has made the database
  } catch (error) {
    if (!isFull(error)) throw error;
    if (message.do === "search") say({ say: "answer", id: message.id, answer: { hits: [], behind: 1 } }); // at least
    else setTimeout(() => hear(message), FULL_AGAIN_MS);
    return;
  }
  if (message.do === "search") say({ say: "answer", id: message.id, answer: search.answer(message.query) });
  else search.look();
}

port.on("message", hear);
