// Disk
//
// What may stand on a disk after the power went. Pure: a recording, a place in it and a random source give one
// directory tree, always the same.
//
//   Owns:      for every file what is durable, and what was done to it since.
//   Does not:  run or watch programs (trace.ts), choose a style of loss (loss.ts), keep names (names.ts).
//
// Invariants
//   D1. What a sync covered is there. A sync covers what was done before it began, once it has returned.
//   D2. Of the rest, every write and every truncation stays or goes by itself, whatever came before or after it.
//   D3. A sector of 512 bytes is old or new, never mixed, as far as one write goes. Bytes not written keep
//       what was there: a lost write never harms its neighbours in the sector.
//   D4. A file can have grown without the data (zeros), and the data never without the growth.
//   D5. Trees given away do not change when the disk moves on.
//
// This is stricter than any real file system, which keeps some order for free. A program that survives it does
// not depend on such favours. Not modelled: bytes that rot, disks that lie about a sync, syncs that fail,
// permissions and times.

import { assert } from "../../src/base/assert.ts";
import { Image } from "./image.ts";
import { chooseLoss, chooseSectors, type AtStake, type Fate, type Loss, type Random } from "./loss.ts";
import { Names } from "./names.ts";
import type { Operation, Recording, Tree } from "./operation.ts";

const SECTOR_BYTES = 512;

type Content = Extract<Operation, { op: "write" | "truncate" }>;

interface Stored {
  readonly durable: Image;
  unsynced: { readonly order: number; readonly content: Content }[];
}

export interface Cut {
  readonly at: number; //    operations that had begun when the power went
  readonly style: string; // how the rest was lost, for a report
  readonly tree: Tree;
}

export class Disk {
  readonly #recording: Recording;
  #files = new Map<number, Stored>();
  #names = new Names();
  #at = 0;

  constructor(recording: Recording) {
    this.#recording = recording;
    this.#rewind();
  }

  /** Cheap when cuts come in rising order: then only the operations in between are looked at. */
  cut(at: number, random: Random): Cut {
    this.#advance(at);
    const { style, ...loss } = chooseLoss(this.#stake(), random);
    return { at, style, tree: this.#treeAfter(loss, random) };
  }

  /** The tree as the running program sees it. */
  running(at: number): Tree {
    this.#advance(at);
    return this.#treeAfter({ keepsName: () => true, fateOf: () => "whole" }, () => 0);
  }

  /** What every cut leaves at least. */
  synced(at: number): Tree {
    this.#advance(at);
    return this.#treeAfter({ keepsName: () => false, fateOf: () => "dropped" }, () => 0);
  }

  /** Which inode each path of the running tree stands for. */
  inodes(at: number): ReadonlyMap<string, number> {
    this.#advance(at);
    return this.#names.after(() => true);
  }

  #rewind(): void {
    this.#files = new Map();
    this.#names = new Names();
    this.#at = 0;
    const directories = new Map([["", 0]]);
    for (const [index, [path, bytes]] of [...this.#recording.initial].entries()) {
      const inode = index + 1;
      const cut = path.lastIndexOf("/");
      const directory = directories.get(path.slice(0, Math.max(0, cut)));
      assert(directory !== undefined, `the tree names the directory of ${path} before it`);
      this.#names.found({ directory, name: path.slice(cut + 1) }, inode, bytes === null);
      if (bytes === null) directories.set(path, inode);
      else this.#files.set(inode, { durable: new Image(bytes), unsynced: [] });
    }
  }

  #advance(at: number): void {
    const { operations } = this.#recording;
    assert(at >= 0 && at <= operations.length, `there are ${operations.length} operations`);
    if (at < this.#at) this.#rewind();
    for (; this.#at < at; this.#at += 1) {
      const operation = operations[this.#at];
      if (operation !== undefined) this.#do(operation, this.#at);
    }
  }

  #do(operation: Operation, order: number): void {
    switch (operation.op) {
      case "said":
        return;
      case "write":
      case "truncate":
        this.#file(operation.inode).unsynced.push({ order, content: operation });
        return;
      case "sync":
        if (this.#names.isDirectory(operation.inode)) this.#names.sync(operation.inode, operation.begun);
        else this.#syncFile(this.#file(operation.inode), operation.begun);
        return;
      case "create":
        this.#files.set(operation.inode, { durable: new Image(new Uint8Array()), unsynced: [] });
        break;
      default:
    }
    this.#names.change(operation, order);
  }

  #syncFile(file: Stored, begun: number): void {
    const covered = file.unsynced.filter(({ content }) => content.done <= begun); // D1
    if (covered.length === 0) return;
    for (const { content } of covered) applyWhole(file.durable, content);
    file.unsynced = file.unsynced.filter(({ content }) => content.done > begun);
  }

  #file(inode: number): Stored {
    const file = this.#files.get(inode);
    assert(file !== undefined, `file ${inode} was created`);
    return file;
  }

  #stake(): AtStake {
    let lastWrite = -1;
    let oldest = this.#at;
    for (const { unsynced } of this.#files.values()) {
      oldest = Math.min(oldest, unsynced[0]?.order ?? oldest);
      lastWrite = Math.max(lastWrite, unsynced.at(-1)?.order ?? -1);
    }
    const names = this.#names.orders;
    oldest = Math.min(oldest, names[0] ?? oldest);
    return { oldest, newest: Math.max(lastWrite, names.at(-1) ?? -1, oldest), lastWrite };
  }

  #treeAfter(loss: Loss, random: Random): Tree {
    const tree = new Map<string, Uint8Array | null>();
    const contents = new Map<number, Uint8Array>(); // two names of one file show the same bytes
    for (const [path, inode] of this.#names.after(loss.keepsName)) {
      if (this.#names.isDirectory(inode)) {
        tree.set(path, null);
        continue;
      }
      const bytes = contents.get(inode) ?? contentAfter(this.#file(inode), inode, loss, random);
      contents.set(inode, bytes);
      tree.set(path, bytes);
    }
    return tree;
  }
}

function contentAfter(file: Stored, inode: number, loss: Loss, random: Random): Uint8Array {
  if (file.unsynced.length === 0) return file.durable.view();
  const image = file.durable.fork(); // D5
  for (const { order, content } of file.unsynced)
    applyPartly(image, content, loss.fateOf(order, inode), random);
  return image.view();
}

function applyWhole(image: Image, content: Content): void {
  if (content.op === "write") image.write(content.offset, content.bytes);
  else image.truncate(content.size);
}

function applyPartly(image: Image, content: Content, fate: Fate, random: Random): void {
  if (fate === "dropped") return;
  if (fate === "whole") return applyWhole(image, content);
  if (content.op === "truncate") {
    // A size is one number: there is no part of it that could be kept.
    if (fate === "torn" && random() < 0.5) applyWhole(image, content);
    return;
  }
  const { offset, bytes } = content;
  const end = offset + bytes.length;
  if (fate === "torn") {
    const first = Math.floor(offset / SECTOR_BYTES);
    const keeps = chooseSectors(Math.ceil(end / SECTOR_BYTES) - first, random);
    for (let from = offset, sector = 0; from < end; sector += 1) {
      const to = Math.min(end, (first + sector + 1) * SECTOR_BYTES);
      if (keeps(sector)) image.write(from, bytes.subarray(from - offset, to - offset)); // D3
      from = to;
    }
  }
  if (end > image.size && (fate === "hole" || random() < 0.5)) image.truncate(end); // D4
}
