// A message on its way to a session. It has an id of its own: so it may be sent again when nobody knows whether it arrived,
// and is there once.

import type { Fault } from "../../base/fault.ts";
import type { World } from "../../base/world.ts";
import type { Output } from "../../calls/door.ts";
import { passes, type Client } from "../client.ts";

export interface Message {
  readonly sessionKey: string;
  readonly message: string;
  readonly id: string;
}

/** Between two attempts. */
const AGAIN_MS = 500;

/** Resolves when it is durable. `trouble` hears why it takes longer, once. Rejects when the signal is aborted. */
export async function delivered(
  { client, world }: { readonly client: Client; readonly world: World },
  message: Message,
  trouble: (why: string) => void,
  signal: AbortSignal,
): Promise<Output<"send">> {
  for (let isTold = false; ; isTold = true) {
    try {
      return await client.call("send", message, signal);
    } catch (error) {
      if (!passes(error)) throw error;
      if (!isTold) trouble((error as Fault).message);
      await world.sleep(AGAIN_MS, signal);
    }
  }
}
