// Packer
//
// The thread that has to do with many or large files, and is in nobody's way: it packs and unpacks archives, and looks what
// blobs there are. It knows nothing of the state, and decides nothing. It is started when there is something to do for it.

import { readdirSync, statSync } from "node:fs";
import { constants, setPriority } from "node:os";
import { join } from "node:path";
import { workerData, type MessagePort } from "node:worker_threads";
import { Fault, type FaultWords } from "../../base/fault.ts";
import { FOLDERS } from "./folders.ts";
import { packFile, unpackFile } from "./frames.ts";
import { packedPath, pathsIn, transcriptPath } from "./paths.ts";
import { keepForm } from "./recover.ts";
import type { Form, PackedFile } from "./tables.ts";
import { isMissing, isOfDisk, wordsOf } from "./trouble.ts";
import type { Notice } from "./wire.ts";

/** The files of an archive. */
interface Files {
  readonly agent: string;
  readonly files: readonly PackedFile[];
}

export interface Jobs {
  /** Answers how many bytes they have packed. */
  pack: { readonly ask: Files; readonly answer: number };
  unpack: { readonly ask: Files; readonly answer: null };
  /** Removes all but one form of them. */
  keep: { readonly ask: Files & { readonly form: Form }; readonly answer: readonly Notice[] };
  /** The files of one folder of blobs. */
  list: { readonly ask: { readonly folder: string }; readonly answer: readonly BlobFile[] };
  /** Bytes of all blobs. */
  weigh: { readonly ask: null; readonly answer: number };
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
      return message.ask.files
        .map(({ transcript, bytes }) => {
          const { agent } = message.ask;
          return packFile(
            transcriptPath(paths, agent, transcript),
            packedPath(paths, agent, transcript),
            bytes,
          );
        })
        .reduce((sum, bytes) => sum + bytes, 0);
    case "unpack":
      for (const { transcript, bytes } of message.ask.files) {
        const { agent } = message.ask;
        unpackFile(packedPath(paths, agent, transcript), transcriptPath(paths, agent, transcript), bytes);
      }
      return null;
    case "keep": {
      const { agent, files, form } = message.ask;
      const notices: Notice[] = [];
      for (const file of files) keepForm(paths, { ...file, agent }, form, (notice) => notices.push(notice));
      return notices;
    }
    case "list":
      return filesIn(message.ask.folder);
    case "weigh":
      return FOLDERS.flatMap(filesIn).reduce((sum, { bytes }) => sum + bytes, 0);
  }
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
