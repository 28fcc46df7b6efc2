// Bringing back what was archived, with what is below it.

import { many, whole } from "../../src/base/figures.ts";
import type { Input, Output } from "../../src/calls/door.ts";
import { tell } from "../parts/toast.tsx";
import { call } from "../wire/call.ts";

/** Time after time, until nothing is left: each time as much comes back as one commit takes. */
export async function restored(asked: Input<"restore">): Promise<Output<"restore">> {
  for (let below = 0; ;) {
    const back = await call("restore", asked);
    below += back.below;
    if (back.left === 0) return { ...back, below };
    tell(`${many(below, "session")} came back, ${whole(back.left)} to come`);
  }
}
