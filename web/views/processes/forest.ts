// Forest
//
// Sessions as a tree of lines: main sessions first, sub-agents below who spawned them. It knows nothing of a page.
//
//   Owns:      which lines there are, and their order.
//   Does not:  know where rows come from, or which of them are wanted (listing.ts).
//
// Invariants
//   F1. A row that changes stays where it is. Lines are made anew only when one comes in between, goes, or is folded.
//   F2. Who has ended before it was ever shown is folded away below its parent; who ends while it is shown stays, up to STAY_MAX.
//   F3. Children stand as they were born, the oldest first, in whichever order they came: as their cards do in a transcript.
//   F4. A row whose parent is not known is a root until it is; so is one that would be its own ancestor.

import { BAD_ENDS } from "../../../src/calls/words.ts";
import { Brood } from "./brood.ts";

export interface Leaf {
  readonly sessionKey: string;
  readonly parent: string | null;
  readonly kind: string;
  readonly state: string;
  readonly outcome: string | null; // null: it has not ended
  readonly bornAt: string; // ISO 8601, so that it sorts as it reads
}

/** A session, with what is below it. */
export interface Branch<Row extends Leaf> {
  readonly type: "row";
  readonly key: string;
  readonly row: Row;
  readonly depth: number;
  readonly at: number; //            its line, while it has one
  readonly isOpen: boolean;
  readonly isParent: boolean;
  readonly above: Branch<Row> | null; // null: a root, or its parent is not known
}

/** One line for all children of a session that have ended. */
export interface Fold<Row extends Leaf> {
  readonly type: "fold";
  readonly key: string;
  readonly of: Branch<Row>;
  readonly count: number;
  readonly failed: number; // of these
  readonly depth: number;
  readonly at: number;
  readonly isOpen: boolean;
}

export type Line<Row extends Leaf> = Branch<Row> | Fold<Row>;

/** Children of one parent that ended while somebody looked, and are not folded away: about a screen. */
const STAY_MAX = 20;

const FOLD = "ended below ";

export class Forest<Row extends Leaf> {
  readonly #nodes = new Map<string, Node<Row>>();
  readonly #mains = new Set<Node<Row>>();
  readonly #fresh = new Set<Node<Row>>(); //  roots that came while somebody looked: the last one is shown first
  readonly #listed = new Set<Node<Row>>(); // roots in the order in which they were listed
  readonly #orphans = new Map<string, Set<Node<Row>>>(); // by the parent that is not known
  readonly #counts = new Map<string, number>();
  readonly #foldsEnded: boolean;
  #came = 0;
  #lines: Line<Row>[] | null = [];

  /** Without folding, every row has a line: for who asked for just these. */
  constructor({ foldsEnded }: { readonly foldsEnded: boolean }) {
    this.#foldsEnded = foldsEnded;
  }

  get size(): number {
    return this.#nodes.size;
  }

  /** How many there are in a state. */
  count(state: string): number {
    return this.#counts.get(state) ?? 0;
  }

  branch(key: string): Branch<Row> | null {
    return this.#nodes.get(key) ?? null;
  }

  /** Where a line is, by its key; null: it has none. */
  at(key: string): number | null {
    const lines = this.lines();
    const node = this.#nodes.get(key);
    const line = node ?? this.#nodes.get(key.slice(FOLD.length))?.fold ?? null;
    return line !== null && lines[line.at] === line ? line.at : null;
  }

  /** Whether there is what this line is of, though it may be folded away. */
  has(key: string): boolean {
    return this.#nodes.has(key) || this.#nodes.has(key.slice(FOLD.length));
  }

  /** `where`: of a root that is new. What is listed comes after what was; what happens comes first. */
  put(row: Row, where: "top" | "end"): void {
    const had = this.#nodes.get(row.sessionKey);
    if (had !== undefined && had.row.parent === row.parent) return this.#update(had, row);
    if (had !== undefined) this.drop(row.sessionKey);
    this.#came += 1;
    const node = new Node(row, where === "top" ? this.#came : -this.#came);
    this.#nodes.set(node.key, node);
    this.#countState(row.state, 1);
    this.#stand(node, where === "top" ? this.#fresh : this.#listed);
    if (this.#lines !== null && this.#listed.has(node) && !this.#orphans.has(node.key)) {
      node.at = this.#lines.length; // After all others: page after page comes so, and nothing else moves.
      this.#lines.push(node);
      return;
    }
    for (const orphan of this.#orphans.get(node.key) ?? []) this.#adopt(node, orphan);
    this.#orphans.delete(node.key);
    this.#lines = null;
  }

  drop(key: string): void {
    const node = this.#nodes.get(key);
    if (node === undefined) return;
    this.#nodes.delete(key);
    this.#countState(node.row.state, -1);
    this.#leave(node);
    for (const child of node.isParent ? node.children.inOrder() : []) {
      child.above = null;
      this.#stand(child, this.#listed);
    }
    this.#lines = null;
  }

  /** Opens or closes a line. */
  open(key: string, isOpen: boolean): void {
    const line = this.#nodes.get(key) ?? this.#nodes.get(key.slice(FOLD.length))?.fold;
    if (line === undefined || line.isOpen === isOpen) return;
    line.isOpen = isOpen;
    this.#lines = null;
  }

  lines(): readonly Line<Row>[] {
    if (this.#lines !== null) return this.#lines;
    const lines: Line<Row>[] = [];
    for (const root of [...this.#mains].sort(byAgent)) this.#grow(lines, root, 0);
    for (const root of [...this.#fresh].reverse()) this.#grow(lines, root, 0);
    for (const root of this.#listed) this.#grow(lines, root, 0);
    this.#lines = lines;
    return lines;
  }

  #grow(lines: Line<Row>[], node: Node<Row>, depth: number): void {
    node.depth = depth;
    node.at = lines.length;
    lines.push(node);
    if (!node.isOpen || !node.isParent) return;
    const children = node.children.inOrder();
    node.settle();
    const folded: Node<Row>[] = [];
    for (const child of children)
      if (this.#isFolded(child)) folded.push(child);
      else this.#grow(lines, child, depth + 1);
    if (folded.length === 0) return;
    const { fold } = node;
    fold.count = folded.length;
    fold.failed = folded.filter(({ row }) => BAD_ENDS.has(row.outcome)).length;
    fold.depth = depth + 1;
    fold.at = lines.length;
    lines.push(fold);
    if (fold.isOpen) for (const child of folded) this.#grow(lines, child, depth + 2);
  }

  #isFolded(node: Node<Row>): boolean {
    return this.#foldsEnded && node.living === 0 && !node.stays;
  }

  #update(node: Node<Row>, row: Row): void {
    const { state: was, outcome } = node.row;
    node.row = row;
    if (was === row.state && outcome !== row.outcome) this.#lines = null; // It ended again: a fold says how many failed.
    if (was === row.state) return;
    this.#countState(was, -1);
    this.#countState(row.state, 1);
    const isLiving = row.state !== "ended";
    if (isLiving === (was !== "ended")) return;
    const before = node.living;
    const isCrowded = node.live(isLiving ? 1 : -1);
    if (before === 0 || isCrowded) this.#lines = null; // It comes out of the fold; or others go into it.
  }

  /** At its place: below its parent, or among the roots (F4). */
  #stand(node: Node<Row>, roots: Set<Node<Row>>): void {
    const { parent } = node.row;
    const above = parent === null ? undefined : this.#nodes.get(parent);
    if (above !== undefined && !above.isBelow(node)) return this.#below(above, node);
    (node.row.kind === "main" ? this.#mains : roots).add(node);
    if (parent === null || above !== undefined) return;
    const waiting = this.#orphans.get(parent) ?? new Set();
    this.#orphans.set(parent, waiting.add(node));
  }

  #adopt(above: Node<Row>, node: Node<Row>): void {
    if (above.isBelow(node)) return;
    for (const roots of [this.#mains, this.#fresh, this.#listed]) roots.delete(node);
    this.#below(above, node);
  }

  #below(above: Node<Row>, node: Node<Row>): void {
    above.children.add(node);
    node.above = above;
    if (node.stays) above.staying += 1;
    above.live(node.living);
  }

  #leave(node: Node<Row>): void {
    for (const roots of [this.#mains, this.#fresh, this.#listed]) roots.delete(node);
    const { parent } = node.row;
    if (parent !== null) this.#orphans.get(parent)?.delete(node);
    const { above } = node;
    if (above === null) return;
    above.children.delete(node);
    if (node.stays) above.staying -= 1;
    above.live(-node.living);
    node.above = null;
  }

  #countState(state: string, by: number): void {
    this.#counts.set(state, this.count(state) + by);
  }
}

class Node<Row extends Leaf> implements Branch<Row> {
  readonly type = "row";
  readonly key: string;
  row: Row;
  depth = 0;
  at = 0;
  isOpen = true;
  above: Node<Row> | null = null;
  /** F2. */
  stays = false;
  /** Of its children. */
  staying = 0;
  /** It and those below it that have not ended. */
  living: number;
  readonly rank: number; // of those that were born in the same moment: lists are newest first, changes are not
  #children: Brood<Node<Row>> | null = null; // null: most have none
  #fold: Folded<Row> | null = null;

  constructor(row: Row, rank: number) {
    this.rank = rank;
    this.key = row.sessionKey;
    this.row = row;
    this.living = row.state === "ended" ? 0 : 1;
  }

  get children(): Brood<Node<Row>> {
    return (this.#children ??= new Brood(byBirth));
  }

  get fold(): Folded<Row> {
    return (this.#fold ??= new Folded(this));
  }

  get isParent(): boolean {
    return this.#children !== null && this.#children.size > 0;
  }

  isBelow(other: Node<Row>): boolean {
    return this === other || this.above?.isBelow(other) === true;
  }

  /** Counted up to the root. Whatever ends by it is being looked at, or above something that is (F2). True: too many stay now. */
  live(by: number): boolean {
    if (by === 0) return false;
    this.living += by;
    this.#stay(this.living === 0);
    const isCrowded = (this.above?.staying ?? 0) > STAY_MAX;
    return this.above?.live(by) === true || isCrowded;
  }

  #stay(stays: boolean): void {
    if (this.stays === stays) return;
    this.stays = stays;
    if (this.above !== null) this.above.staying += stays ? 1 : -1;
  }

  /** The oldest go first. */
  settle(): void {
    if (this.staying <= STAY_MAX) return;
    for (const each of this.children.inOrder()) {
      each.#stay(false);
      if (this.staying <= STAY_MAX) return;
    }
  }
}

class Folded<Row extends Leaf> implements Fold<Row> {
  readonly type = "fold";
  readonly key: string;
  readonly of: Node<Row>;
  count = 0;
  failed = 0;
  depth = 0;
  at = 0;
  isOpen = false;

  constructor(of: Node<Row>) {
    this.key = `${FOLD}${of.key}`;
    this.of = of;
  }
}

function byBirth<Row extends Leaf>(one: Node<Row>, other: Node<Row>): number {
  if (one.row.bornAt !== other.row.bornAt) return one.row.bornAt < other.row.bornAt ? -1 : 1;
  return one.rank - other.rank;
}

/** The agent that everybody has comes first, the others by name. */
function byAgent<Row extends Leaf>({ row: one }: Node<Row>, { row: other }: Node<Row>): number {
  const rank = ({ sessionKey }: Leaf): number => (sessionKey === "agent:main:main" ? 0 : 1);
  return rank(one) - rank(other) || one.sessionKey.localeCompare(other.sessionKey);
}
