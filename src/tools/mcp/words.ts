import { secretCharsMax, withoutSecrets } from "../../base/redact.ts";
import type { Secret } from "../../base/secret.ts";
import type { McpServer } from "../../config/config.ts";

/** Characters of a text of a stranger, where nobody says otherwise. */
const CHARS_MAX = 300;

/** White space is taken together, so more than what is shown is looked at; most of a long text need not be. */
const LOOKED_AT = 4;

/** A text of a stranger as one short line: for a log, a status, or a model that is told why. */
export function shortly(text: string, charsMax = CHARS_MAX): string {
  const head = text.slice(0, charsMax * LOOKED_AT);
  // oxlint-disable-next-line no-control-regex -- these are what is taken out
  const line = head.replaceAll(/[\u0000-\u001f\u007f-\u009f\u2028\u2029\s]+/g, " ").trim();
  return (line.length > charsMax ? `${line.slice(0, charsMax)} …` : line).toWellFormed();
}

/** Of anything that was thrown, as long as it is. What fetch throws keeps the reason in its cause. */
export function wordsOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { message, cause } = error;
  return cause instanceof Error ? `${message}: ${cause.message || cause.name}` : message || error.name;
}

/**
 * The words of a server as they may be told. It may say aloud what it was given: so its words lose the secrets that its
 * configuration holds, and no half of one is left where they are cut.
 */
export class Words {
  readonly #secrets: readonly Secret[];
  readonly #secretCharsMax: number;

  constructor(server: McpServer) {
    this.#secrets = Object.values(server.kind === "stdio" ? server.env : server.headers);
    this.#secretCharsMax = secretCharsMax(this.#secrets);
  }

  /** Characters of a text that are looked at to tell so many. What is longer may be given without its end. */
  charsRead(charsMax: number): number {
    return charsMax * LOOKED_AT + this.#secretCharsMax;
  }

  /** As one short line. */
  shortly(text: string, charsMax = CHARS_MAX): string {
    const read = this.charsRead(charsMax);
    const clean = withoutSecrets(text.slice(0, read), this.#secrets);
    // What was cut off may begin within what was read: as much of it as a secret can have.
    const cut = text.length > read ? this.#secretCharsMax : 0;
    const whole = clean.slice(0, Math.max(0, clean.length - cut));
    return shortly(whole, charsMax);
  }
}
