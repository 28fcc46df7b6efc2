/** The bytes of one file. Copying is put off until one of the two that share them changes (see fork). */
export class Image {
  #bytes: Uint8Array; // beyond #size there are only zeros, so that growing shows a hole
  #size: number;
  #shared: boolean;

  /** The bytes given are never changed. */
  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
    this.#size = bytes.length;
    this.#shared = true;
  }

  get size(): number {
    return this.#size;
  }

  /** The same content; either may change without the other seeing it. */
  fork(): Image {
    return new Image(this.view());
  }

  /** The content as it is now, also later. */
  view(): Uint8Array {
    this.#shared = true;
    return this.#bytes.subarray(0, this.#size);
  }

  write(offset: number, bytes: Uint8Array): void {
    this.#own(offset + bytes.length);
    this.#bytes.set(bytes, offset);
    this.#size = Math.max(this.#size, offset + bytes.length);
  }

  /** A larger size than before adds zeros. */
  truncate(size: number): void {
    this.#own(size);
    if (size < this.#size) this.#bytes.fill(0, size, this.#size);
    this.#size = size;
  }

  #own(size: number): void {
    if (!this.#shared && size <= this.#bytes.length) return;
    // Doubling keeps a file that grows by small writes from being copied at each of them.
    const room = size <= this.#bytes.length ? this.#bytes.length : Math.max(size, 2 * this.#size);
    const bytes = new Uint8Array(room);
    bytes.set(this.#bytes.subarray(0, this.#size));
    this.#bytes = bytes;
    this.#shared = false;
  }
}
