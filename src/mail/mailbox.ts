import { MAILBOX_KEPT_BYTES, MAILBOX_KEPT_LETTERS } from "../limits.ts";
import type { Page } from "../store/store.ts";
import type { Mail } from "./letter.ts";

/** The oldest letters that wait in the store. */
type ReadMail = (limit: number) => Promise<Page<Mail>>;

/**
 * What waits for a session that this process owns, oldest first. Letters that arrive are kept here as they were posted, so
 * that a turn need not read them back; when they are many, only the oldest are, and the store has the others.
 */
export class Mailbox {
  readonly #read: ReadMail;
  #kept: Mail[] = [];
  #bytes = 0;
  /** False: what is kept here is all there is. True: the store may have more, also when nothing is kept. */
  #hasMore = true;
  #reading = false;

  constructor(read: ReadMail) {
    this.#read = read;
  }

  /**
   * A letter was posted: it is durable, and newer than all that wait. It may have been read already: a store shows it as
   * soon as it is durable, and its sender hears of that a moment later.
   */
  arrive(mail: Mail): void {
    if (this.#kept.some(({ id }) => id === mail.id)) return;
    const bytes = bytesOf(mail);
    const isFull = this.#kept.length >= MAILBOX_KEPT_LETTERS || this.#bytes + bytes > MAILBOX_KEPT_BYTES;
    // While the store is being read nobody knows whether it has this one already.
    if (this.#hasMore || this.#reading || isFull) {
      this.#hasMore = true;
      return;
    }
    this.#kept.push(mail);
    this.#bytes += bytes;
  }

  /** What waits, or the oldest part of it. Empty: nothing does. */
  async waiting(): Promise<readonly Mail[]> {
    while (this.#kept.length === 0 && this.#hasMore) {
      this.#reading = true;
      this.#hasMore = false;
      try {
        const page = await this.#read(MAILBOX_KEPT_LETTERS);
        this.#keep(page.rows);
        if (page.next !== null || this.#kept.length < page.rows.length) this.#hasMore = true;
        if (page.rows.length > 0) break;
      } catch (error) {
        this.#hasMore = true;
        throw error;
      } finally {
        this.#reading = false;
      }
    }
    return this.#kept;
  }

  /** The oldest of them, as many as there is room for, and at least one. */
  #keep(mails: readonly Mail[]): void {
    let bytes = 0;
    const tooMany = mails.findIndex((mail, at) => (bytes += bytesOf(mail)) > MAILBOX_KEPT_BYTES && at > 0);
    this.#kept = tooMany < 0 ? [...mails] : mails.slice(0, tooMany);
    this.#bytes = this.#kept.reduce((sum, mail) => sum + bytesOf(mail), 0);
  }

  /** What is known to wait, without asking the store. */
  get known(): readonly Mail[] {
    return this.#kept;
  }

  /** They were taken. */
  remove(ids: readonly string[]): void {
    const gone = new Set(ids);
    this.#kept = this.#kept.filter((mail) => !gone.has(mail.id));
    this.#bytes = this.#kept.reduce((sum, mail) => sum + bytesOf(mail), 0);
  }

  /** What is known may be wrong: the store is asked again. */
  forget(): void {
    this.#kept = [];
    this.#bytes = 0;
    this.#hasMore = true;
  }
}

function bytesOf(mail: Mail): number {
  let bytes = 256;
  for (const block of mail.content) bytes += block.type === "text" ? block.text.length : 256;
  return bytes;
}
