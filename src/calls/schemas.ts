// The shapes that calls take and give. What comes in is strict: a name that is not known here is most likely misspelt.

import { z } from "zod";
import { LIST_TEXT_CHARS_MAX } from "./limits.ts";
import { MODES, sessionKey, settings } from "./setting-shapes.ts";
import { ENDS, KINDS, OUTCOMES, STATES } from "./words.ts";

/** Rows of a list, and entries of a history, in one answer. */
const ROWS_MAX = 200;

const ownByDefault = sessionKey
  .optional()
  .describe("The key of a session; without it, your own (a person's: main).");
/** Characters of a sender's own id of a message. Beside it the letter's id names the sender and the session. */
export const MESSAGE_ID_CHARS_MAX = 256;

export const limit = z.int().min(1).max(ROWS_MAX).optional().describe(`How many at most, 1 to ${ROWS_MAX}.`);
const messageId = z
  .string()
  .min(1)
  .max(MESSAGE_ID_CHARS_MAX)
  .optional()
  .describe("Your own id of this message. Sent again with the same id and content, it is there once.");

const image = z.strictObject({
  data: z.base64().describe("The picture, in base64."),
  mimeType: z.string().regex(/^image\/[\w.+-]+$/, "is a type such as image/png"),
});
const message = {
  message: z.string().describe("What to say."),
  images: z.array(image).max(20).optional().describe("Pictures that belong to it."),
};
const mode = z
  .enum(MODES)
  .optional()
  .describe("What it does to a turn that is running; without it, as the session is set.");

export const sendInput = z.strictObject({
  sessionKey,
  ...message,
  mode,
  id: messageId,
  reply: z
    .boolean()
    .optional()
    .describe("For sessions: false means that no answer is wanted back (default true)."),
  model: z
    .string()
    .optional()
    .describe(
      "For people: the model that the session has from this message on; without it, nothing changes.",
    ),
  after: z
    .int()
    .min(0)
    .optional()
    .describe(
      "For people: the last entry that you know of. If anything came to the session since, it is refused as `stale_writer`.",
    ),
});

const route = z.strictObject({ channel: z.string(), to: z.string(), thread: z.string().nullable() });

export const receiveInput = z.strictObject({
  channel: z.string().describe('The channel it came through; "" for none.'),
  account: z.string().nullable().default(null),
  chatType: z.enum(["direct", "group", "channel", "room"]),
  peer: z.string().min(1).describe("The person, group, channel or room."),
  sender: z.string().nullable().default(null).describe("Who wrote it, in a chat of several."),
  thread: z.string().nullable().default(null),
  topic: z.boolean().default(false),
  subject: z.string().max(500).nullable().default(null),
  agent: z.string().default("main"),
  ...message,
  mode,
  id: messageId,
});

export const sent = z.strictObject({
  sessionKey,
  id: z.string().describe("The letter's id: `wait` takes it."),
  repeated: z.boolean().describe("True: this id was sent before, and this is the first receipt again."),
  seq: z.int().describe("The last entry before it: follow the session from here."),
});

export const received = sent.extend({
  command: z
    .string()
    .nullable()
    .describe(
      "What came of a chat command, where no channel brings it: in the web chat, and without a channel. null: it was none, or the " +
        "channel brings it.",
    ),
});

const timeoutMs = z.int().min(0).max(86_400_000).optional().describe("How long to wait (default: an hour).");

export const waitInput = z.strictObject({
  sessionKey,
  id: z.string().describe("The id that sending it gave, or your own id of a message that you sent by key."),
  timeoutMs,
});

export const answered = z.strictObject({
  outcome: z.enum([...OUTCOMES, "unanswered"]),
  reason: z.string().nullable(),
  text: z.string(),
  seq: z.int().nullable(),
});

export const askInput = sendInput.omit({ reply: true }).extend({ timeoutMs });
export const asked = sent.extend({ ...answered.shape, seq: sent.shape.seq, endSeq: answered.shape.seq });

export const oneSession = z.strictObject({ sessionKey });

export const statusInput = z.strictObject({
  sessionKey: ownByDefault,
  model: z
    .string()
    .nullable()
    .optional()
    .describe('Another model for this session from now on. null or "default": the agent\'s own again.'),
});

const usage = z.strictObject({
  input: z.number(),
  output: z.number(),
  cacheRead: z.number(),
  cacheWrite: z.number(),
  cost: z.number(),
  steps: z.number(),
  toolCalls: z.number(),
  modelMs: z.number(),
  wallMs: z.number(),
  toolCpuMs: z.number(),
  toolPeakBytes: z.number(),
});

const origin = z.strictObject({
  channel: z.string(),
  account: z.string().nullable(),
  chatType: z.string(),
  peer: z.string(),
  sender: z.string().nullable(),
  thread: z.string().nullable(),
  subject: z.string().nullable(),
});

/** A session as lists show it. */
export const row = z.strictObject({
  sessionKey,
  agent: z.string(),
  kind: z.enum(KINDS),
  parent: z.string().nullable(),
  title: z.string().describe("The label, or else the first words a person wrote."),
  labelled: z.boolean().describe("True: the title is a label that it was given."),
  pinned: z.boolean().describe("True: upkeep never takes it."),
  state: z.enum(STATES),
  since: z.string().nullable().describe("Since when it is in that state; null: it is idle."),
  step: z.int().nullable().describe("Of the turn that runs; null: none does."),
  outcome: z.enum(ENDS).nullable().describe("How it ended; null: it has not."),
  pausing: z.boolean().describe("True: it runs, and pauses after this step."),
  class: z
    .enum(["interactive", "delegated", "scheduled", "background"])
    .nullable()
    .describe("Of the turn that runs in this gateway; null: none does."),
  why: z.string().nullable().describe("What it does or waits for, in short; null: it is idle."),
  model: z.string().describe("The model in force."),
  contextTokens: z
    .number()
    .nullable()
    .describe(
      "How large its context was at its last answer, compaction or rewind; null: nobody has said, or an older version wrote its row (`status` reads it).",
    ),
  windowTokens: z.number().describe("Of the model; 0: not known."),
  tokens: z.number().describe("Of all kinds, without its children's."),
  cost: z.number().describe("In US dollars."),
  entries: z.int(),
  bornAt: z.string(),
  updatedAt: z.string(),
});

export const listInput = z.strictObject({
  agent: z.string().optional(),
  kind: z.enum(KINDS).optional(),
  state: z.enum(STATES).optional(),
  parent: sessionKey.optional(),
  label: z.string().optional(),
  title: z.string().optional().describe("How the title begins."),
  text: z
    .string()
    .max(LIST_TEXT_CHARS_MAX)
    .optional()
    .describe("For people: words of the title or the key, in any order and case."),
  updatedSinceMs: z.int().optional(),
  limit,
  cursor: z.string().optional().describe("The `next` of the page before."),
});

/** Agents know keys, or look by title: what they may give is in each of their requests. */
export const listToolInput = listInput.omit({ text: true });

export const listed = z.strictObject({ sessions: z.array(row), next: z.string().nullable() });

const budget = {
  tokens: z.number().nullable().describe("null: no bound."),
  cost: z.number().nullable().describe("In US dollars; null: no bound."),
};

/** What holds, whoever set it. */
export const limitsInForce = z.strictObject({
  stepsPerTurn: z.int().nullable().describe("null: its agent is not configured any more."),
  turnSeconds: z.int().nullable(),
  ...budget,
  ofSession: z
    .array(z.enum(["stepsPerTurn", "turnSeconds", "tokens", "cost"]))
    .describe("Those that are set for this session; the others are its agent's."),
  above: z
    .array(
      z.strictObject({
        sessionKey,
        ...budget,
        used: z.strictObject({ tokens: z.number(), cost: z.number() }),
      }),
    )
    .describe("Budgets of sessions above it, nearest first: they hold for it too."),
});

export const status = row.extend({
  time: z.string().describe("Now, ISO 8601, UTC."),
  localTime: z.string().describe("Now, as the machine's time zone has it."),
  why: z.string().describe("What it does or waits for, in words."),
  modelFrom: z.enum(["session", "agent"]).describe("Who says which model."),
  fallback: z
    .strictObject({
      spoke: z.string().describe("The model that gave the last answer."),
      passedOver: z.array(z.strictObject({ model: z.string(), why: z.string() })),
    })
    .nullable()
    .describe("Whether the last answer is another model's than the one in force, and why; null: it is not."),
  lastTurn: z
    .strictObject({ outcome: z.string(), reason: z.string().nullable(), endedAt: z.string() })
    .nullable()
    .describe("How the last turn ended; null: none has, lately."),
  exec: z
    .enum(["off", "not sandboxed"])
    .describe("Whether its agent runs programs, and whether anything confines them."),
  thinking: z.string(),
  verbose: z.string(),
  context: z.strictObject({
    tokens: z.number().describe("Of the last model call, in and out; 0: there was none."),
    window: z.number(),
  }),
  usage: usage.describe("Its own."),
  tree: usage.describe("With all its descendants'."),
  limits: limitsInForce.describe(
    "Those in force. Tokens and cost are of the session and all below it together: what was used of them is `tree`.",
  ),
  settings,
  settingsVersion: z.int(),
  waitingLetters: z.int().describe("At most 100 are counted."),
  route: route.nullable(),
  origin: origin.nullable(),
  root: z.string(),
  depth: z.int(),
  transcript: z.string().describe("The id of its transcript file."),
});

export const historyInput = z.strictObject({
  sessionKey: ownByDefault,
  before: z.int().min(1).optional().describe("Only entries before this seq: the `next` of the page before."),
  limit,
});

const told = z.strictObject({
  seq: z.int(),
  id: z.string(),
  at: z.string(),
  kind: z
    .string()
    .describe("user, assistant, toolResult, or the type of another entry; gap: it cannot be read."),
  text: z.string(),
  from: z.string().nullable().describe("Who wrote it, if it was not the model."),
  calls: z.array(z.strictObject({ name: z.string(), arguments: z.string() })),
  isError: z.boolean(),
});

export const history = z.strictObject({
  sessionKey,
  entries: z.array(told).describe("Oldest first."),
  next: z
    .int()
    .nullable()
    .describe("Pass it as `before` for what came earlier; null: there is nothing earlier."),
});

export const outboxInput = z.strictObject({
  sessionKey: sessionKey.optional(),
  refused: z
    .boolean()
    .default(false)
    .describe("True: those that will not be delivered. False: those that are to be."),
  limit,
  cursor: z.string().optional(),
});

export const outbox = z.strictObject({
  answers: z.array(
    z.strictObject({
      id: z.string(),
      sessionKey,
      route,
      text: z.string(),
      postedAt: z.string(),
      refused: z.string().nullable().describe("Why it will not be delivered; null: it is to be."),
    }),
  ),
  next: z.string().nullable(),
});

export const accepted = z.strictObject({
  sessionKey,
  accepted: z.boolean().describe("False: there was nothing to be done."),
});
