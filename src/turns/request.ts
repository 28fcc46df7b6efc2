import { assemble, withPictures } from "../context/assemble.ts";
import { fitted } from "../context/fit.ts";
import { bytesOf, type Frame } from "../context/meter.ts";
import type { Request, Thinking } from "../models/model.ts";
import { MARKER_NOTE } from "../routing/envelope.ts";
import { describeKey, type SessionKey } from "../routing/key.ts";
import type { Held } from "../sessions/held.ts";
import type { Store } from "../store/store.ts";
import { formBytesOf, formOf, type Tool } from "../tools/tool.ts";

/** What a request is made of. */
export interface Asking {
  readonly held: Held;
  readonly persona: string;
  readonly tools: readonly Tool[];
  readonly thinking: Thinking;
  readonly roomBytes: number; // of the messages: what is longer would not fit the window
  readonly signal: AbortSignal;
}

export interface Shown {
  readonly request: Request;
  /** Bytes of the messages, which were cut so that they fit; null: they are whole. */
  readonly cutTo: number | null;
}

/** What the model is shown in one step: the session as it is now. */
export async function requestOf(
  store: Pick<Store, "readBlob">,
  { held, persona, tools, thinking, roomBytes, signal }: Asking,
): Promise<Shown> {
  const pins = new Set(held.row.settings.pins);
  const whole = assemble(await held.entries(), isShared(held.key));
  const shown = fitted(whole, roomBytes, pins);
  const messages = await withPictures(shown, ({ sha256, bytes }) =>
    store.readBlob(sha256, { from: 0, bytes }),
  );
  const system = systemOf(persona, held);
  const cacheKey = held.row.transcript.id;
  const request = { system, messages, tools: tools.map(formOf), thinking, cacheKey, signal };
  return { request, cutTo: shown === whole ? null : shown.reduce((sum, each) => sum + bytesOf(each), 0) };
}

/** Several people speak in it. */
export function isShared(key: SessionKey): boolean {
  const { chatType } = describeKey(key);
  return chatType !== null && chatType !== "direct";
}

/** What stands around the conversation in every request of a turn. */
export function frameOf({ held, persona, tools }: Pick<Asking, "held" | "persona" | "tools">): Frame {
  const forms = tools.reduce((bytes, tool) => bytes + formBytesOf(tool) + 1, 0); // a comma each, or a bracket
  return { system: Buffer.byteLength(systemOf(persona, held)), tools: forms };
}

/** Byte for byte the same from step to step while nothing in it changes: providers charge less for what they have seen. */
function systemOf(persona: string, held: Held): string {
  const { agent, parent } = held.row;
  const child = parent === null ? "" : `You are a sub-agent, a child of ${parent}. ${CHILD_NOTE} `;
  const about = `You are the agent ${agent} in the session ${held.key}. ${child}${MARKER_NOTE}`;
  return persona === "" ? about : `${persona}\n\n${about}`;
}

/** What a child has to know. What stands before its task, if anything does, is a copy of its parent's conversation. */
const CHILD_NOTE =
  "Do the newest task that you were given, and only that; what was said before it is what your parent knew, and not for you " +
  "to answer. Your last message is reported to whoever gave you the task, word for word: let it say all that they need.";
