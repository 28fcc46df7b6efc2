// The shapes of calls about a session's context.

import { z } from "zod";
import { ID_CHARS_MAX } from "../limits.ts";
import { sessionKey } from "./setting-shapes.ts";
import { answered, askInput } from "./schemas.ts";

/** Characters of what is to be kept above all: a sentence or two. */
const FOCUS_CHARS_MAX = 2_000;

/** Characters of what a fresh session is to do: a page or two beside the state that it begins with. */
const MESSAGE_CHARS_MAX = 20_000;

const focus = z
  .string()
  .trim()
  .min(1)
  .max(FOCUS_CHARS_MAX)
  .optional()
  .describe("What is to be kept above all.");
const { timeoutMs } = askInput.shape;
/** How what was wished came out. */
export const ended = {
  outcome: answered.shape.outcome.describe(
    "done; unanswered: nobody waits any longer, and it is still going to be done; or how the turn ended in which it was to be.",
  ),
  reason: z.string().nullable().describe("Why not, or not yet; or why nothing had to be done."),
};

export const contextInput = z.strictObject({
  sessionKey: sessionKey
    .optional()
    .describe("The key of a session; without it, your own (a person's: main)."),
});

const tokens = z.int().min(0);

export const context = z.strictObject({
  sessionKey,
  model: z.string().describe("Whose window it is."),
  tokens: tokens.describe(
    "What the next request would have: as the provider counted the last one, and an estimate of what came since.",
  ),
  window: tokens,
  most: tokens.describe(
    "Of a request: the rest of the window is for the answer. What is beyond it is shown cut.",
  ),
  pruneAt: tokens.describe("Past it old tool results leave the prompt, when they are worth it."),
  compactAt: tokens.describe("Past it the older part is summarised."),
  parts: z
    .strictObject({ system: tokens, tools: tokens, summary: tokens, messages: tokens, toolResults: tokens })
    .describe("What they are for. System and tools are those of the last turn that ended."),
  pins: z
    .array(
      z.strictObject({
        entry: z.string(),
        seq: z
          .int()
          .nullable()
          .describe("null: it was copied from another session, and has left the context."),
        text: z.string().describe("Its first words; empty: it is not in the context any more."),
      }),
    )
    .describe("Those that are pinned."),
  pruned: z
    .strictObject({ times: z.int(), results: z.int(), bytes: z.int() })
    .describe("Tool results that have left the prompt; `read_result` reads them."),
  compaction: z
    .strictObject({
      seq: z.int(),
      at: z.string(),
      tokensBefore: z.number(),
      occasion: z.enum(["size", "overflow", "asked"]).nullable().describe("null: another program made it."),
      truncated: z.string().nullable().describe("Why it is no model's summary; null: it is one."),
    })
    .nullable()
    .describe("The last one; null: there was none."),
});

export const compactInput = z.strictObject({ sessionKey, focus, timeoutMs });

export const compacted = z.strictObject({
  sessionKey,
  ...ended,
  tokensBefore: tokens.nullable().describe("null: nothing was summarised, or not yet."),
  tokensAfter: tokens.nullable(),
});

export const handoffInput = z.strictObject({
  sessionKey,
  name: z.string().min(1).optional().describe("A name for the fresh session; without it, one is made up."),
  focus,
  message: z
    .string()
    .min(1)
    .max(MESSAGE_CHARS_MAX)
    .optional()
    .describe("What the fresh session is to do; without it, it says what comes next."),
  timeoutMs,
});

export const handedOff = z.strictObject({
  from: sessionKey,
  sessionKey: sessionKey.describe(
    "The fresh session. It is there when this is done, comes when it is unanswered, and else there is none.",
  ),
  file: z.string().nullable().describe("Where the state is, in the workspace; null: it is not done."),
  ...ended,
});

export const rewindInput = z.strictObject({
  sessionKey,
  entry: z
    .string()
    .min(1)
    .max(ID_CHARS_MAX)
    .optional()
    .describe("The id of the entry to go back to: it stays."),
  seq: z.int().min(1).optional().describe("The same by its number. A call without its result is left out."),
  timeoutMs,
});

export const rewound = z.strictObject({
  sessionKey,
  to: z.int().describe("The entry that the conversation continues, when it is done."),
  ...ended,
});
