import type { Block } from "../../transcript/entry.ts";
import { pictureKind } from "../picture.ts";
import type { Result } from "../tool.ts";
import type { Called } from "./life.ts";
import { shortly } from "./words.ts";

/** Blocks of one result. A server can say "nothing" very often in a few bytes. */
const BLOCKS_MAX = 500;

type Fields = Readonly<Record<string, unknown>>;

/** What a server's tool answered, as a result of ours. How large it may be is seen to where every result is (turns/toolcalls.ts). */
export function resultOf({ content = [], structuredContent, isError }: Called): Result {
  const blocks = content.slice(0, BLOCKS_MAX).map((each) => blockOf(fieldsOf(each)));
  if (content.length > BLOCKS_MAX)
    blocks.push(text(`[left out: ${content.length - BLOCKS_MAX} more blocks]`));
  const hasText = content.some((each) => fieldsOf(each)["type"] === "text");
  if (!hasText && structuredContent !== undefined) blocks.push(text(JSON.stringify(structuredContent)));
  if (blocks.length === 0) blocks.push(text("It returned nothing."));
  return { content: blocks, isError: isError === true };
}

function blockOf(block: Fields): Block {
  switch (block["type"]) {
    case "text":
      return text(textIn(block["text"]));
    case "image":
      return picture(block["data"], block["mimeType"], "a picture");
    case "audio":
      return text(`[audio of type ${typeIn(block["mimeType"])}: it cannot be heard here]`);
    case "resource":
      return resource(fieldsOf(block["resource"]));
    case "resource_link":
      return text(link(block));
    default:
      return text(
        `[a block of type ${shortly(textIn(block["type"]), 40) || "unknown"}: it is not known here]`,
      );
  }
}

function resource({ uri, text: words, blob, mimeType }: Fields): Block {
  const where = shortly(textIn(uri), 500);
  if (typeof words === "string") return text(`[resource ${where}]\n${words}`);
  if (/^image\//i.test(textIn(mimeType))) return picture(blob, mimeType, `the resource ${where}`);
  return text(`[resource ${where} of type ${typeIn(mimeType)}: it is no text]`);
}

function link({ uri, name, description }: Fields): string {
  const about = shortly(textIn(description), 500);
  const what = shortly(textIn(name), 200);
  return `[link ${shortly(textIn(uri), 2_000)}] ${what}${about === "" ? "" : `: ${about}`}`;
}

/** A picture is what its bytes say, whatever its server calls it: what models cannot be shown is left to words. */
function picture(data: unknown, mimeType: unknown, what: string): Block {
  const bytes = Buffer.from(textIn(data), "base64");
  const kind = pictureKind(bytes);
  if (kind !== null) return { type: "image", data: bytes.toString("base64"), mimeType: kind };
  return text(`[${what} of type ${typeIn(mimeType)}: it cannot be shown]`);
}

function text(words: string): Block {
  return { type: "text", text: words.toWellFormed() };
}

function typeIn(mimeType: unknown): string {
  return shortly(textIn(mimeType), 80) || "unknown";
}

function textIn(value: unknown): string {
  return typeof value === "string" ? value : "";
}

function fieldsOf(value: unknown): Fields {
  return typeof value === "object" && value !== null ? (value as Fields) : {};
}
