// What a program brings along to open(): looked at like the configuration, because a tool without a schema, or a door that is
// no function, would otherwise show only in the middle of a turn.

import type { StandardSchemaV1 } from "@standard-schema/spec";
import { Fault } from "../base/fault.ts";
import {
  anything,
  ifGiven,
  is,
  listOf,
  mustFit,
  name,
  oneOf,
  record,
  shown,
  text,
  wholeFrom,
} from "../base/fits.ts";
import { KEPT_CHANNELS } from "../routing/route.ts";

const aFunction = is("a function", (value) => typeof value === "function");
const aSchema = is(
  "a schema of zod, valibot, arktype or another library of Standard Schema",
  (value) => typeof (value as Partial<StandardSchemaV1> | null)?.["~standard"]?.validate === "function",
);
const toolName = is(
  'letters, digits, "_" and "-", at most 64',
  (value) => typeof value === "string" && /^[a-zA-Z0-9_-]{1,64}$/.test(value),
);

const tool = record(
  { name: toolName, description: text, input: aSchema, replay: oneOf("safe", "never"), run: aFunction },
  { form: ifGiven(is("a JSON Schema", (value) => typeof value === "object" && value !== null)) },
);

/** Models and stores may be objects of a class: only what is used of them is looked at. */
const model = is("a model (id, provider, name, api, windowTokens, ask)", (value) => {
  const { id, provider, name: called, api, windowTokens, ask } = (value ?? {}) as Record<string, unknown>;
  const named = [id, provider, called, api].every((each) => typeof each === "string" && each !== "");
  return named && wholeFrom(1)(windowTokens) === null && typeof ask === "function";
});

/** A door, or a channel that has one. It may be an object of a class too. */
const channel = is("a function that delivers, or a channel (name, deliver)", (value) => {
  if (typeof value === "function") return true;
  const { deliver, typing } = (value ?? {}) as Record<string, unknown>;
  return typeof deliver === "function" && (typing === undefined || typeof typing === "function");
});

/** Names that no channel of a program has, and what they are kept for. */
const TAKEN: ReadonlyMap<string, string> = new Map([
  ...KEPT_CHANNELS,
  ["web", "the web chat, which is always there"],
]);

const parts = record(
  {},
  {
    world: ifGiven(anything),
    log: ifGiven(anything),
    store: ifGiven(anything),
    models: ifGiven(listOf(model)),
    tools: ifGiven(listOf(tool)),
    channels: ifGiven(is("doors by the name of their channel", (value) => typeof value === "object")),
    died: ifGiven(aFunction),
  },
);

export function checkParts(given: {
  readonly tools?: readonly { readonly name: string }[];
  readonly channels?: Readonly<Record<string, unknown>>;
}): void {
  mustFit("open, second argument", parts, given);
  const names = new Set<string>();
  for (const each of given.tools ?? []) {
    if (names.has(each.name)) throw new Fault("bad_input", `open: two tools are called ${each.name}`);
    names.add(each.name);
  }
  for (const [called, door] of Object.entries(given.channels ?? {})) {
    mustFit("open: channels", name, called);
    mustFit(`open: channels.${called}`, channel, door);
    const taken = TAKEN.get(called);
    if (taken !== undefined)
      throw new Fault(
        "bad_input",
        `no channel is called ${JSON.stringify(called)}: the word is kept for ${taken}`,
      );
    const own = typeof door === "function" ? called : (door as { readonly name?: unknown }).name;
    if (own !== called)
      throw new Fault("bad_input", `open: channels.${called}: its name is ${shown(own)}; make them the same`);
  }
}
