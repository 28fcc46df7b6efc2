// Writes docs/calls.md, from the table of calls and the table of streams. A test says when it is time:
//
//   node src/calls/publish.ts

import { writeFile } from "node:fs/promises";
import { z } from "zod";
import type { Call } from "./call.ts";
import { streams, type Stream } from "./streams.ts";
import { calls } from "./table.ts";

export const PUBLISHED = new URL("../../docs/calls.md", import.meta.url);

/** What is used of JSON Schema. */
interface Form {
  readonly type?: string | readonly string[];
  readonly description?: string;
  readonly default?: unknown;
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly anyOf?: readonly Form[];
  readonly properties?: Readonly<Record<string, Form>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: Form | boolean;
  readonly items?: Form;
}

const HEAD = `# Calls

Everything that can be asked of sessiond, and everything that can be followed. This page is made from the tables that the doors
are made from ([table.ts](../src/calls/table.ts), [streams.ts](../src/calls/streams.ts)): \`node src/calls/publish.ts\` writes it.

A call has one name wherever it is made: \`sessions.call(name, input)\` in the library, a method of JSON-RPC, and a place below \`/v1\`
over HTTP. There, a \`:name\` in the path is that property of the input; \`GET\` takes the others from the query, the rest from a
JSON body. Names that are not known are refused, and so is what does not fit: \`bad_input\` says what would.

*May be repeated*: calling it twice does what calling it once does. Who may: \`read\` looks, \`operate\` also works with sessions, \`admin\` also says who may. Each contains those before it.
`;

export function publishedText(): string {
  const rows = Object.entries(calls as unknown as Record<string, Call>);
  const streamed = Object.entries(streams as unknown as Record<string, Stream>);
  return [
    HEAD,
    summary([...rows, ...streamed]),
    "## The calls\n",
    ...rows.map(([name, row]) => section(name, row, placeOf(row))),
    "## The streams\n",
    "What happens, as it happens. Over HTTP these are events of a stream (SSE), over a socket they are subscribed to. An event\n" +
      "with `resume` can be gone on from: who comes back with it as `from` misses nothing and hears nothing twice.\n",
    ...streamed.map(([name, row]) => section(name, row, `\`${row.http}\` · ${row.scope}`)),
  ].join("\n");
}

function summary(rows: readonly (readonly [string, Pick<Call | Stream, "http" | "scope">])[]): string {
  const lines = rows.map(
    ([name, { http, scope }]) =>
      `| [${name}](#${name.toLowerCase()}) | ${http === null ? "–" : `\`${http}\``} | ${http === null ? "agents" : scope} |`,
  );
  return `| call | HTTP, below \`/v1\` | who may |\n|---|---|---|\n${lines.join("\n")}\n`;
}

function placeOf({ http, scope, tool, who, idempotent }: Call): string {
  const parts = [
    http === null ? "for agents only" : `\`${http}\` · ${scope}`,
    ...(tool === null || who === "person" ? [] : [`agents call it \`${tool}\``]),
    ...(idempotent ? ["may be repeated"] : []),
  ];
  return parts.join(" · ");
}

function section(
  name: string,
  row: Pick<Call | Stream, "about" | "input" | "output">,
  place: string,
): string {
  const input = formsOf(row.input, "input").map((form) => table("input", within(form, INPUT)));
  const output = formsOf(row.output, "output").map((form) => table("output", within(form, OUTPUT)));
  const tables = [...input, ...output].filter((part) => part !== null);
  return [`### ${name}\n`, `${row.about}\n`, `${place}\n`, ...tables].join("\n");
}

interface Property {
  readonly name: string;
  readonly what: string;
  readonly about: string;
}

/** Null: there is nothing to be shown. */
function table(title: string, properties: readonly Property[]): string | null {
  if (properties.length === 0) return null;
  const lines = properties.map(({ name, what, about }) => `| \`${name}\` | ${cell(what)} | ${cell(about)} |`);
  return `| ${title} | | |\n|---|---|---|\n${lines.join("\n")}\n`;
}

function cell(text: string): string {
  return text.replaceAll("|", "\\|").replaceAll("<", "\\<").replaceAll("\n", " ");
}

/** One, or of a union each. */
function formsOf(schema: z.ZodType, io: "input" | "output"): readonly Form[] {
  const form = z.toJSONSchema(schema, { io, unrepresentable: "any" }) as Form;
  return form.anyOf ?? [form];
}

interface Showing {
  readonly before: string; // the names above it
  readonly levels: number; // how deep properties of properties are shown
  readonly isInput: boolean;
}

const INPUT: Showing = { before: "", levels: 2, isInput: true };
const OUTPUT: Showing = { ...INPUT, isInput: false };

function within(form: Form, { before, levels, isInput }: Showing): readonly Property[] {
  const required = new Set(form.required);
  return Object.entries(form.properties ?? {}).flatMap(([each, part]) => {
    const name = `${before}${each}`;
    const usual = part.default === undefined ? "" : ` (${JSON.stringify(part.default)})`;
    const what = `${kindOf(part)}${usual}${isInput && required.has(each) ? ", needed" : ""}`;
    const { inner, suffix } = innerOf(part);
    const parts = Object.entries(inner?.properties ?? {});
    // What has nothing to say of its properties but their names has them in one line.
    const isPlain = parts.every(([, below]) => aboutOf(below) === "");
    const names = parts.map(([below]) => `\`${below}\``).join(", ");
    if (inner === null || isPlain || levels <= 1) {
      const about = [aboutOf(part), names === "" ? "" : `${names}.`]
        .filter((words) => words !== "")
        .join(" ");
      return [{ name, what, about }];
    }
    const deeper = { before: `${name}${suffix}.`, levels: levels - 1, isInput };
    return [{ name, what, about: aboutOf(part) }, ...within(inner, deeper)];
  });
}

/** The properties of an object, or of each object of a list; null: it has none. */
function innerOf(form: Form): { readonly inner: Form | null; readonly suffix: string } {
  const one = form.anyOf?.find(({ type }) => type === "object" || type === "array") ?? form;
  if (one.type === "array" && one.items) return { inner: innerOf(one.items).inner, suffix: "[]" };
  return { inner: one.properties ? one : null, suffix: "" };
}

/** What is said of it, wherever in it that stands. */
function aboutOf(form: Form): string {
  return (
    form.description ?? form.anyOf?.find(({ description }) => description !== undefined)?.description ?? ""
  );
}

function kindOf(form: Form): string {
  if (form.anyOf) return [...new Set(form.anyOf.map(kindOf))].join(" or ");
  if (typeof form.type === "object") return form.type.map((type) => kindOf({ ...form, type })).join(" or ");
  if (form.enum) return form.enum.map((each) => `\`${String(each)}\``).join(", ");
  if (form.const !== undefined) return `\`${String(form.const)}\``;
  switch (form.type) {
    case "string":
      return "text";
    case "integer":
      return "whole number";
    case "boolean":
      return "true or false";
    case "array":
      return `list of ${form.items ? kindOf(form.items) : "anything"}`;
    default:
      return form.type ?? "anything";
  }
}

if (import.meta.main) await writeFile(PUBLISHED, publishedText());
