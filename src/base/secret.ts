import { inspect } from "node:util";

/** A header such as "Bearer abc" or "Token abc": one word, and behind it another one. */
const BEHIND_A_SCHEME = /^[A-Za-z][\w-]*\s+(\S+)\s*$/;

/**
 * A text that must reach one place only, such as the key of a provider. Logged, shown, or written as JSON by mistake, it
 * says that it is one and not what it is: only reveal() does.
 */
export class Secret {
  readonly #text: string;
  readonly #parts: readonly string[];

  /** `parts`: what it was put together of and is secret by itself, as the key in "Bearer <key>". */
  constructor(text: string, parts: readonly string[] = []) {
    this.#text = text;
    this.#parts = parts;
  }

  reveal(): string {
    return this.#text;
  }

  /** What came from the environment. The rest may be a word like any other, such as "production". */
  get parts(): readonly string[] {
    return this.#parts;
  }

  /**
   * All that must not be told: who was given it may repeat the whole, a part of it, or only what stands behind the name
   * of a scheme; and who prints it prints it line by line.
   */
  texts(): readonly string[] {
    const whole = [this.#text, ...this.#parts];
    const behind = whole.flatMap((text) => BEHIND_A_SCHEME.exec(text)?.slice(1) ?? []);
    return [...new Set([...whole, ...behind].flatMap((text) => [text, ...text.split(/[\r\n]+/)]))];
  }

  toString(): string {
    return "[secret]";
  }

  toJSON(): string {
    return "[secret]";
  }

  [inspect.custom](): string {
    return "[secret]";
  }
}
