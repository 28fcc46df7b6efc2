// The commands that work on a home without a daemon: fsck, rebuild, backup.

import { Fault, faultFrom } from "../base/fault.ts";
import { RealWorld } from "../base/world.ts";
import { textOf, type Command, type Invocation } from "./command.ts";
import { clean, json, many } from "./output.ts";

interface Answer {
  /** One document for machines. */
  readonly json: unknown;
  /** The same for people. */
  readonly lines: readonly string[];
  readonly exit: number;
}

export const fsck = offline({
  name: "fsck",
  summary: "check a home: rows, mail, journal, blobs and files",
  more: "Exit codes: 0 sound, 1 damaged.",
  answer: async ({ home }) => {
    const { fsck: check } = await import("../upkeep/fsck.ts");
    const checked = await check(home, new RealWorld().nowMs(), progress("checked"));
    const damaged = checked.findings.filter((finding) => finding.grade === "damage").length;
    const verdict =
      damaged === 0 ? "rows, mail, journal, blobs and files agree" : many(damaged, "damaged place");
    const lines = checked.findings.map(({ grade, where, message }) => `${grade}  ${where}  ${message}`);
    return {
      json: checked,
      lines: [...lines, `${many(checked.sessions, "session")}: ${verdict}`],
      exit: damaged === 0 ? 0 : 1,
    };
  },
});

export const rebuild = offline({
  name: "rebuild",
  summary: "make the index of a home anew from its transcripts",
  answer: async ({ home }) => {
    const { rebuild: remake } = await import("../upkeep/rebuild.ts");
    const rebuilt = remake(home, new RealWorld().nowMs(), progress("read"));
    const kept = rebuilt.keptAs === null ? "" : `; the old state is ${rebuilt.keptAs}`;
    const lost = rebuilt.lost.map((what) => `not restored: ${what}`);
    return {
      json: rebuilt,
      lines: [...lost, `${many(rebuilt.sessions, "session")} restored from their transcripts${kept}`],
      exit: 0,
    };
  },
});

export const backup = offline({
  name: "backup",
  summary: "copy a home, also while it is in use",
  options: [{ flags: "--to <dir>", about: "a directory that does not exist yet", completes: "folder" }],
  more: "Exit codes: 0 whole, 1 made, but something is damaged in the home.",
  answer: async ({ home, options }) => {
    const to = textOf(options, "to");
    if (to === undefined)
      throw new Fault("bad_input", "backup needs --to DIR, a directory that does not exist yet");
    const { backup: copy } = await import("../upkeep/backup.ts");
    const done = copy(home, to, progress("copied"));
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
  },
});

interface Offline extends Pick<Command, "name" | "summary" | "more"> {
  readonly options?: Command["options"];
  readonly answer: (invocation: Invocation) => Promise<Answer>;
}

function offline({ answer, options = [], ...rest }: Offline): Command {
  const run = async (invocation: Invocation): Promise<number> => {
    const { screen } = invocation;
    const { json: result, lines, exit } = await answer(invocation).catch(ofDisk);
    if (screen.json) json(screen, result);
    else screen.out(`${lines.map(clean).join("\n")}\n`);
    return exit;
  };
  return { ...rest, arguments: [], options, run };
}

/** What the disk or the database said. Anything else is our bug, and is thrown as it is. */
async function ofDisk(error: unknown): Promise<never> {
  const { isOfDisk, wordsOf } = await import("../store/local/trouble.ts");
  throw !(error instanceof Fault) && isOfDisk(error) ? faultFrom(wordsOf(error)) : error;
}

/** Said every thousand, and only to a person. */
function progress(what: string): (done: number) => void {
  return (done) => {
    if (process.stderr.isTTY && done % 1_000 === 0) process.stderr.write(`\r${what} ${done} sessions`);
  };
}
