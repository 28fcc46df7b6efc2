// The end of a terminal that changes: what stands below the last line that is written for good. It is erased and drawn again,
// so nothing in it may be wider than the terminal or hold a line end. What scrolled away is the terminal's.

import { widthOf } from "../output.ts";

export interface Drawn {
  readonly rows: readonly { readonly text: string; readonly width: number }[];
  readonly row: number; //    where the cursor is left
  readonly column: number;
}

const NOTHING: Drawn = { rows: [], row: 0, column: 0 };

/** A row with its width: colours take no room. */
export function plainRow(text: string): Drawn["rows"][number] {
  return { text, width: widthOf(text) };
}

export class Area {
  readonly #write: (text: string) => void;
  readonly #columns: () => number;
  #drawn: Drawn = NOTHING;

  constructor(write: (text: string) => void, columns: () => number) {
    this.#write = write;
    this.#columns = columns;
  }

  /** `above` is written for good, and `below` in place of what was there. One write, so that nothing flickers. */
  draw(above: readonly string[], below: Drawn): void {
    const lines = above.map((line) => `${line}\r\n`).join("");
    const up = below.rows.length - 1 - below.row;
    const back = `${up > 0 ? `\x1b[${up}A` : ""}\r${below.column > 0 ? `\x1b[${below.column}C` : ""}`;
    const rows = below.rows.map(({ text }) => text).join("\r\n");
    this.#write(`\x1b[?25l${this.#erasing()}${lines}${rows}${back}\x1b[?25h`);
    this.#drawn = below;
  }

  /** Leaves nothing behind. */
  clear(): void {
    this.#write(this.#erasing());
    this.#drawn = NOTHING;
  }

  /** A terminal that became narrower has broken rows into several. */
  #erasing(): string {
    const columns = Math.max(1, this.#columns());
    const above = this.#drawn.rows
      .slice(0, this.#drawn.row)
      .reduce((sum, { width }) => sum + Math.max(1, Math.ceil(width / columns)), 0);
    const up = above + Math.floor(this.#drawn.column / columns);
    return `\r${up > 0 ? `\x1b[${up}A` : ""}\x1b[0J`;
  }
}
