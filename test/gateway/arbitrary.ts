// Requests of any kind, made from the OpenAPI document: some that may well be taken, and anything else.

import * as fc from "fast-check";

interface Schema {
  readonly type?: string | readonly string[];
  readonly enum?: readonly unknown[];
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
}

interface Parameter {
  readonly name: string;
  readonly in: "path" | "query" | "header";
  readonly required?: boolean;
  readonly schema: Schema;
}

export interface Operation {
  readonly operationId: string;
  readonly parameters: readonly Parameter[];
  readonly requestBody?: { readonly content: { readonly "application/json": { readonly schema: Schema } } };
}

export interface Place {
  readonly method: string;
  readonly path: string;
  readonly operation: Operation;
}

/** Sessions that may come to harm. */
export const VICTIMS = Array.from({ length: 12 }, (_, n) => `agent:main:web:direct:victim${n}`);

const key = fc.oneof(
  { weight: 8, arbitrary: fc.constantFrom(...VICTIMS) },
  { weight: 1, arbitrary: fc.string({ minLength: 1, unit: "binary" }).filter((text) => text !== "main") },
  {
    weight: 1,
    arbitrary: fc.constantFrom(
      "..",
      ".",
      "agent:main:",
      "agent::",
      "cron:x",
      "group:",
      "%",
      "\u0000",
      "\ud800",
    ),
  },
);

const anything = fc.oneof(
  fc.jsonValue({ maxDepth: 3 }),
  key,
  fc.constantFrom<unknown>(-1, 1e308, null, "", [], {}),
);

/** What may well be taken; now and then anything at all. */
function valueOf(name: string, { type, enum: words, items, properties }: Schema): fc.Arbitrary<unknown> {
  const [kind] = [type].flat();
  const fitting =
    words !== undefined
      ? fc.constantFrom(...words)
      : kind === "boolean"
        ? fc.boolean()
        : kind === "integer" || kind === "number"
          ? fc.integer({ min: 0, max: 50 })
          : kind === "array" && items !== undefined
            ? fc.array(valueOf(name, items), { maxLength: 3 })
            : kind === "object" && properties !== undefined
              ? inputOf(properties, [])
              : /key|parent/i.test(name)
                ? key
                : fc.oneof(fc.constantFrom("!say a", "main", "web", "a"), fc.string());
  return fc.oneof({ weight: 6, arbitrary: fitting }, { weight: 1, arbitrary: anything });
}

/** An input; what waits, waits for no time. */
export function inputOf(
  properties: Readonly<Record<string, Schema>>,
  required: readonly string[],
): fc.Arbitrary<Readonly<Record<string, unknown>>> {
  const values = Object.entries(properties).map(([name, schema]) => {
    const value = valueOf(name, schema);
    const isNeeded = required.includes(name);
    const left = fc.option(value, { nil: undefined, freq: isNeeded ? 20 : 1 });
    return [name, name === "timeoutMs" ? fc.constant(0) : left] as const;
  });
  const strange = fc.dictionary(fc.string(), anything, { minKeys: 1, maxKeys: 2 });
  const known = fc.record(Object.fromEntries(values));
  return fc
    .tuple(known, fc.oneof({ weight: 9, arbitrary: fc.constant({}) }, { weight: 1, arbitrary: strange }))
    .map(([one, other]) => ({
      ...Object.fromEntries(Object.entries(one).filter(([, each]) => each !== undefined)),
      ...other,
    }));
}

function queryOf({ parameters }: Operation): Schema {
  const inQuery = parameters.filter((each) => each.in === "query");
  return {
    properties: Object.fromEntries(inQuery.map(({ name, schema }) => [name, schema])),
    required: inQuery.filter(({ required }) => required).map(({ name }) => name),
  };
}

export function schemaOf({ requestBody }: Operation): Schema {
  return requestBody?.content["application/json"].schema ?? {};
}

export interface Asked {
  readonly line: string;
  readonly path: string;
  readonly init: RequestInit;
}

export function requestOf({ method, path, operation }: Place): fc.Arbitrary<Asked> {
  const { properties = {}, required = [] } = method === "GET" ? queryOf(operation) : schemaOf(operation);
  return fc
    .record({
      keys: fc.array(key, { minLength: 3, maxLength: 3 }),
      input: inputOf(properties, required),
      raw: fc.oneof({ weight: 9, arbitrary: fc.constant(null) }, { weight: 1, arbitrary: fc.string() }),
    })
    .map(({ keys, input, raw }) => {
      const left = [...keys];
      const filled = path.replaceAll(/\{\w+\}/g, () => encoded(left.pop() ?? ""));
      const line = `${method} ${path}`;
      if (method === "GET") {
        const query = Object.entries(input).map(
          // A generated object may have a `toString` that is none.
          ([name, each]) =>
            `${encoded(name)}=${encoded(typeof each === "object" ? JSON.stringify(each) : String(each))}`,
        );
        return { line, path: `${filled}?${query.join("&")}`, init: { method } };
      }
      const isRaw = raw !== null && !("timeoutMs" in input);
      return { line, path: filled, init: { method, body: isRaw ? raw : JSON.stringify(input) } };
    });
}

/** Half a character has no place in an address. */
function encoded(text: string): string {
  return encodeURIComponent(text.toWellFormed());
}

export interface Call {
  readonly method: string;
  readonly params: unknown;
}

export function callOf(places: readonly Place[]): fc.Arbitrary<Call> {
  const known = places.map(({ operation }) => {
    const body = schemaOf(operation);
    const beside = operation.parameters.filter((each) => each.in !== "header");
    const properties = {
      ...body.properties,
      ...Object.fromEntries(beside.map(({ name, schema }) => [name, schema])),
    };
    const required = [
      ...(body.required ?? []),
      ...beside.filter((each) => each.required).map(({ name }) => name),
    ];
    return fc.record({ method: fc.constant(operation.operationId), params: inputOf(properties, required) });
  });
  const strange = fc.record({
    method: fc.oneof(fc.string(), fc.constantFrom("__proto__", "toString", "yield")),
    params: anything,
  });
  return fc.oneof(...known, strange);
}
