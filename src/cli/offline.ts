// The commands that work on a home without a daemon: fsck, rebuild, backup.
//
//   node src/cli/offline.ts fsck    [--home DIR] [--json]
//   node src/cli/offline.ts rebuild [--home DIR] [--json]
//   node src/cli/offline.ts backup  [--home DIR] [--json] --to DIR

import { homedir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { Fault, faultFrom } from "../base/fault.ts";
import { RealWorld } from "../base/world.ts";
import { isOfDisk, wordsOf } from "../store/local/trouble.ts";
import { backup } from "../upkeep/backup.ts";
import { fsck } from "../upkeep/fsck.ts";
import { rebuild } from "../upkeep/rebuild.ts";

interface Answer {
  /** One document for machines. */
  readonly json: unknown;
  /** The same for people. */
  readonly lines: readonly string[];
  readonly exit: number;
}

async function answer(command: string, home: string, to: string | undefined): Promise<Answer> {
  const nowMs = new RealWorld().nowMs();
  switch (command) {
    case "fsck": {
      const checked = await fsck(home, nowMs, progress("checked"));
      const damaged = checked.findings.filter((finding) => finding.grade === "damage").length;
      const verdict =
        damaged === 0 ? "rows, mail, journal, blobs and files agree" : many(damaged, "damaged place");
      const lines = checked.findings.map(({ grade, where, message }) => `${grade}  ${where}  ${message}`);
      return {
        json: checked,
        lines: [...lines, `${many(checked.sessions, "session")}: ${verdict}`],
        exit: damaged === 0 ? 0 : 1,
      };
    }
    case "rebuild": {
      const rebuilt = rebuild(home, nowMs, progress("read"));
      const kept = rebuilt.keptAs === null ? "" : `; the old state is ${rebuilt.keptAs}`;
      const lost = rebuilt.lost.map((what) => `not restored: ${what}`);
      return {
        json: rebuilt,
        lines: [...lost, `${many(rebuilt.sessions, "session")} restored from their transcripts${kept}`],
        exit: 0,
      };
    }
    case "backup": {
      if (to === undefined)
        throw new Fault("bad_input", "backup needs --to DIR, a directory that does not exist yet");
      const done = backup(home, to, progress("copied"));
      const skipped = done.skipped.map((key) => `deleted while the backup ran: ${key}`);
      const damaged = done.damaged.map((key) => `damaged in the home, and so in the copy (see fsck): ${key}`);
      return {
        json: done,
        lines: [
          ...skipped,
          ...damaged,
          `${many(done.sessions, "session")} and ${many(done.blobs, "blob")} copied to ${to}`,
        ],
        exit: damaged.length === 0 ? 0 : 1,
      };
    }
    default:
      throw new Fault(
        "bad_input",
        `no such command: ${JSON.stringify(command)}. There are fsck, rebuild and backup.`,
      );
  }
}

function many(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? "" : "s"}`;
}

/** Said every thousand, and only to a person. */
function progress(what: string): (done: number) => void {
  return (done) => {
    if (process.stderr.isTTY && done % 1_000 === 0) process.stderr.write(`\r${what} ${done} sessions`);
  };
}

const USAGE =
  "Usage: npm run fsck|rebuild|backup -- [--home DIR] [--json]; backup needs --to DIR. DIR is $SESSIOND_HOME or ~/.sessiond if you do not say.";

const OPTIONS = {
  home: { type: "string" },
  to: { type: "string" },
  json: { type: "boolean", default: false },
} as const;

try {
  const { values, positionals } = parseArgs({ options: OPTIONS, allowPositionals: true });
  // Most likely the path of a home: never go on with another one than was meant.
  if (positionals.length > 1)
    throw new Fault("bad_input", `${JSON.stringify(positionals[1])} is one word too many. ${USAGE}`);
  const home = values.home ?? process.env["SESSIOND_HOME"] ?? join(homedir(), ".sessiond");
  const { json, lines, exit } = await answer(positionals[0] ?? "", home, values.to);
  process.stdout.write(
    values.json ? `${JSON.stringify({ ok: true, result: json })}\n` : `${lines.join("\n")}\n`,
  );
  process.exitCode = exit;
} catch (error) {
  const asked = process.argv.includes("--json");
  const { code, message, exit } = asFault(error);
  if (asked) process.stdout.write(`${JSON.stringify({ ok: false, error: { code, message } })}\n`);
  else process.stderr.write(`sessiond: ${message}\n`);
  process.exitCode = exit;
}

/** What the arguments, the disk or the database said. Anything else is our bug, and is thrown as it is. */
function asFault(error: unknown): Fault {
  if (error instanceof Fault) return error;
  if (!(error instanceof Error)) throw error;
  const code = "code" in error ? String(error.code) : "";
  if (code.startsWith("ERR_PARSE_ARGS"))
    return new Fault("bad_input", `${error.message.split(".")[0]}. ${USAGE}`);
  if (!isOfDisk(error)) throw error;
  return faultFrom(wordsOf(error));
}
