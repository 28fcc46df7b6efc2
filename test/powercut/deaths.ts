// Deaths: moments at which to kill a life, each of which leaves recovery something else to do. Chance finds the more
// interesting ones too seldom, so they are looked for.

import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { Said } from "../crash/ledger.ts";
import { Disk } from "./disk.ts";
import type { Random } from "./loss.ts";
import type { Operation, Recording, Tree } from "./operation.ts";

type Phase = Extract<Said, { readonly now: string }>["now"];

interface Span {
  readonly from: number;
  readonly to: number;
}

/** Of the moments in checkpoints, so many are looked at. */
const LOOKS_MAX = 40;

const KINDS = ["older in b", "unsynced name", "quiet", "older in a", "any"] as const;

type Kind = (typeof KINDS)[number];

/**
 * One moment of each kind that there is, or of so many kinds, the most telling first. A session has older lines in the
 * one twin of the journal and newer ones in the other, and the other way round. A file that recovery will write to has a
 * name that was not synced. The journal is empty, and a change of the state is written and not synced. And any moment.
 */
export function deathsOf(life: Recording, folder: string, count: number, random: Random): number[] {
  const { operations } = life;
  const disk = new Disk(life);
  const found = new Map<Kind, number>([["any", Math.floor(random() * (operations.length + 1))]]);
  const quiet = within(operations, "quiet", "state.sqlite-wal").filter((at) => isCommit(operations, at));
  const unsynced = quiet[Math.floor(random() * quiet.length)];
  if (unsynced !== undefined) found.set("quiet", unsynced);
  const moments = within(operations, "checkpoint", ".jsonl").map((at) => at + 1);
  for (const at of evenly(moments, LOOKS_MAX))
    for (const kind of kindsOf(disk, at, folder)) if (!found.has(kind)) found.set(kind, at);
  return KINDS.flatMap((kind) => found.get(kind) ?? []).slice(0, count);
}

/** What is special about being killed there. */
function kindsOf(disk: Disk, at: number, folder: string): Kind[] {
  const [running, synced] = [disk.running(at), disk.synced(at)];
  const { older, transcripts } = journalIn(running, folder);
  const paths = transcripts.map((id) => [...running.keys()].find((path) => basename(path) === `${id}.jsonl`));
  const kinds: Kind[] = older.map((twin) => (twin === "a" ? "older in a" : "older in b"));
  // If recovery has to make one of the files, it syncs their directory for that, whatever it does about the others.
  const allThere = paths.every((path) => path !== undefined);
  if (allThere && paths.some((path) => !synced.has(path ?? ""))) kinds.push("unsynced name");
  return kinds;
}

/** Whose lines are in the journal, and which twin has the older ones of a session that has lines in both. */
function journalIn(tree: Tree, folder: string): { readonly older: string[]; readonly transcripts: string[] } {
  mkdirSync(folder);
  try {
    for (const [path, bytes] of tree)
      if (bytes !== null && basename(path).startsWith("state.sqlite"))
        writeFileSync(join(folder, basename(path)), bytes);
    const database = new DatabaseSync(join(folder, "state.sqlite"));
    const column = (sql: string): string[] =>
      database
        .prepare(sql)
        .all()
        .map(({ it }) => String(it));
    try {
      return {
        older: column(
          "SELECT DISTINCT iif(a.offset < b.offset, 'a', 'b') AS it FROM journal_a AS a JOIN journal_b AS b USING (session)",
        ),
        transcripts: column(
          "SELECT transcript AS it FROM sessions WHERE n IN (SELECT session FROM journal_a UNION SELECT session FROM journal_b)",
        ),
      };
    } finally {
      database.close();
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** A sync of the log comes after a commit, or after its header: then it begins anew, and there is nothing in it. */
function isCommit(operations: readonly Operation[], at: number): boolean {
  const log = operations[at]?.path;
  const last = operations.slice(0, at).findLast(({ op, path }) => op === "write" && path === log);
  return last?.op === "write" && last.offset > 0;
}

/** The syncs of such files while the workload was about that. */
function within(operations: readonly Operation[], phase: Phase, name: string): number[] {
  return spansOf(operations, phase).flatMap(({ from, to }) =>
    operations
      .slice(from, to)
      .flatMap(({ op, path }, at) => (op === "sync" && path.endsWith(name) ? from + at : [])),
  );
}

/** From the word that a phase begins to the next one. */
function spansOf(operations: readonly Operation[], phase: Phase): Span[] {
  const words = operations.flatMap((operation, at) => {
    const now =
      operation.op === "said" ? /"now":"(\w+)"/.exec(Buffer.from(operation.bytes).toString()) : null;
    return now ? [{ at, now: now[1] }] : [];
  });
  return words.flatMap(({ at, now }, index) =>
    now === phase ? [{ from: at, to: words[index + 1]?.at ?? operations.length }] : [],
  );
}

function evenly(numbers: readonly number[], count: number): number[] {
  const step = Math.max(1, numbers.length / count);
  return numbers.filter((_, at) => Math.floor(at / step) !== Math.floor((at - 1) / step));
}
