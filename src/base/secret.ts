import { inspect } from "node:util";

/**
 * A text that must reach one place only, such as the key of a provider. Logged, shown, or written as JSON by mistake, it
 * says that it is one and not what it is: only reveal() does.
 */
export class Secret {
  readonly #text: string;

  constructor(text: string) {
    this.#text = text;
  }

  reveal(): string {
    return this.#text;
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
