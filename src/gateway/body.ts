import type { Context } from "hono";
import { Fault } from "../base/fault.ts";
import type { LetIn } from "./gate.ts";

/** Nothing is an empty object: many calls need none. How long it may be was looked at before. */
export async function jsonIn(context: Context<LetIn>): Promise<unknown> {
  const text = await textIn(context);
  if (text.trim() === "") return {};
  try {
    return JSON.parse(text);
  } catch (error) {
    const why = error instanceof Error ? error.message.slice(0, 200) : "";
    throw new Fault("bad_input", `the body is not JSON: ${why}`, { cause: error });
  }
}

export async function textIn(context: Context<LetIn>): Promise<string> {
  return textOf(await context.req.arrayBuffer());
}

const strict = new TextDecoder("utf-8", { fatal: true });

/** What is not UTF-8 is refused: made into something else it would be another message. */
export function textOf(bytes: ArrayBuffer | Buffer): string {
  try {
    return strict.decode(bytes);
  } catch (error) {
    throw new Fault("bad_input", "it is not UTF-8 text", { cause: error });
  }
}
