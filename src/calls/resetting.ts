// Beginning anew: the conversation of a session becomes an archive, and the next message finds an empty one. Settings, mail and
// children stay: whoever still works reports into the new conversation.

import { z } from "zod";
import { wishLetter } from "../mail/wish.ts";
import { abort, awaited } from "./asking.ts";
import { call, just, type Caller, type Done, type System } from "./call.ts";
import { ended } from "./context-shapes.ts";
import { owned } from "./context.ts";
import { askInput } from "./schemas.ts";
import { sessionKey } from "./setting-shapes.ts";

const resetInput = z.strictObject({
  sessionKey,
  model: z.string().optional().describe("The model from then on; without it, the one it has."),
  timeoutMs: askInput.shape.timeoutMs,
});

const resetDone = z.strictObject({
  sessionKey,
  ...ended,
  archive: z
    .string()
    .nullable()
    .describe("The id of the archive that has what was said; null: it is not done, or nothing was said."),
});

export const reset = call({
  about:
    "Begins a new conversation in a session. A turn that runs is stopped; what was said becomes an archive, and is never lost. " +
    "Settings stay, and children report into the new one.",
  who: "person",
  tool: null,
  scope: "operate",
  http: "POST /sessions/:sessionKey/reset",
  input: resetInput,
  output: resetDone,
  idempotent: false,
  run: beginAnew,
});

const NOTHING_SAID = "nothing was said in it yet: there is nothing to archive";

async function beginAnew(
  system: System,
  caller: Caller,
  { sessionKey: text, model: named, timeoutMs }: z.output<typeof resetInput>,
  signal: AbortSignal,
): Promise<Done<z.input<typeof resetDone>>> {
  const { key, transcript } = await owned(system, caller, text);
  const model = named === undefined ? null : system.catalog.find(named).id;
  if (transcript.leafId === null) {
    const output = { sessionKey: key, outcome: "done", reason: NOTHING_SAID, archive: null } as const;
    if (model === null) return just(output);
    return {
      changes: [{ do: "set", key, version: null, settings: { model } }],
      output: () => output,
    };
  }
  const stopped = await abort(system, caller, { sessionKey: key });
  const wish = { transcript: system.world.newId(), model };
  const letter = wishLetter(system.world.newId(), "reset", wish);
  const coming = awaited(system, { id: letter.id, timeoutMs }, signal);
  return {
    changes: [...stopped.changes, { do: "post", to: [key], letter }],
    output: async () => {
      const { outcome, reason, text: archive } = await coming();
      if (archive !== "") return { sessionKey: key, outcome, reason, archive };
      return { sessionKey: key, outcome, reason: outcome === "done" ? NOTHING_SAID : reason, archive: null };
    },
  };
}
