// The configuration that is in force, and whether a model of it answers.

import { z } from "zod";
import { cleaning, redacted } from "../base/redact.ts";
import { alarm, CALLED_OFF } from "../base/waiting.ts";
import { secretsIn } from "../config/outside.ts";
import { shownConfig } from "../config/shown.ts";
import type { Answer, Model, Request } from "../models/model.ts";
import { DEFAULT_AGENT, mainKey, subagentKey } from "../routing/key.ts";
import { answeredBy, spentOn } from "../turns/ask.ts";
import { call, just, type Caller, type Done, type System } from "./call.ts";
import { FAILURE_REASON_CHARS_MAX, MODEL_TEST_CHARS_TOLD, MODEL_TEST_MS } from "./limits.ts";

const configOutput = z.strictObject({
  file: z.string().nullable().describe("Where it was read from; null: from no file."),
  config: z.record(z.string(), z.unknown()).describe("Every value, with defaults."),
});

const testInput = z.strictObject({
  model: z.string().min(1).describe("Its id (`provider/model`), or an alias."),
});

const KINDS = ["retry", "overflow", "auth", "local", "timeout", "busy"] as const;
type Kind = (typeof KINDS)[number];

const testOutput = z.strictObject({
  model: z.string().describe("The id of the one that was asked."),
  ok: z.boolean(),
  ms: z.number().describe("How long it took, without its waiting for a slot."),
  text: z.string().describe("The beginning of what it said."),
  usage: z
    .strictObject({ input: z.number(), output: z.number(), cacheRead: z.number(), cacheWrite: z.number() })
    .nullable()
    .describe("Tokens; null: it gave no answer."),
  cost: z.number().nullable().describe("In US dollars; null: not known."),
  failure: z
    .strictObject({
      kind: z
        .enum(KINDS)
        .describe(
          "auth: its key. local: it cannot do what was asked, or is not there. retry: not reached, or too busy. timeout: no answer in time. " +
            "busy: it was not asked, because no slot was free or its provider has a pause.",
        ),
      message: z.string(),
      todo: z.string(),
    })
    .nullable()
    .describe("null: it answered."),
});

type Tested = z.input<typeof testOutput>;

const QUESTION = "Reply with the word ok.";

const ADVICE: Readonly<Record<Kind, string>> = {
  retry: "try again in a while; is the provider's address right?",
  overflow: "use a model with a larger window",
  auth: "set the key of the provider, and start again",
  local: "check the name of the model and the settings of its provider",
  timeout: "try again; or see whether the provider is well",
  busy: "try again in a while",
};

/** The model that is named, and no other: it is this one that somebody wants to know of. bad_input: there is none of that name. */
async function testModel(
  system: System,
  _caller: Caller,
  input: z.output<typeof testInput>,
  signal: AbortSignal,
): Promise<Done<Tested>> {
  const model = system.catalog.find(input.model);
  const late = new AbortController();
  const callOff = alarm(system.world, MODEL_TEST_MS, () => late.abort(CALLED_OFF));
  try {
    return just(await asked(system, model, { signal, late: late.signal }));
  } finally {
    callOff();
  }
}

const LATE = `it took more than ${MODEL_TEST_MS / 1_000} s`;

interface Ends {
  readonly signal: AbortSignal; // nobody waits for it any more
  readonly late: AbortSignal;
}

/** As a step of a turn is, once: with a slot, and its provider's pauses are everybody's. */
async function asked(system: System, model: Model, { signal, late }: Ends): Promise<Tested> {
  const { slots, world } = system;
  const { provider } = model;
  // No session, but whoever waits for a slot has a name: one that no session can have.
  const key = subagentKey(mainKey(DEFAULT_AGENT), world.newId());
  const asking = { key, root: key, class: "interactive", nice: 0, provider } as const;
  const over = AbortSignal.any([signal, late]);
  const slot = await slots.takeSoon(asking, over, 0).catch(() => {
    signal.throwIfAborted();
    return "late" as const;
  });
  if (slot === "late") return failed(system, model, { kind: "busy", message: `no slot was free: ${LATE}` });
  if (slot === null) {
    const seconds = Math.ceil(slots.coolsForMs(provider) / 1_000);
    const message = `${provider} asked for a pause, of which ${seconds} s are left`;
    return failed(system, model, { kind: "busy", message });
  }
  const fromMs = world.nowMs();
  const clean = (said: string): string => cleaned(system.config, said);
  let answer: Answer | null = null;
  try {
    answer = await answeredBy(
      model,
      { request: requestAt(fromMs, over), slot, signal: over, clean },
      () => {},
    );
    if (answer.kind === "failed" && answer.throttled) slots.throttled(provider, answer.retryAfterMs);
  } catch {
    signal.throwIfAborted(); // Only an abort is thrown.
  } finally {
    slot.giveBack(answer?.kind === "reply" ? spentOn(answer.usage) : null);
  }
  const ms = world.nowMs() - fromMs;
  if (answer === null) return failed(system, model, { kind: "timeout", message: LATE, ms });
  if (answer.kind === "failed")
    return failed(system, model, { kind: answer.why, message: answer.message, ms });
  return replied(system, model, answer, ms);
}

function requestAt(timestamp: number, signal: AbortSignal): Request {
  const messages = [{ role: "user", content: QUESTION, timestamp }] as const;
  return { system: "", messages, tools: [], thinking: "off", cacheKey: "sessiond-model-test", signal };
}

/** What it cost is in no transcript: it counts until the next start. */
function replied(
  { totals, today, config }: System,
  { id }: Model,
  { content, usage }: Extract<Answer, { kind: "reply" }>,
  ms: number,
): Tested {
  const { input, output, cacheRead, cacheWrite, cost } = usage;
  const tokens = { input, output, cacheRead, cacheWrite };
  const paid = { ...tokens, cost: cost?.total ?? 0 };
  totals.paid(paid);
  today.paid(paid);
  const said = content.flatMap((block) => (block.type === "text" ? [block.text] : [])).join("\n");
  const text = cleaned(config, said).slice(0, MODEL_TEST_CHARS_TOLD).toWellFormed();
  return { model: id, ok: true, ms, text, usage: tokens, cost: cost?.total ?? null, failure: null };
}

function failed(
  { config }: System,
  { id }: Model,
  { kind, message, ms = 0 }: { readonly kind: Kind; readonly message: string; readonly ms?: number },
): Tested {
  const words = cleaned(config, message).slice(0, FAILURE_REASON_CHARS_MAX).toWellFormed();
  const failure = { kind, message: words, todo: ADVICE[kind] };
  return { model: id, ok: false, ms, text: "", usage: null, cost: null, failure };
}

/** Before it is cut. */
function cleaned(config: System["config"], text: string): string {
  return redacted(cleaning(secretsIn(config))(text));
}

/** Their rows in the table. */
export const configuredCalls = {
  config: call({
    about: "The configuration that is in force, with defaults; secrets are not shown.",
    who: "person",
    tool: null,
    scope: "admin",
    http: "GET /config",
    input: z.strictObject({}),
    output: configOutput,
    idempotent: true,
    run: async ({ config, configFile }) => just({ file: configFile, config: shownConfig(config) }),
  }),
  testModel: call({
    about:
      "Asks a model one short question, to see whether it answers: what it costs is real. No other is asked in its place.",
    who: "person",
    tool: null,
    scope: "operate",
    http: "POST /catalog/test",
    input: testInput,
    output: testOutput,
    idempotent: false, // each time it is asked, and paid
    run: testModel,
  }),
};
