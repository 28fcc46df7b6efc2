import { assemble, withPictures } from "../context/assemble.ts";
import type { Request, Thinking } from "../models/model.ts";
import { MARKER_NOTE } from "../routing/envelope.ts";
import { describeKey } from "../routing/key.ts";
import type { Held } from "../sessions/held.ts";
import type { Store } from "../store/store.ts";
import { formOf, type Tool } from "../tools/tool.ts";

/** What a request is made of. */
export interface Asking {
  readonly held: Held;
  readonly persona: string;
  readonly tools: readonly Tool[];
  readonly thinking: Thinking;
  readonly signal: AbortSignal;
}

/** What the model is shown in one step: the session as it is now. */
export async function requestOf(
  store: Pick<Store, "readBlob">,
  { held, persona, tools, thinking, signal }: Asking,
): Promise<Request> {
  const { chatType } = describeKey(held.key);
  const isShared = chatType !== null && chatType !== "direct";
  const messages = await withPictures(assemble(await held.entries(), isShared), ({ sha256, bytes }) =>
    store.readBlob(sha256, { from: 0, bytes }),
  );
  const system = systemOf(persona, held);
  const cacheKey = held.row.transcript.id;
  return { system, messages, tools: tools.map(formOf), thinking, cacheKey, signal };
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
