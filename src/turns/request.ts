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
  const about = `You are the agent ${held.row.agent} in the session ${held.key}. ${MARKER_NOTE}`;
  return persona === "" ? about : `${persona}\n\n${about}`;
}
