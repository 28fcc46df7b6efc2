// Names under chance: moves, new directories and syncs in any order, and a cut after each.

import assert from "node:assert/strict";
import { test } from "node:test";
import { SimulatedWorld } from "../../src/base/world.ts";
import { Names } from "./names.ts";
import type { NameOperation, Slot } from "./operation.ts";

const FILES = 6;
const NAMES = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j"];

/** A program that moves files and directories about, and never removes or replaces a file. */
class Mover {
  readonly names = new Names();
  readonly random: () => number;
  readonly #places = new Map<number, Slot>(); // of every inode
  readonly #directories = new Set([0]);
  #inodes = 1;
  #tick = 0;

  constructor(seed: number) {
    const world = new SimulatedWorld(seed);
    this.random = () => world.random();
    for (const name of NAMES.slice(0, FILES)) {
      this.names.found({ directory: 0, name }, this.#inodes, false);
      this.#places.set(this.#inodes, { directory: 0, name });
      this.#inodes += 1;
    }
  }

  step(): void {
    this.#tick += 1;
    const choice = this.random();
    if (choice < 0.15) this.names.sync(this.#pick([...this.#directories]), this.#tick);
    else if (choice < 0.3) this.#make("create");
    else if (choice < 0.5) this.#make("mkdir");
    else if (choice < 0.6) this.#removeDirectory();
    else this.#move();
  }

  syncAll(): void {
    for (const directory of this.#directories) this.names.sync(directory, this.#tick);
  }

  pathOf(inode: number): string {
    const place = this.#places.get(inode);
    assert.ok(place !== undefined);
    return place.directory === 0 ? place.name : `${this.pathOf(place.directory)}/${place.name}`;
  }

  #make(op: "create" | "mkdir"): void {
    const place = this.#free();
    if (place === null) return;
    this.#do({ op, inode: this.#inodes, at: place, path: "", begun: this.#tick, done: this.#tick });
    this.#places.set(this.#inodes, place);
    if (op === "mkdir") this.#directories.add(this.#inodes);
    this.#inodes += 1;
  }

  #move(): void {
    const inode = this.#pick([...this.#places.keys()]);
    const [from, to] = [this.#places.get(inode), this.#free()];
    if (from === undefined || to === null || this.#isBelow(to.directory, inode)) return;
    this.#do({
      op: "rename",
      inode,
      from,
      to,
      replaced: null,
      path: "",
      begun: this.#tick,
      done: this.#tick,
    });
    this.#places.set(inode, to);
  }

  #removeDirectory(): void {
    const inode = this.#pick([...this.#directories]);
    const place = this.#places.get(inode);
    if (place === undefined || [...this.#places.values()].some(({ directory }) => directory === inode))
      return;
    this.#do({ op: "rmdir", inode, at: place, path: "", begun: this.#tick, done: this.#tick });
    this.#places.delete(inode);
    this.#directories.delete(inode);
  }

  #do(operation: NameOperation): void {
    this.names.change(operation, this.#tick);
  }

  #free(): Slot | null {
    const slot = { directory: this.#pick([...this.#directories]), name: this.#pick(NAMES) };
    const taken = [...this.#places.values()].some(
      ({ directory, name }) => directory === slot.directory && name === slot.name,
    );
    return taken ? null : slot;
  }

  #isBelow(directory: number, inode: number): boolean {
    if (directory === inode) return true;
    const place = this.#places.get(directory);
    return place !== undefined && this.#isBelow(place.directory, inode);
  }

  #pick<T>(choices: readonly T[]): T {
    return choices[Math.floor(this.random() * choices.length)] as T;
  }
}

test("a file that was durable and only ever moved has exactly one name, whatever is lost", () => {
  for (let seed = 0; seed < 400; seed += 1) {
    const mover = new Mover(seed);
    for (let step = 0; step < 60; step += 1) {
      mover.step();
      const share = mover.random();
      const found = [...mover.names.after(() => mover.random() < share).values()].toSorted((a, b) => a - b);
      assert.deepEqual(
        found.filter((inode) => inode <= FILES),
        [1, 2, 3, 4, 5, 6],
        `seed ${seed}, step ${step}`,
      );
    }
  }
});

test("a file stays where it was when its directory, and all above, were synced", () => {
  for (let seed = 0; seed < 400; seed += 1) {
    const mover = new Mover(seed);
    for (let step = 0; step < 60; step += 1) mover.step();
    mover.syncAll();
    const lost = [...mover.names.after(() => false)];
    assert.deepEqual(lost.toSorted(), [...mover.names.after(() => true)].toSorted(), `seed ${seed}`);
    for (const [path, inode] of lost) assert.equal(path, mover.pathOf(inode), `seed ${seed}`);
  }
});
