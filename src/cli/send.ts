// `send`: a message to a session. It is safe when the command returns; with --wait the answer is printed.

import { readFile } from "node:fs/promises";
import { basename } from "node:path";
import { text as streamText } from "node:stream/consumers";
import { Fault } from "../base/fault.ts";
import type { Input } from "../calls/door.ts";
import { OUTCOMES_HELP, waitAndTell, WAITING } from "./answer.ts";
import { SESSION, textOf, type Command, type Invocation } from "./command.ts";
import { keyOf } from "./key.ts";
import { fenced, json } from "./output.ts";

const MODES = ["steer", "followup", "collect", "interrupt"] as const;

export const send: Command = {
  name: "send",
  summary: "send a message to a session",
  arguments: [
    SESSION,
    { name: "text", about: "what to say; - reads it from standard input", required: false, variadic: true },
  ],
  options: [
    {
      flags: "-f, --file <file>",
      about: "a text or a picture that belongs to it",
      completes: "file",
      repeats: true,
    },
    { flags: "--mode <mode>", about: "what it does to a turn that runs", completes: MODES },
    { flags: "--id <id>", about: "your own id of this message: sent again, it is there once" },
    ...WAITING,
  ],
  more: `Examples:
  sessiond send main "compare the prices of A, B and C" --wait
  git diff | sessiond send main - --wait
  sessiond send budget-planning "what is on this receipt?" -f receipt.png --wait

${OUTCOMES_HELP}`,
  run,
};

async function run(invocation: Invocation): Promise<number> {
  const { args, options, client: find, screen, signal } = invocation;
  const [named = "", ...words] = args;
  const said = words.length === 1 && words[0] === "-" ? await streamText(process.stdin) : words.join(" ");
  const files = options["file"];
  const { message, images } = await withFiles(said, Array.isArray(files) ? files : []);
  if (message.trim() === "" && images.length === 0)
    throw new Fault("bad_input", "send: say something: a text, - for standard input, or --file");
  const client = await find();
  const sessionKey = await keyOf(client, named, signal);
  const [mode, id] = [textOf(options, "mode"), textOf(options, "id")];
  const input: Input<"send"> = {
    sessionKey,
    message,
    ...(images.length === 0 ? {} : { images: [...images] }),
    ...(mode === undefined ? {} : { mode: mode as (typeof MODES)[number] }),
    ...(id === undefined ? {} : { id }),
  };
  const sent = await client.call("send", input, signal);
  if (options["wait"] === true)
    return await waitAndTell(invocation, client, { sessionKey: sent.sessionKey, id: sent.id });
  if (screen.json) json(screen, sent);
  else {
    const again = sent.repeated ? " (it was there already)" : "";
    screen.out(
      `sent to ${sent.sessionKey}${again}. The answer: sessiond wait ${sent.sessionKey} ${sent.id}\n`,
    );
  }
  return 0;
}

type Image = NonNullable<Input<"send">["images"]>[number];

/** Texts are put below what is said, each under its name; pictures are attached. */
async function withFiles(
  said: string,
  paths: readonly string[],
): Promise<{ readonly message: string; readonly images: readonly Image[] }> {
  if (paths.length === 0) return { message: said, images: [] };
  const { pictureKind, PICTURE_BYTES_MAX } = await import("../tools/picture.ts");
  const images: Image[] = [];
  const texts = said === "" ? [] : [said];
  for (const path of paths) {
    const bytes = await bytesOf(path);
    const mimeType = pictureKind(bytes);
    if (mimeType === null) texts.push(`${basename(path)}:\n${fenced(textIn(path, bytes))}`);
    else if (bytes.length > PICTURE_BYTES_MAX)
      throw new Fault(
        "too_large",
        `${path} has ${bytes.length} bytes; a picture may have ${PICTURE_BYTES_MAX}`,
      );
    else images.push({ data: bytes.toString("base64"), mimeType });
  }
  return { message: texts.join("\n\n"), images };
}

async function bytesOf(path: string): Promise<Buffer> {
  try {
    return await readFile(path);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === undefined) throw error;
    throw new Fault(code === "ENOENT" ? "not_found" : "bad_input", `${path} cannot be read (${code})`, {
      cause: error,
    });
  }
}

function textIn(path: string, bytes: Buffer): string {
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    if (!text.includes("\0")) return text;
  } catch {
    // Said below, the same as for text with a NUL in it.
  }
  throw new Fault("bad_input", `${path} is neither UTF-8 text nor a picture (png, jpeg, gif, webp)`);
}
