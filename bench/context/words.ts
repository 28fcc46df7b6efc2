// Text that looks like what agents read and write, from a seed: prose, code, paths, and what a run of tests prints. A
// number of bytes means something only of text whose words differ.

/** Dice that a seed throws the same on every machine: only whole numbers of 32 bits are used. */
export class Dice {
  #state: number;

  constructor(seed: number) {
    this.#state = seed | 0;
  }

  /** From 0, below 1. */
  next(): number {
    this.#state = (this.#state + 0x9e3779b9) | 0;
    let mixed = this.#state ^ (this.#state >>> 16);
    mixed = Math.imul(mixed, 0x21f0aaad);
    mixed ^= mixed >>> 15;
    mixed = Math.imul(mixed, 0x735a2d97);
    mixed ^= mixed >>> 15;
    return (mixed >>> 0) / 2 ** 32;
  }

  /** A whole number, both ends included. */
  between(least: number, most: number): number {
    return least + Math.floor(this.next() * (most - least + 1));
  }

  /** True so many times in a hundred. */
  percent(share: number): boolean {
    return this.next() * 100 < share;
  }

  one<T>(of: readonly T[]): T {
    const chosen = of[this.between(0, of.length - 1)];
    if (chosen === undefined) throw new Error("there is nothing to choose from");
    return chosen;
  }
}

const ONSETS = [
  "b",
  "br",
  "c",
  "cl",
  "d",
  "dr",
  "f",
  "g",
  "gr",
  "h",
  "l",
  "m",
  "n",
  "p",
  "pl",
  "r",
  "s",
  "st",
];
const VOWELS = ["a", "e", "i", "o", "u", "ea", "ou", "ai"];
const CODAS = ["", "", "n", "r", "l", "s", "t", "nd", "rt", "ck", "ng"];
const COMMON =
  "the a of to and in is it that for was on with as by at from this which are be not or has".split(" ");
const KINDS = ["string", "number", "boolean", "readonly string[]", "Map<string, number>", "Date", "Buffer"];
const FOLDERS = ["src/store", "src/routing", "src/parse", "src/view", "test/unit", "lib/shared", "docs"];
const WORDS = 1_200;

/** Words of one story: they come back, as the names in one project do. */
export class Words {
  readonly #dice: Dice;
  readonly #rare: readonly string[];
  readonly #paths: readonly string[];

  constructor(dice: Dice) {
    this.#dice = dice;
    const syllable = (): string => dice.one(ONSETS) + dice.one(VOWELS) + dice.one(CODAS);
    this.#rare = Array.from({ length: WORDS }, () =>
      Array.from({ length: dice.between(1, 3) }, syllable).join(""),
    );
    this.#paths = Array.from({ length: 60 }, () => `${dice.one(FOLDERS)}/${this.name()}.ts`);
  }

  word(): string {
    return this.#dice.percent(45) ? this.#dice.one(COMMON) : this.#dice.one(this.#rare);
  }

  /** Two words as one identifier. */
  name(): string {
    const second = this.#dice.one(this.#rare);
    return `${this.#dice.one(this.#rare)}${second.slice(0, 1).toUpperCase()}${second.slice(1)}`;
  }

  path(): string {
    return this.#dice.one(this.#paths);
  }

  address(): string {
    return `https://${this.#dice.one(this.#rare)}.example/${this.#dice.one(this.#rare)}/${this.#dice.between(1, 9_999)}`;
  }

  /** Signatures and hashes: nothing in them comes twice. */
  noise(chars: number): string {
    const digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    return Array.from({ length: chars }, () => digits.charAt(this.#dice.between(0, 63))).join("");
  }

  prose(bytes: number): string {
    return cut(bytes, () => {
      const words = Array.from({ length: this.#dice.between(6, 18) }, () => this.word()).join(" ");
      const end = this.#dice.percent(15) ? ".\n\n" : ". ";
      return words.slice(0, 1).toUpperCase() + words.slice(1) + end;
    });
  }

  code(bytes: number): string {
    let depth = 0;
    return cut(bytes, () => {
      const throwDepth = this.#dice.between(0, 9);
      if (throwDepth === 0 && depth > 0) depth -= 1;
      const line = `${"  ".repeat(depth)}${this.#statement()}\n`;
      if (throwDepth === 1 && depth < 4) depth += 1;
      return line;
    });
  }

  /** Of a run of tests: most of them pass. */
  report(bytes: number): string {
    return cut(bytes, () => {
      const title = Array.from({ length: this.#dice.between(3, 9) }, () => this.word()).join(" ");
      const time = `(${this.#dice.between(0, 900)}.${this.#dice.between(0, 99)}ms)`;
      if (this.#dice.percent(94)) return `✔ ${title} ${time}\n`;
      return `✖ ${title} ${time}\n    at ${this.name()} (${this.path()}:${this.#dice.between(1, 300)}:7)\n`;
    });
  }

  /** What a search in files prints. */
  hits(bytes: number): string {
    return cut(bytes, () => `${this.path()}:${this.#dice.between(1, 400)}: ${this.#statement()}\n`);
  }

  #statement(): string {
    const [first, second] = [this.name(), this.name()];
    switch (this.#dice.between(0, 6)) {
      case 0:
        return `export function ${first}(${second}: ${this.#dice.one(KINDS)}): ${this.#dice.one(KINDS)} {`;
      case 1:
        return `const ${first} = ${second}(${this.name()}, ${this.#dice.between(0, 4_096)});`;
      case 2:
        return `if (${first} === null) return ${second};`;
      case 3:
        return `// ${this.prose(this.#dice.between(30, 90)).replaceAll("\n", " ")}`;
      case 4:
        return `import { ${first}, ${second} } from "../${this.path()}";`;
      case 5:
        return `readonly ${first}: ${this.#dice.one(KINDS)};`;
      default:
        return `for (const ${first} of ${second}) ${this.name()}.push(${first});`;
    }
  }
}

/** Pieces until there are so many bytes; the last one is cut. All letters are ASCII, but for the marks of tests. */
function cut(bytes: number, piece: () => string): string {
  const pieces: string[] = [];
  for (let made = 0; made < bytes;) {
    const next = piece();
    pieces.push(next);
    made += Buffer.byteLength(next);
  }
  return Buffer.from(pieces.join(""))
    .subarray(0, bytes)
    .toString("latin1")
    .replaceAll(/[^\n -~]/g, "*");
}
