import { MAILBOX_KEPT_BYTES, MAILBOX_KEPT_LETTERS } from "../limits.ts";
import type { Page, PageOf } from "../store/store.ts";
import type { Mail } from "./letter.ts";

/** The letters that wait in the store, oldest first. */
type ReadMail = (page: PageOf) => Promise<Page<Mail>>;

/**
 * What waits for a session that this process owns, oldest first. Letters that arrive are kept here as they were posted, so
 * that a turn need not read them back; when they are many, only the oldest are, and the store has the others. Urgent ones
 * are kept also then: they are for the turn that runs, and must not wait behind those that are not.
 */
export class Mailbox {
  readonly #read: ReadMail;
  #kept: Mail[] = []; //  the oldest that wait, without a gap
  #ahead: Mail[] = []; // urgent ones behind a gap
  /** False: what is kept here is all there is. True: the store may have more, also when nothing is kept. */
  #hasMore = true;
  /** True: what the store has more is not kept because there is no room. */
  #isCut = false;
  #reading = false;

  constructor(read: ReadMail) {
    this.#read = read;
  }

  /**
   * A letter was posted: it is durable, and newer than all that wait. It may have been read already: a store shows it as
   * soon as it is durable, and its sender hears of that a moment later.
   */
  arrive(mail: Mail, isUrgent: boolean): void {
    if (this.has(mail.id)) return;
    // While the store is being read nobody knows whether it has this one already.
    if (!this.#hasMore && !this.#reading && hasRoom(this.#kept, mail)) {
      this.#kept.push(mail);
      return;
    }
    this.#hasMore = true;
    this.#isCut ||= !this.#reading && !hasRoom(this.#kept, mail);
    if (isUrgent && hasRoom(this.#ahead, mail)) this.#ahead.push(mail);
  }

  /** What waits, or the oldest part of it and what is urgent. Empty: nothing does. */
  async waiting(): Promise<readonly Mail[]> {
    // What is kept may stay for long, while a turn waits for a letter that came just now: so what has room is read too.
    while (this.#hasMore && (this.#kept.length === 0 || !this.#isCut)) {
      this.#reading = true;
      this.#hasMore = false;
      try {
        const page = await this.#read({ limit: MAILBOX_KEPT_LETTERS });
        this.#keep(page.rows);
        this.#isCut = page.next !== null || this.#kept.length < page.rows.length;
        if (this.#isCut) this.#hasMore = true;
        if (page.rows.length > 0) break;
      } catch (error) {
        this.#hasMore = true;
        throw error;
      } finally {
        this.#reading = false;
      }
    }
    return this.known;
  }

  /** The oldest of them, as many as there is room for, and at least one. */
  #keep(mails: readonly Mail[]): void {
    const kept: Mail[] = [];
    for (const mail of mails) {
      if (kept.length > 0 && !hasRoom(kept, mail)) break;
      kept.push(mail);
    }
    const ids = new Set(kept.map(({ id }) => id));
    this.#kept = kept;
    this.#ahead = this.#ahead.filter(({ id }) => !ids.has(id));
  }

  /** What is known here may not be all: the store is asked again. */
  forget(): void {
    this.#kept = [];
    this.#hasMore = true;
  }

  /** As the store has it now. */
  async refreshed(): Promise<readonly Mail[]> {
    this.forget();
    return await this.waiting();
  }

  /** All that wait, also those that there is no room for: for who looks for one behind many. */
  async all(): Promise<readonly Mail[]> {
    const known = await this.waiting();
    if (!this.#isCut) return known;
    const mails: Mail[] = [];
    for (let cursor: string | null | undefined = undefined; cursor !== null;) {
      const page = await this.#read({ limit: MAILBOX_KEPT_LETTERS, cursor: cursor ?? null });
      mails.push(...page.rows);
      cursor = page.next;
    }
    return mails;
  }

  has(id: string): boolean {
    return this.known.some((mail) => mail.id === id);
  }

  /** What is known to wait, without asking the store. */
  get known(): readonly Mail[] {
    return this.#ahead.length === 0 ? this.#kept : [...this.#kept, ...this.#ahead];
  }

  /** They were taken. */
  remove(ids: readonly string[]): void {
    const gone = new Set(ids);
    this.#kept = this.#kept.filter((mail) => !gone.has(mail.id));
    this.#ahead = this.#ahead.filter((mail) => !gone.has(mail.id));
  }
}

function hasRoom(letters: readonly Mail[], mail: Mail): boolean {
  if (letters.length >= MAILBOX_KEPT_LETTERS) return false;
  return letters.reduce((sum, each) => sum + bytesOf(each), bytesOf(mail)) <= MAILBOX_KEPT_BYTES;
}

function bytesOf(mail: Mail): number {
  let bytes = 256;
  for (const block of mail.content) bytes += block.type === "text" ? block.text.length : 256;
  return bytes;
}
