// A text that grows while a model speaks, in blocks. What is finished is not looked at again: a block ends at an empty line that is
// not in the middle of code. Put together they are the text.

export interface Grown {
  readonly blocks: readonly string[];
  readonly rest: string; // that still grows
}

export class Growing {
  #blocks: readonly string[] = [];
  #rest = "";

  get now(): Grown {
    return { blocks: this.#blocks, rest: this.#rest };
  }

  get isEmpty(): boolean {
    return this.#blocks.length === 0 && this.#rest === "";
  }

  add(text: string): void {
    this.#rest += text;
    const found: string[] = [];
    for (let end = endOf(this.#rest); end > 0; end = endOf(this.#rest)) {
      found.push(this.#rest.slice(0, end));
      this.#rest = this.#rest.slice(end);
    }
    if (found.length > 0) this.#blocks = [...this.#blocks, ...found];
  }
}

/** Where the first block ends; 0: it still grows. */
function endOf(text: string): number {
  const fence = /^ {0,3}(`{3,}|~{3,})/.exec(text)?.[1];
  if (fence !== undefined) return endOfCode(text, fence);
  const blank = text.search(/\n[ \t]*\n/);
  const code = text.search(/\n {0,3}(?:`{3,}|~{3,})/);
  if (code !== -1 && (blank === -1 || code < blank)) return code + 1;
  if (blank === -1) return 0;
  // Empty lines belong to what is before them: so nothing begins with one, and nothing is lost.
  const next = /\S/.exec(text.slice(blank));
  if (next === null) return 0;
  return text.lastIndexOf("\n", blank + next.index) + 1;
}

function endOfCode(text: string, fence: string): number {
  const closing = new RegExp(`\\n {0,3}${fence[0]}{${fence.length},}[ \\t]*(?=\\n)`).exec(text);
  if (closing === null) return 0;
  return closing.index + closing[0].length + 1;
}
