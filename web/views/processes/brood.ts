// What is below one parent, in an order: a set that many come into, page by page, and are gone through in that order.

export class Brood<Of> {
  readonly #all = new Set<Of>();
  readonly #order: (one: Of, other: Of) => number;
  #sorted: Of[] = [];
  #come: Of[] = []; //   that are not sorted in yet
  #hasLost = false; //   some that are sorted in are not there any more

  constructor(order: (one: Of, other: Of) => number) {
    this.#order = order;
  }

  get size(): number {
    return this.#all.size;
  }

  add(one: Of): void {
    this.#all.add(one);
    this.#come.push(one);
  }

  /** Who is gone stays gone: the same one is not added again. */
  delete(one: Of): void {
    this.#hasLost = this.#all.delete(one) || this.#hasLost;
  }

  /** What came since is sorted, and put before the others or behind them: a page of a hundred thousand does not sort them all. */
  inOrder(): readonly Of[] {
    if (this.#hasLost) {
      this.#sorted = this.#sorted.filter((each) => this.#all.has(each));
      this.#come = this.#come.filter((each) => this.#all.has(each));
      this.#hasLost = false;
    }
    if (this.#come.length === 0) return this.#sorted;
    this.#sorted = this.#merged(this.#sorted, this.#come.sort(this.#order));
    this.#come = [];
    return this.#sorted;
  }

  #merged(sorted: Of[], come: Of[]): Of[] {
    const [first, last, oldest, newest] = [come[0], come.at(-1), sorted[0], sorted.at(-1)];
    if (first === undefined || last === undefined) return sorted;
    if (oldest === undefined || newest === undefined) return come;
    if (this.#order(newest, first) < 0) return sorted.concat(come);
    return this.#order(last, oldest) < 0 ? come.concat(sorted) : sorted.concat(come).sort(this.#order);
  }
}
