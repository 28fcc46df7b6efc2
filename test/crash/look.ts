// What a home shows after a crash: recovered by opening it, then read from the files as a stranger would, and from
// the tables through the store.

import { readFileSync } from "node:fs";
import type { Log } from "../../src/base/log.ts";
import type { World } from "../../src/base/world.ts";
import type { SessionKey } from "../../src/routing/key.ts";
import type { Session } from "../../src/sessions/session.ts";
import { LocalStore } from "../../src/store/local/local.ts";
import { pathsIn, transcriptPath } from "../../src/store/local/paths.ts";

export interface SeenSession {
  readonly row: Session;
  /** The texts of its entries, from the file, in the order of the lines. */
  readonly texts: readonly string[];
  /** Ids of letters that its entries say they came in. */
  readonly mailIds: readonly string[];
  /** Hashes of blobs that its entries name and that could be read whole. */
  readonly blobs: ReadonlySet<string>;
  readonly waiting: readonly string[];
}

export interface Seen {
  readonly sessions: ReadonlyMap<SessionKey, SeenSession>;
  /** What is wrong whatever was attempted: a file that cannot be read, a row that disagrees with it. */
  readonly problems: readonly string[];
}

interface Line {
  readonly type: string;
  readonly id: string;
  readonly parentId: string | null;
  readonly seq: number;
  readonly mailId?: string;
  readonly message?: {
    readonly content: readonly {
      readonly text: string;
      readonly blob?: { readonly sha256: string; readonly bytes: number };
    }[];
  };
}

export async function look(home: string, parts: { world: World; log: Log }): Promise<Seen> {
  const problems: string[] = [];
  const sessions = new Map<SessionKey, SeenSession>();
  const store = await LocalStore.open(home, {
    ...parts,
    died: (fault) => problems.push(`the store died: ${fault.message}`),
  });
  try {
    for (let cursor: string | null = null, more = true; more;) {
      const page: { rows: readonly Session[]; next: string | null } = await store.sessions({
        cursor,
        limit: 500,
      });
      for (const row of page.rows) sessions.set(row.key, await lookAt(store, home, row, problems));
      cursor = page.next;
      more = cursor !== null;
    }
  } finally {
    await store.close();
  }
  return { sessions, problems };
}

async function lookAt(
  store: LocalStore,
  home: string,
  row: Session,
  problems: string[],
): Promise<SeenSession> {
  const path = transcriptPath(pathsIn(home), row.agent, row.transcript.id);
  const complain = (what: string): number => problems.push(`${row.key}: ${what}`);
  const text = readOr(path, () => complain("its file is missing"));
  if (!text.endsWith("\n")) complain("its file ends in the middle of a line");
  if (Buffer.byteLength(text) !== row.transcript.bytes)
    complain(`its file has ${Buffer.byteLength(text)} bytes, its row says ${row.transcript.bytes}`);
  const lines = text
    .split("\n")
    .slice(1, -1)
    .map((line, at) => parse(line, () => complain(`line ${at + 2} is not JSON`)));
  // What another reader of the format relies on: each line continues the one before it, and all are numbered.
  let parentId: string | null = null;
  for (const [at, line] of lines.entries()) {
    if (line.seq !== at + 1) complain(`line ${at + 2} has seq ${line.seq}`);
    if (line.parentId !== parentId) complain(`line ${at + 2} continues ${line.parentId}, not ${parentId}`);
    parentId = line.id;
  }
  if (new Set(lines.map((line) => line.id)).size !== lines.length) complain("two entries have the same id");
  if (row.transcript.lastSeq !== lines.length)
    complain(`its row says seq ${row.transcript.lastSeq}, its file has ${lines.length} entries`);
  const through: string[] = [];
  for await (const item of store.entries(row.transcript.id, { since: 1 }))
    through.push(item.type === "gap" ? "gap" : item.id);
  if (through.join() !== lines.map((line) => line.id).join())
    complain("the store reads other entries than the file has");
  const blobs = new Set<string>();
  for (const blob of lines.flatMap(
    (line) => line.message?.content.flatMap((block) => block.blob ?? []) ?? [],
  )) {
    const bytes = await store.readBlob(blob.sha256, { from: 0, bytes: blob.bytes + 1 });
    if (bytes?.length === blob.bytes) blobs.add(blob.sha256);
  }
  const waiting: string[] = [];
  for (let cursor: string | null = null, more = true; more;) {
    const page: { rows: readonly { id: string }[]; next: string | null } = await store.mail(row.key, {
      cursor,
      limit: 500,
    });
    waiting.push(...page.rows.map((mail) => mail.id));
    cursor = page.next;
    more = cursor !== null;
  }
  return {
    row,
    texts: lines.map((line) => line.message?.content[0]?.text ?? ""),
    mailIds: lines.flatMap((line) => line.mailId ?? []),
    blobs,
    waiting,
  };
}

function readOr(path: string, missing: () => void): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    missing();
    return "";
  }
}

function parse(line: string, bad: () => void): Line {
  try {
    return JSON.parse(line) as Line;
  } catch {
    bad();
    return { type: "", id: "", parentId: null, seq: 0 };
  }
}
