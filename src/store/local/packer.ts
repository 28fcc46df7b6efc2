// Packer
//
// The thread that has to do with many or large files, and is in nobody's way: it packs and unpacks archives, and looks what
// blobs there are. It knows nothing of the state, and decides nothing. It is started when there is something to do for it.

import { readdirSync, statSync } from "node:fs";
import { constants, setPriority } from "node:os";
import { join } from "node:path";
import { workerData, type MessagePort } from "node:worker_threads";
import { Fault, type FaultWords } from "../../base/fault.ts";
import { syncNames, writePacked, writeUnpacked } from "./frames.ts";
import { goneOf } from "./intents.ts";
import { packedPath, pathsIn, transcriptPath } from "./paths.ts";
import { removeDurably } from "./removal.ts";
import type { Form, PackedFile } from "./tables.ts";
import { isMissing, isOfDisk, wordsOf } from "./trouble.ts";
import type { Notice } from "./wire.ts";

/** The files of an archive. */
interface Files {
  readonly agent: string;
  readonly files: readonly PackedFile[];
}

interface Many {
  readonly moves: readonly Files[];
}

export interface Jobs {
  /** Answers of each how many bytes its files have packed, or why they are not. */
  pack: { readonly ask: Many; readonly answer: readonly (number | FaultWords)[] };
  unpack: { readonly ask: Many; readonly answer: readonly (FaultWords | null)[] };
  /** Removes all but one form of each. */
  keep: {
    readonly ask: { readonly moves: readonly (Files & { readonly form: Form })[] };
    readonly answer: { readonly notices: readonly Notice[]; readonly left: readonly (FaultWords | null)[] };
  };
  /** The files of one folder of blobs. */
  list: { readonly ask: { readonly folder: string }; readonly answer: readonly BlobFile[] };
  /** Bytes of the blobs of one folder. */
  weigh: { readonly ask: { readonly folder: string }; readonly answer: number };
}

/** A file below blobs/: a blob, or one that was never finished. */
export interface BlobFile {
  readonly name: string;
  readonly bytes: number;
  readonly atMs: number; // when it was put
}

export type ToPacker = {
  readonly [What in keyof Jobs]: {
    readonly id: number;
    readonly what: What;
    readonly ask: Jobs[What]["ask"];
  };
}[keyof Jobs];

export interface FromPacker {
  readonly id: number;
  readonly answer: Jobs[keyof Jobs]["answer"] | FaultWords;
}

const { port, home } = workerData as { readonly port: MessagePort; readonly home: string };
const paths = pathsIn(home);

function answer(message: ToPacker): FromPacker["answer"] {
  switch (message.what) {
    case "pack":
      return made(message.ask, (agent, { transcript, bytes }) => {
        const path = packedPath(paths, agent, transcript);
        return { path, length: writePacked(transcriptPath(paths, agent, transcript), path, bytes) };
      });
    case "unpack":
      return made(message.ask, (agent, { transcript, bytes }) => {
        const path = transcriptPath(paths, agent, transcript);
        writeUnpacked(packedPath(paths, agent, transcript), path, bytes);
        return { path, length: 0 };
      }).map((each) => (typeof each === "number" ? null : each));
    case "keep":
      return keep(message.ask.moves);
    case "list":
      return filesIn(message.ask.folder);
    case "weigh":
      return filesIn(message.ask.folder).reduce((sum, { bytes }) => sum + bytes, 0);
  }
}

/** Of each how long its new files are together, or why it has none. What was made is durable when this returns. */
function made(
  { moves }: Many,
  make: (agent: string, file: PackedFile) => { readonly path: string; readonly length: number },
): (number | FaultWords)[] {
  const names: string[] = [];
  const lengths = moves.map(({ agent, files }) => {
    try {
      const all = files.map((file) => make(agent, file));
      names.push(...all.map(({ path }) => path));
      return all.reduce((sum, { length }) => sum + length, 0);
    } catch (error) {
      return refusal(error);
    }
  });
  syncNames(names);
  return lengths;
}

function keep(moves: Jobs["keep"]["ask"]["moves"]): Jobs["keep"]["answer"] {
  const notices: Notice[] = [];
  const gone = moves.map(({ agent, files, form }) =>
    files.flatMap((file) => goneOf(paths, { ...file, agent }, form, (notice) => notices.push(notice))),
  );
  const left = removeDurably(gone.flat());
  return {
    notices,
    left: gone.map((each) => {
      const path = each.find((one) => left.has(one));
      return path === undefined ? null : wordsOf(left.get(path));
    }),
  };
}

function filesIn(folder: string): BlobFile[] {
  const path = join(paths.blobs, folder);
  try {
    return readdirSync(path)
      .toSorted()
      .flatMap((name) => {
        const found = statSync(join(path, name), { throwIfNoEntry: false });
        return found?.isFile() ? [{ name, bytes: found.size, atMs: found.mtimeMs }] : []; // else it went just now
      });
  } catch (error) {
    if (isMissing(error)) return [];
    throw error;
  }
}

/** A refusal, or a disk that cannot be read or is full; anything else is our bug: the thread dies, and the process with it. */
function refusal(error: unknown): FaultWords {
  if (!(error instanceof Fault) && !isOfDisk(error)) throw error;
  return wordsOf(error);
}

// People come first; as in search.ts.
if (process.platform === "linux") setPriority(0, constants.priority.PRIORITY_LOW);

port.on("message", (message: ToPacker) => {
  let said: FromPacker["answer"];
  try {
    said = answer(message);
  } catch (error) {
    said = refusal(error);
  }
  port.postMessage({ id: message.id, answer: said } satisfies FromPacker);
});
