// Rows that name their parent, as a forest: trees with something going on first, and lines that show who is whose child.

export interface Leaf {
  readonly sessionKey: string;
  readonly parent: string | null;
  readonly state: string;
  readonly updatedAt: string;
}

export interface Branch<Row extends Leaf> {
  readonly row: Row;
  readonly stem: string; // "" for a root; else lines such as "│  ├─ "
  readonly name: string; // a root's whole key; of a child what tells it from its siblings
}

/** Characters of an id that are shown at least. More, where two that are shown begin alike. */
const ID_CHARS = 4;

const ACTIVE: ReadonlySet<string> = new Set(["running", "queued", "waiting"]);

/** A row whose parent is not among the rows is a root here. */
export function forest<Row extends Leaf>(rows: readonly Row[]): readonly Branch<Row>[] {
  const known = new Set(rows.map(({ sessionKey }) => sessionKey));
  const children = new Map<string | null, Row[]>();
  for (const row of rows) {
    const parent =
      row.parent !== null && known.has(row.parent) && row.parent !== row.sessionKey ? row.parent : null;
    children.set(parent, [...(children.get(parent) ?? []), row]);
  }
  const active = activeIn(rows);
  const first = (one: Row, other: Row): number =>
    Number(active.has(other.sessionKey)) - Number(active.has(one.sessionKey)) ||
    other.updatedAt.localeCompare(one.updatedAt) ||
    one.sessionKey.localeCompare(other.sessionKey);
  const chars = idChars(rows);
  const grown: Branch<Row>[] = [];
  const grow = (row: Row, stem: string, below: string): void => {
    grown.push({ row, stem, name: stem === "" ? row.sessionKey : nameBelow(row.sessionKey, chars) });
    const own = (children.get(row.sessionKey) ?? []).sort(first);
    for (const [at, child] of own.entries()) {
      const isLast = at === own.length - 1;
      grow(child, `${below}${isLast ? "└─ " : "├─ "}`, `${below}${isLast ? "   " : "│  "}`);
    }
  };
  for (const root of (children.get(null) ?? []).sort(first)) grow(root, "", "");
  return grown;
}

/** Those that do something, and all above them. */
function activeIn(rows: readonly Leaf[]): ReadonlySet<string> {
  const parents = new Map(rows.map(({ sessionKey, parent }) => [sessionKey, parent]));
  const active = new Set<string>();
  for (const { sessionKey, state } of rows) {
    if (!ACTIVE.has(state)) continue;
    for (
      let key: string | null = sessionKey;
      key !== null && !active.has(key);
      key = parents.get(key) ?? null
    )
      active.add(key);
  }
  return active;
}

/** The last two parts; of a sub-agent's id, its beginning: `sub:7f3a` finds it again. */
function nameBelow(key: string, chars: number): string {
  const [kind = "", id = ""] = key.split(":").slice(-2);
  return kind === "subagent" ? `${kind}:${id.slice(0, chars)}` : `${kind}:${id}`;
}

/** How much of the ids of sub-agents is needed to tell those that are shown from each other. */
function idChars(rows: readonly Leaf[]): number {
  const ids = [
    ...new Set(rows.flatMap(({ sessionKey }) => /:subagent:([^:]+)$/.exec(sessionKey)?.[1] ?? [])),
  ].sort();
  let chars = ID_CHARS;
  for (const [at, id] of ids.entries()) {
    const next = ids[at + 1] ?? "";
    let same = 0;
    while (same < id.length && id[same] === next[same]) same += 1;
    chars = Math.max(chars, Math.min(same + 1, id.length));
  }
  return chars;
}
