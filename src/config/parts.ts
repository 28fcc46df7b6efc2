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
  text,
  wholeFrom,
} from "../base/fits.ts";

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
  for (const [channel, deliver] of Object.entries(given.channels ?? {})) {
    mustFit("open: channels", name, channel);
    mustFit(`open: channels.${channel}`, aFunction, deliver);
    if (channel === "session")
      throw new Fault(
        "bad_input",
        'no channel is called "session": the word is kept for answers between sessions',
      );
  }
}
