// The OpenAPI document of what is below /v1, made from the tables: every call that people may make and every stream. Doors
// that have a protocol of their own are not in it: /rpc, /ws, /mcp, /hooks and those for clients of OpenAI.

import { z } from "zod";
import type { Call } from "../calls/call.ts";
import { streams, type Stream } from "../calls/streams.ts";
import { calls } from "../calls/table.ts";
import { routeOf } from "./rest.ts";

interface Schema {
  readonly [word: string]: unknown;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
}

/** `:name` is written `{name}` there. */
type Paths = Record<string, Record<string, object>>;

export function openApi(version: string): object {
  const paths: Paths = {};
  for (const [name, row] of Object.entries(calls as unknown as Record<string, Call>)) {
    if (row.http === null) continue;
    const { method, path } = routeOf(row.http);
    at(paths, path)[method.toLowerCase()] = callOf(name, row, row.http);
  }
  for (const [name, row] of Object.entries(streams as unknown as Record<string, Stream>))
    at(paths, routeOf(row.http).path)["get"] = streamOf(name, row);
  return {
    openapi: "3.1.0",
    info: {
      title: "sessiond",
      version,
      description:
        "The session daemon for AI agents. Every operation is also a method of JSON-RPC at /rpc and /ws.",
    },
    servers: [{ url: "/" }],
    security: [{ token: [] }],
    paths,
    components: {
      securitySchemes: { token: { type: "http", scheme: "bearer" } },
      schemas: { Error: ERROR },
    },
  };
}

const ERROR: Schema = {
  type: "object",
  properties: {
    error: {
      type: "object",
      properties: {
        code: { type: "string" },
        message: { type: "string" },
        todo: { type: "string", description: "What to do about it." },
        retry: { type: "boolean", description: "True: the same request may succeed later." },
      },
      required: ["code", "message", "todo", "retry"],
    },
  },
  required: ["error"],
};

function at(paths: Paths, path: string): Record<string, object> {
  const written = `/v1${path.replaceAll(/:(\w+)/g, "{$1}")}`;
  return (paths[written] ??= {});
}

function callOf(
  name: string,
  { about, scope, input, output }: Call,
  http: NonNullable<Call["http"]>,
): object {
  const { method, inPath } = routeOf(http);
  const given = schemaOf(input, "input");
  const isGet = method === "GET";
  const id: readonly object[] =
    isGet || given.properties?.["id"] === undefined || inPath.includes("id")
      ? []
      : [
          {
            name: "Idempotency-Key",
            in: "header",
            schema: { type: "string" },
            description: "The same as `id`.",
          },
        ];
  return {
    operationId: name,
    summary: about,
    description: `Scope: ${scope}.`,
    parameters: [...parametersOf(given, inPath, isGet), ...id],
    ...(isGet ? {} : { requestBody: bodyOf(given, inPath) }),
    responses: responses({ "application/json": { schema: schemaOf(output, "output") } }),
  };
}

function streamOf(name: string, { about, scope, http, input, output }: Stream): object {
  const { inPath } = routeOf(http);
  return {
    operationId: name,
    summary: about,
    description: `Scope: ${scope}. Server-sent events: the data of each is one of the schema. Last-Event-ID goes on after it.`,
    parameters: parametersOf(schemaOf(input, "input"), inPath, true),
    responses: responses({ "text/event-stream": { schema: schemaOf(output, "output") } }),
  };
}

function responses(content: object): object {
  const error = { "application/json": { schema: { $ref: "#/components/schemas/Error" } } };
  return {
    "200": { description: "It was done.", content },
    default: {
      description: "It was refused, and nothing of it happened; with outcome_unknown or bug it may have.",
      content: error,
    },
  };
}

function parametersOf(given: Schema, inPath: readonly string[], isGet: boolean): readonly object[] {
  return Object.entries(given.properties ?? {}).flatMap(([name, { description, ...schema }]) => {
    const isInPath = inPath.includes(name);
    if (!isInPath && !isGet) return [];
    const required = isInPath || (given.required?.includes(name) ?? false);
    return [
      { name, in: isInPath ? "path" : "query", required, schema, ...(description ? { description } : {}) },
    ];
  });
}

function bodyOf(given: Schema, inPath: readonly string[]): object {
  const properties = Object.entries(given.properties ?? {}).filter(([name]) => !inPath.includes(name));
  const required = given.required?.filter((name) => !inPath.includes(name)) ?? [];
  const schema = { ...given, properties: Object.fromEntries(properties), required };
  return { required: required.length > 0, content: { "application/json": { schema } } };
}

function schemaOf(of: z.ZodType, io: "input" | "output"): Schema {
  const { $schema: _which, ...schema } = z.toJSONSchema(of, { io, unrepresentable: "any" });
  return schema as Schema;
}
