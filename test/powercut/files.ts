// Files
//
// The files below the root as the traced program sees them, and the list of what was done to them.
//
//   Owns:      which name stands for which inode, how long each file is, the operations found so far.
//   Does not:  read strace's text (line.ts), know processes and descriptors (flight.ts), or lose anything (disk.ts).
//
// Invariants
//   F1. An inode is a number for life; names come and go.
//   F2. What cannot be told from the trace is an error, never a guess: an unknown file, a border crossed, two
//       calls at the same time whose order would matter.
//   F3. `-shm` files are in no directory here, and nothing is recorded of them.

import { assert } from "../../src/base/assert.ts";
import { Image } from "./image.ts";
import {
  isSharedMemory,
  type Effect,
  type Operation,
  type Recording,
  type Slot,
  type Tree,
} from "./operation.ts";

export interface Inode {
  readonly id: number;
  readonly entries: Map<string, Inode> | null; // null: a file
  size: number;
  home: { readonly parent: Inode; readonly name: string } | null; // its newest name; null: the root
}

/** A call that has begun. Whatever it does, it does at some time until it is done. */
export interface Span {
  readonly begun: number;
  readonly owner: object; // the same for all threads of a process
  readonly claims: Claim[];
  state: "open" | "succeeded" | "failed";
}

/** What a call in flight may touch: a range of a file, or a name (which has only the range 0 to 1). */
interface Claim {
  readonly key: Inode | string;
  readonly from: number;
  readonly to: number;
  readonly shared: boolean; // two shared claims get along: two opens that may create
  readonly rivals: Span[]; //  calls at the same time that do not get along with this
}

export class Files {
  readonly #root: string;
  readonly #given: string;
  readonly #initial: Tree;
  readonly #top: Inode = { id: 0, entries: new Map(), size: 0, home: null };
  readonly #flying = new Set<Span>();
  readonly #operations: Operation[] = [];
  #inodes = 1;
  #tick = 0;
  #doubt: { readonly owner: object; readonly what: string } | null = null;

  /** The root as its real path, without links in it, and as the program may have been told it. */
  constructor(root: { readonly real: string; readonly given: string }, initial: Tree) {
    this.#root = root.real;
    this.#given = root.given;
    this.#initial = initial;
    for (const [path, bytes] of initial) this.#put(this.slotOf(`${root.real}/${path}`), this.#born(bytes));
  }

  real(path: string): string {
    const inside = path === this.#given || path.startsWith(`${this.#given}/`);
    return inside ? this.#root + path.slice(this.#given.length) : path;
  }

  /** The next line of the trace. */
  tick(): number {
    this.#tick += 1;
    return this.#tick;
  }

  has(path: string): boolean {
    return path === this.#root || path.startsWith(`${this.#root}/`);
  }

  at(path: string): Inode | null {
    if (path === this.#root) return this.#top;
    let inode: Inode | undefined = this.#top;
    for (const name of path.slice(this.#root.length + 1).split("/")) inode = inode?.entries?.get(name);
    return inode ?? null;
  }

  slotOf(path: string): { readonly parent: Inode; readonly name: string } {
    const cut = path.lastIndexOf("/");
    const parent = this.has(path) && path !== this.#root ? this.at(path.slice(0, cut)) : null;
    assert(parent !== null && parent.entries !== null, `the directory of ${path} is known (F2)`);
    return { parent, name: path.slice(cut + 1) };
  }

  // Calls in flight

  begin(owner: object): Span {
    const span: Span = { begun: this.#tick, owner, claims: [], state: "open" };
    this.#flying.add(span);
    return span;
  }

  /** The call may touch this until it is done. Without a range, the whole file or the name. */
  claim(span: Span, key: Inode | string, range: { from: number; to: number } | "shared" | "whole"): void {
    const { from, to } = typeof range === "string" ? { from: 0, to: Number.POSITIVE_INFINITY } : range;
    const claim: Claim = { key, from, to, shared: range === "shared", rivals: [] };
    for (const other of this.#flying) {
      if (other === span) continue;
      for (const theirs of other.claims) {
        if (theirs.key !== key || theirs.to <= from || to <= theirs.from) continue;
        if (theirs.shared && claim.shared) continue;
        claim.rivals.push(other);
        theirs.rivals.push(span);
      }
    }
    span.claims.push(claim);
  }

  end(span: Span, succeeded: boolean): void {
    span.state = succeeded ? "succeeded" : "failed";
    this.#flying.delete(span);
    const rival = span.claims.find((claim) => claim.rivals.some((other) => other.state === "succeeded"));
    if (succeeded && rival !== undefined) {
      const key = typeof rival.key === "string" ? rival.key : this.pathOf(rival.key);
      throw new Error(
        `two calls changed ${key} at the same time, and the trace does not tell their order (F2)`,
      );
    }
  }

  /** True while a name may already have changed although its call has not returned. */
  get renaming(): boolean {
    return [...this.#flying].some((span) => span.claims.some((claim) => typeof claim.key === "string"));
  }

  /**
   * The process ended inside this call, so whether it took place is not known. That is no harm when nothing
   * comes after: an operation nobody synced may always be missing. Another process going on from there is.
   */
  doubt(span: Span, what: string): void {
    if (span.claims.length > 0) this.#doubt = { owner: span.owner, what };
  }

  // What was done

  emit(span: Span, effect: Effect, path: string): void {
    const { owner, begun } = span;
    if (this.#doubt !== null && this.#doubt.owner !== owner)
      throw new Error(`a process went on after another ended inside ${this.#doubt.what} (F2)`);
    this.#operations.push({ ...effect, path, begun, done: this.#tick });
  }

  create(span: Span, path: string, op: "create" | "mkdir"): Inode {
    const slot = this.slotOf(path);
    assert(!slot.parent.entries?.has(slot.name), `${path} is new (F2)`);
    const inode = this.#born(op === "mkdir" ? null : new Uint8Array());
    this.#put(slot, inode);
    this.emit(span, { op, inode: inode.id, at: record(slot) }, this.#below(path));
    return inode;
  }

  link(span: Span, inode: Inode, path: string): void {
    const slot = this.slotOf(path);
    this.#put(slot, inode);
    this.emit(span, { op: "link", inode: inode.id, at: record(slot) }, this.#below(path));
  }

  remove(span: Span, path: string, op: "unlink" | "rmdir"): void {
    const slot = this.slotOf(path);
    const inode = this.known(path);
    slot.parent.entries?.delete(slot.name);
    this.emit(span, { op, inode: inode.id, at: record(slot) }, this.#below(path));
  }

  rename(span: Span, from: string, to: string): void {
    const [old, slot, inode, there] = [this.slotOf(from), this.slotOf(to), this.known(from), this.at(to)];
    if (inode === there) return; // two names of one file: the call does nothing
    old.parent.entries?.delete(old.name);
    this.#put(slot, inode);
    const effect: Effect = {
      op: "rename",
      inode: inode.id,
      from: record(old),
      to: record(slot),
      replaced: there?.id ?? null,
    };
    this.emit(span, effect, `${this.#below(from)} -> ${this.#below(to)}`);
  }

  write(span: Span, inode: Inode, content: { readonly offset: number; readonly bytes: Uint8Array }): void {
    if (content.bytes.length === 0) return;
    inode.size = Math.max(inode.size, content.offset + content.bytes.length);
    this.emit(span, { op: "write", inode: inode.id, ...content }, this.pathOf(inode));
  }

  truncate(span: Span, inode: Inode, size: number): void {
    if (inode.size === size) return;
    inode.size = size;
    this.emit(span, { op: "truncate", inode: inode.id, size }, this.pathOf(inode));
  }

  /** The bytes of a file at this moment. Slow, and only needed where one file is copied to another. */
  contentOf(inode: Inode): Uint8Array {
    const image = new Image([...this.#initial.values()][inode.id - 1] ?? new Uint8Array());
    for (const operation of this.#operations) {
      if (operation.op === "write" && operation.inode === inode.id)
        image.write(operation.offset, operation.bytes);
      if (operation.op === "truncate" && operation.inode === inode.id) image.truncate(operation.size);
    }
    return image.view();
  }

  /**
   * The operations in the order a cut meets them. A write counts from its beginning: from there on some of it
   * may be on the disk, and a cut before its end must be able to show it. What the program said counts from its
   * beginning too, because a listener may have heard it by then. All else counts from its end: a sync has
   * promised nothing before it returns, and whether a name is new is known only then.
   */
  recording(): Recording {
    const early = new Set(["write", "truncate", "said"]);
    const when = (operation: Operation): number =>
      early.has(operation.op) ? operation.begun : operation.done;
    return { initial: this.#initial, operations: this.#operations.toSorted((a, b) => when(a) - when(b)) };
  }

  pathOf(inode: Inode): string {
    if (inode.home === null) return ".";
    const { parent, name } = inode.home;
    return parent === this.#top ? name : `${this.pathOf(parent)}/${name}`;
  }

  known(path: string): Inode {
    const inode = this.at(path);
    assert(inode !== null, `${path} is known (F2)`);
    return inode;
  }

  #born(content: Uint8Array | null): Inode {
    const entries = content === null ? new Map<string, Inode>() : null;
    const inode: Inode = { id: this.#inodes, entries, size: content?.length ?? 0, home: null };
    this.#inodes += 1;
    return inode;
  }

  #put(slot: { readonly parent: Inode; readonly name: string }, inode: Inode): void {
    assert(!isSharedMemory(slot.name), `${slot.name} is not recorded (F3)`);
    slot.parent.entries?.set(slot.name, inode);
    inode.home = slot;
  }

  #below(path: string): string {
    return path.slice(this.#root.length + 1);
  }
}

function record(slot: { readonly parent: Inode; readonly name: string }): Slot {
  return { directory: slot.parent.id, name: slot.name };
}
