// What is sent to a session. It has a history of its own, so of a conversation that a client sends whole only what comes after
// the last answer is new. A session that begins with this request has no history: it is told the rest in words.

import type { Input } from "../../calls/door.ts";
import { Refused, unsupported } from "./errors.ts";
import type { Item, Message, Part } from "./shapes.ts";

export type Said = Pick<Input<"send">, "message" | "images">;
type Image = NonNullable<Said["images"]>[number];

/** One message of the client, as text with its pictures. */
interface Line {
  readonly role: Message["role"];
  readonly text: string;
  readonly images: readonly Image[];
}

/** `param` is where the messages are in the request. `isFresh`: the session knows nothing yet. */
export function saidIn(
  messages: readonly Message[],
  { param, isFresh }: { readonly param: string; readonly isFresh: boolean },
): Said {
  const last = messages.findLastIndex(({ role }) => role === "assistant");
  const read = (from: number, through: number): readonly Line[] =>
    messages
      .slice(from, through)
      .map((message, at) => lineOf(message, `${param}.${from + at}.content`))
      .filter(({ text, images }) => text !== "" || images.length > 0);
  const lines = read(last + 1, messages.length);
  const result = lines.find(({ role }) => role === "tool" || role === "function");
  if (result)
    throw unsupported(param, "results of tools do not come from outside: an agent runs its tools itself");
  if (!lines.some(({ role }) => role === "user" || isInstruction(role)))
    throw new Refused(
      "bad_input",
      `${param}: after the last answer there is nothing new; end with a user's`,
      {
        param,
      },
    );
  const earlier = isFresh ? read(0, last + 1) : [];
  const images = [...earlier, ...lines].flatMap((line) => line.images);
  return { message: written(earlier, lines), ...(images.length > 0 ? { images } : {}) };
}

/** The items of an input as messages. What a client repeats of how an answer came about is not needed. */
export function messagesIn(input: string | readonly Item[], instructions: string | null): readonly Message[] {
  const items = typeof input === "string" ? [{ role: "user", content: input } as const] : input;
  const told: Message[] = items.flatMap((item, at) => {
    const { type = "message", role, content } = item as Item;
    if (type === "reasoning") return [];
    if (type === "message" && role !== undefined) return [{ role, content }];
    const where = `input.${at}`;
    throw unsupported(where, `an item is a message with a role here, not ${JSON.stringify(type)}`);
  });
  // Before what is new, and not before all: it is meant for this answer.
  const last = told.findLastIndex(({ role }) => role === "assistant") + 1;
  const given: Message[] = instructions === null ? [] : [{ role: "system", content: instructions }];
  return [...told.slice(0, last), ...given, ...told.slice(last)];
}

function isInstruction(role: Message["role"]): boolean {
  return role === "system" || role === "developer";
}

/** A single message of a user is sent as it is. Everything else says what it is. */
function written(earlier: readonly Line[], lines: readonly Line[]): string {
  const textOf = (of: readonly Line[]): string =>
    of
      .map(({ text }) => text)
      .filter((text) => text !== "")
      .join("\n\n");
  const instructions = textOf(lines.filter(({ role }) => isInstruction(role)));
  const message = textOf(lines.filter(({ role }) => !isInstruction(role)));
  const before = earlier.map(
    ({ role, text, images }) => `${role}: ${text}${"\n[a picture]".repeat(images.length)}`,
  );
  const parts = [
    ...(before.length > 0 ? [`[The conversation so far]\n${before.join("\n\n")}`] : []),
    ...(instructions === "" ? [] : [`[Instructions]\n${instructions}`]),
  ];
  if (parts.length === 0) return message;
  return [...parts, ...(message === "" ? [] : [`[The message]\n${message}`])].join("\n\n");
}

function lineOf({ role, content }: Message, param: string): Line {
  if (typeof content === "string") return { role, text: content, images: [] };
  const pieces = (content ?? []).map((part, at) => pieceOf(part, `${param}.${at}`));
  const texts = pieces.filter((piece) => typeof piece === "string");
  const images = pieces.filter((piece) => typeof piece !== "string");
  return { role, text: texts.join("\n"), images };
}

function pieceOf(part: Part, param: string): string | Image {
  switch (part.type) {
    case "text":
    case "input_text":
    case "output_text":
      return textAt(part["text"], `${param}.text`);
    case "refusal":
      return textAt(part["refusal"], `${param}.refusal`);
    case "image_url": {
      const { url } = (part["image_url"] ?? {}) as { readonly url?: unknown };
      return imageAt(url, `${param}.image_url.url`);
    }
    case "input_image":
      return imageAt(part["image_url"], `${param}.image_url`);
    default:
      throw unsupported(
        `${param}.type`,
        `${JSON.stringify(part.type.slice(0, 80))} is neither text nor image`,
      );
  }
}

function textAt(given: unknown, param: string): string {
  if (typeof given === "string") return given;
  throw new Refused("bad_input", `${param}: is a text`, { param });
}

/** How far the head of a data: URL is looked for. */
const HEAD_CHARS_MAX = 200;

function imageAt(url: unknown, param: string): Image {
  const head = typeof url === "string" ? url.slice(0, HEAD_CHARS_MAX) : "";
  const [whole, mimeType] = /^data:(image\/[\w.+-]+)(?:;[\w.+-]+=[\w.+-]+)*;base64,/i.exec(head) ?? [];
  if (whole === undefined || mimeType === undefined)
    throw new Refused(
      "bad_input",
      `${param}: is a data: URL with base64 (data:image/png;base64,…); nothing is fetched from elsewhere`,
      { param },
    );
  return { mimeType: mimeType.toLowerCase(), data: (url as string).slice(whole.length) };
}
