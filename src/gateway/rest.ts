// Every call and every stream of the tables as a request: its place says where it is, its shapes what it takes and gives.

import { Hono, type Context } from "hono";
import { z } from "zod";
import { Fault } from "../base/fault.ts";
import { shown } from "../base/fits.ts";
import type { Call, Place } from "../calls/call.ts";
import type { Input } from "../calls/door.ts";
import { streams, type Stream, type StreamName } from "../calls/streams.ts";
import { calls, type CallName } from "../calls/table.ts";
import { jsonIn } from "./body.ts";
import type { Gate, LetIn } from "./gate.ts";
import { eventStream } from "./sse.ts";

/** What a place says. */
interface Route {
  readonly method: string;
  readonly path: string; //              as in /sessions/:sessionKey
  readonly inPath: readonly string[]; // names of properties
}

/** The JSON types of an input's properties, by name. What is in an address is a text, and has to become one of these. */
type Types = ReadonlyMap<string, string>;

type Given = Readonly<Record<string, unknown>>;

export function routeOf(place: Place): Route {
  const [method = "", path = ""] = place.split(" ");
  return { method, path, inPath: [...path.matchAll(/:(\w+)/g)].map(([, name = ""]) => name) };
}

/** To be mounted at /v1. */
export function restDoor(gate: Gate): Hono<LetIn> {
  const app = new Hono<LetIn>();
  const methods = new Map<string, string[]>();
  const add = ({ method, path }: Route, answer: (context: Context<LetIn>) => Promise<Response>): void => {
    methods.set(path, [...(methods.get(path) ?? []), method]);
    app.on(method, path, answer);
  };
  for (const [name, row] of Object.entries(streams as unknown as Record<string, Stream>))
    add(routeOf(row.http), streamed(gate, name as StreamName, row));
  for (const [name, row] of Object.entries(calls as unknown as Record<string, Call>))
    if (row.http !== null) add(routeOf(row.http), called(gate, name as CallName, { ...row, http: row.http }));
  for (const [path, allowed] of methods) app.all(path, (context) => wrongMethod(context, allowed));
  return app;
}

function called(gate: Gate, name: CallName, { http, input }: Call & { readonly http: Place }) {
  const route = routeOf(http);
  const types = typesOf(input);
  return async (context: Context<LetIn>): Promise<Response> => {
    const { caller, over } = context.var;
    if (route.method !== "GET") {
      const given = await posted(context, route, types);
      return context.json((await gate.door.call(name, caller, given as Input<CallName>, over)) as object);
    }
    const given = { ...queried(context, types), ...inPath(context, route, types) };
    // Who only asks changes nothing, whatever else it may: browsers and caches ask again as they like.
    return context.json((await gate.door.ask(name, caller, given as Input<CallName>, over)) as object);
  };
}

function streamed(gate: Gate, name: StreamName, { http, input }: Stream) {
  const route = routeOf(http);
  const types = typesOf(input);
  return async (context: Context<LetIn>): Promise<Response> => {
    const last = context.req.header("last-event-id"); // A browser that comes back says it here.
    const resumed = last === undefined || last === "" ? {} : { from: typed("from", last, types) };
    const given = { ...queried(context, types), ...inPath(context, route, types), ...resumed };
    return await eventStream(gate, context, name, given);
  };
}

function wrongMethod(context: Context<LetIn>, allowed: readonly string[]): Response {
  context.header("Allow", allowed.join(", "));
  const message = `there is no ${context.req.method} here; there is: ${allowed.join(", ")}`;
  return context.json({ error: { code: "bad_input", message, todo: "use one of these", retry: false } }, 405);
}

function inPath(context: Context<LetIn>, route: Route, types: Types): Given {
  const given = context.req.param() as Readonly<Record<string, string>>;
  return Object.fromEntries(route.inPath.map((name) => [name, typed(name, given[name] ?? "", types)]));
}

function queried(context: Context<LetIn>, types: Types): Given {
  const all = Object.entries(context.req.queries()).map(([name, texts]) => {
    const [text = "", ...more] = texts;
    if (more.length > 0) throw new Fault("bad_input", `${name}: it is given ${texts.length} times`);
    return [name, typed(name, text, types)];
  });
  return Object.fromEntries(all) as Given;
}

/** The body, what the path says, and the header under which other services take the sender's own id. */
async function posted(context: Context<LetIn>, route: Route, types: Types): Promise<Given> {
  const body = await jsonIn(context);
  if (typeof body !== "object" || body === null || Array.isArray(body))
    throw new Fault("bad_input", `the body is a JSON object, not ${shown(body)}`);
  const key = takesId(route, types) ? context.req.header("idempotency-key") : undefined;
  const beside: Given = {
    ...inPath(context, route, types),
    ...(key === undefined ? {} : { id: key }),
  };
  for (const [name, value] of Object.entries(beside))
    if (Object.hasOwn(body, name) && (body as Given)[name] !== value)
      throw new Fault(
        "bad_input",
        `${name}: the body says ${shown((body as Given)[name])}, the request ${shown(value)}`,
      );
  return { ...body, ...beside };
}

/** An id in the path is of something that is there; one beside it is the sender's own. */
function takesId({ inPath: names }: Route, types: Types): boolean {
  return types.has("id") && !names.includes("id");
}

function typesOf(input: z.ZodType): Types {
  const { properties = {} } = z.toJSONSchema(input, { io: "input" }) as {
    readonly properties?: Readonly<Record<string, { readonly type?: string }>>;
  };
  return new Map(Object.entries(properties).map(([name, { type = "string" }]) => [name, type]));
}

/** What is not of the type stays the text it is: the call says what it wants. */
function typed(name: string, text: string, types: Types): unknown {
  switch (types.get(name)) {
    case "integer":
    case "number":
      return /^-?\d+(?:\.\d+)?$/.test(text) ? Number(text) : text;
    case "boolean":
      return text === "true" ? true : text === "false" ? false : text;
    default:
      return text;
  }
}
