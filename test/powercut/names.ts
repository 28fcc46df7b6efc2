// Names
//
// Which name stands for which inode on the disk, and which changes of names may still be lost.
//
//   Owns:      the durable entries of every directory, and the changes not yet durable.
//   Does not:  know what is in a file (disk.ts), or choose what is lost (loss.ts).
//
// Invariants
//   N1. A change is durable after an fsync of its directory; an fsync of the file does nothing for its name. A
//       rename between directories belongs to the one that gets the name: a sync of the other is not enough.
//   N2. A rename happens whole or not at all. Where dropping or keeping another change alone would give a file both
//       names or neither, the two go together (`with`), or one waits for the other (`needs`).
//   N3. Directories are known by inode, so what is synced in a directory that was itself lost is gone with it.
//   N4. Of two changes of one name the later one wins, in whatever order they become durable.

import { assert } from "../../src/base/assert.ts";
import type { NameOperation, Slot } from "./operation.ts";

interface Entry {
  readonly inode: number | null; // null: no such name
  readonly order: number; //       of the change that said so (N4)
}

type Entries = ReadonlyMap<number, Map<string, Entry>>;

interface Change {
  readonly order: number; // its place among the operations
  readonly done: number;
  readonly operation: NameOperation;
  readonly sets: readonly { readonly slot: Slot; readonly inode: number | null }[];
  readonly with: readonly Change[]; //  older ones that are durable or kept when this is
  readonly needs: readonly Change[]; // older ones this cannot be kept without, and waits for
  synced: boolean;
  durable: boolean;
}

export class Names {
  readonly #entries = new Map<number, Map<string, Entry>>([[0, new Map()]]);
  readonly #homes = new Map<number, Slot>(); //    where each directory stands now
  readonly #latest = new Map<string, Change>(); // the last change of each name
  readonly #left = new Map<string, Change>(); //   the last rename that took a file away from a name
  #pending: Change[] = [];

  /** A name from before the recording: durable. */
  found(slot: Slot, inode: number, isDirectory: boolean): void {
    if (isDirectory) this.#settle(inode, slot);
    this.#entries.get(slot.directory)?.set(slot.name, { inode, order: -1 });
  }

  change(operation: NameOperation, order: number): void {
    const { inode } = operation;
    const sets =
      operation.op === "rename"
        ? [
            { slot: operation.from, inode: null },
            { slot: operation.to, inode },
          ]
        : [{ slot: operation.at, inode: isRemoval(operation) ? null : inode }];
    const slots = sets.map(({ slot }) => slot);
    const links = { with: this.#companions(operation, slots), needs: this.#conditions(operation) };
    const change = { order, done: operation.done, operation, sets, ...links, synced: false, durable: false };
    for (const slot of slots) this.#latest.set(keyOf(slot), change);
    if (operation.op === "rename") this.#left.set(keyOf(operation.from), change);
    if (operation.op === "mkdir") this.#settle(inode, operation.at);
    if (operation.op === "rename" && this.#homes.has(inode)) this.#homes.set(inode, operation.to);
    this.#pending.push(change);
  }

  /** An fsync of a directory: good for the changes that were done when it began. */
  sync(directory: number, begun: number): void {
    for (const change of this.#pending)
      if (targetOf(change.operation).directory === directory && change.done <= begun) change.synced = true;
    // One that becomes durable can be what another, synced long ago, was waiting for.
    for (let before = -1; before !== this.#pending.length;) {
      before = this.#pending.length;
      for (const change of this.#pending)
        if (change.synced && change.needs.every((need) => need.durable)) this.#makeDurable(change);
      this.#pending = this.#pending.filter((change) => !change.durable);
    }
  }

  isDirectory(inode: number): boolean {
    return this.#entries.has(inode);
  }

  /** The places, among the operations, of the changes that may be lost. */
  get orders(): readonly number[] {
    return this.#pending.map((change) => change.order);
  }

  /** Paths as they stand when of the pending changes those are kept that `keeps` says, and what they cannot be without. */
  after(keeps: (order: number) => boolean): ReadonlyMap<string, number> {
    const kept = new Set(this.#pending.filter((change) => keeps(change.order)));
    for (const change of this.#pending.toReversed())
      if (kept.has(change)) for (const older of [...change.with, ...change.needs]) kept.add(older);

    const entries = new Map(this.#entries);
    const own = new Set<number>(); // directories of which this is already a copy
    for (const change of this.#pending) {
      if (!kept.has(change)) continue;
      for (const { slot } of change.sets) {
        if (!own.has(slot.directory)) entries.set(slot.directory, new Map(entries.get(slot.directory)));
        own.add(slot.directory);
      }
      apply(entries, change);
    }
    const paths = new Map<string, number>();
    this.#walk(entries, 0, "", paths);
    return paths;
  }

  #walk(entries: Entries, directory: number, below: string, paths: Map<string, number>): void {
    for (const [name, { inode }] of entries.get(directory) ?? []) {
      if (inode === null) continue;
      const path = below + name;
      paths.set(path, inode);
      assert(paths.size < 10_000_000, "no directory stands inside itself");
      if (this.isDirectory(inode)) this.#walk(entries, inode, `${path}/`, paths);
    }
  }

  #settle(directory: number, home: Slot): void {
    this.#entries.set(directory, new Map());
    this.#homes.set(directory, home);
  }

  #makeDurable(change: Change): void {
    if (change.durable) return;
    change.durable = true;
    for (const older of [...change.with, ...change.needs]) this.#makeDurable(older);
    apply(this.#entries, change);
  }

  /**
   * What must not be lost when this is kept (N2). One change brought the file to the name it now leaves: without
   * it the file would also keep the name before. Renames took a file away from a name this one changes: without
   * them that file would have no name at all.
   */
  #companions(operation: NameOperation, slots: readonly Slot[]): Change[] {
    const found = slots.map((slot) => this.#left.get(keyOf(slot)));
    const brought = operation.op === "rename" ? this.#latest.get(keyOf(operation.from)) : undefined;
    if (brought?.operation.inode === operation.inode) found.push(brought);
    return found.filter((change) => change !== undefined && !change.durable) as Change[];
  }

  /**
   * What a rename waits for: that the directory it goes to is there, and every one above it. Otherwise the file would
   * be neither here nor there. And a directory is not gone before the files that were moved out of it arrived.
   */
  #conditions(operation: NameOperation): Change[] {
    const needs: Change[] = [];
    if (operation.op === "rename") {
      let home = this.#homes.get(operation.to.directory);
      for (; home !== undefined; home = this.#homes.get(home.directory)) {
        const change = this.#latest.get(keyOf(home));
        if (change !== undefined && !change.durable) needs.push(change);
      }
    }
    const gone =
      operation.op === "rename" ? operation.replaced : isRemoval(operation) ? operation.inode : null;
    if (gone !== null && this.isDirectory(gone)) needs.push(...this.#departures(gone));
    return needs;
  }

  /** Renames out of a directory, and out of those that were removed from it. */
  #departures(directory: number): Change[] {
    return this.#pending.flatMap((change) => {
      const { operation } = change;
      if (operation.op === "rename")
        return operation.from.directory === directory && operation.to.directory !== directory ? change : [];
      return operation.op === "rmdir" && operation.at.directory === directory ? change.needs : [];
    });
  }
}

function apply(entries: Entries, change: Change): void {
  for (const { slot, inode } of change.sets) {
    const directory = entries.get(slot.directory);
    const order = directory?.get(slot.name)?.order ?? -1;
    if (change.order > order) directory?.set(slot.name, { inode, order: change.order }); // N4
  }
}

function isRemoval({ op }: NameOperation): boolean {
  return op === "unlink" || op === "rmdir";
}

function targetOf(operation: NameOperation): Slot {
  return operation.op === "rename" ? operation.to : operation.at;
}

function keyOf(slot: Slot): string {
  return `${slot.directory}/${slot.name}`;
}
