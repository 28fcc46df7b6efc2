/**
 * The first of many, by an order that the items bring along. It knows where each of them stands, so one that is aborted
 * or charged is taken out or moved from anywhere in O(log n), and not only the first.
 */
export class Heap<Item> {
  readonly #goesBefore: (one: Item, other: Item) => boolean;
  readonly #items: Item[] = [];
  readonly #places = new Map<Item, number>();

  constructor(goesBefore: (one: Item, other: Item) => boolean) {
    this.#goesBefore = goesBefore;
  }

  get size(): number {
    return this.#items.length;
  }

  /** Null: there is none. */
  first(): Item | null {
    return this.#items[0] ?? null;
  }

  add(item: Item): void {
    this.#put(item, this.#items.length);
    this.#rise(item);
  }

  /** Nothing happens when it is not there. */
  remove(item: Item): void {
    const place = this.#places.get(item);
    if (place === undefined) return;
    this.#places.delete(item);
    const last = this.#items.pop();
    if (last === undefined || last === item) return;
    this.#put(last, place);
    this.moved(last);
  }

  /** What the order goes by has changed for this one. */
  moved(item: Item): void {
    if (!this.#places.has(item)) return;
    this.#rise(item);
    this.#sink(item);
  }

  #rise(item: Item): void {
    let place = this.#places.get(item) ?? 0;
    while (place > 0) {
      const above = this.#items[(place - 1) >> 1];
      if (above === undefined || !this.#goesBefore(item, above)) break;
      this.#put(above, place);
      place = (place - 1) >> 1;
    }
    this.#put(item, place);
  }

  #sink(item: Item): void {
    let place = this.#places.get(item) ?? 0;
    for (;;) {
      const left = this.#items[2 * place + 1];
      const right = this.#items[2 * place + 2];
      if (left === undefined) break;
      const isRight = right !== undefined && this.#goesBefore(right, left);
      const below = isRight ? right : left;
      if (!this.#goesBefore(below, item)) break;
      this.#put(below, place);
      place = 2 * place + (isRight ? 2 : 1);
    }
    this.#put(item, place);
  }

  #put(item: Item, place: number): void {
    this.#items[place] = item;
    this.#places.set(item, place);
  }
}
