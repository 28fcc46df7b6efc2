// What a server says its tools are, as far as it can be shown to a model: every part is looked at, bounded and made harmless,
// and a tool that cannot be is left out with a reason.

import { createHash } from "node:crypto";
import { z } from "zod";
import { defused } from "../../routing/envelope.ts";
import { shortly } from "./words.ts";

/** Tools of one server. Each is in every prompt; beyond some dozens models choose badly anyway. */
const TOOLS_MAX = 200;

/** Characters of a tool's description, for the same reason. */
const DESCRIPTION_CHARS_MAX = 2_000;

/** Characters of its own name. What it is called here is shorter. */
const NAME_CHARS_MAX = 500;

/** Bytes of the JSON Schema of its arguments, and how deep it goes: it is walked by recursion, here and elsewhere. */
const FORM_BYTES_MAX = 64 * 1024;
const FORM_DEPTH_MAX = 64;

/** What providers take for the name of a tool. */
const SHOWN_NAME_CHARS_MAX = 64;
const HASH_CHARS = 8;

type Fields = Readonly<Record<string, unknown>>;

export interface Listed {
  readonly name: string; //        at its server, whatever that holds
  readonly description: string;
  readonly form: Fields;
  readonly replay: "safe" | "never";
}

const LISTED = z.object({
  name: z.string().min(1).max(NAME_CHARS_MAX),
  title: z.string().optional().catch(undefined),
  description: z.string().optional().catch(undefined),
  inputSchema: z.looseObject({ type: z.literal("object") }),
  annotations: z.object({ readOnlyHint: z.unknown().optional() }).optional().catch(undefined),
});

/** In the order of their names, so that the same tools make the same prompt. */
export function listed(tools: readonly unknown[]): {
  readonly kept: readonly Listed[];
  readonly leftOut: readonly string[];
} {
  const kept = new Map<string, Listed>();
  const leftOut: string[] = [];
  for (const each of tools) {
    const tool = toolIn(each);
    if (typeof tool === "string") leftOut.push(tool);
    else if (kept.has(tool.name)) leftOut.push(`${shortly(tool.name, 80)}: its name is there twice`);
    else if (kept.size >= TOOLS_MAX)
      leftOut.push(`${shortly(tool.name, 80)}: there are ${TOOLS_MAX} before it`);
    else kept.set(tool.name, tool);
  }
  return { kept: [...kept.values()].toSorted((a, b) => compare(a.name, b.name)), leftOut };
}

/** A text says why it is left out. */
function toolIn(given: unknown): Listed | string {
  const called = (given as { readonly name?: unknown } | null)?.name;
  const name = typeof called === "string" ? shortly(called, 80) : "a tool without a name";
  const { success, data: tool, error } = LISTED.safeParse(given);
  if (!success) return `${name}: ${error.issues[0]?.path.join(".") ?? "it"} is not what it must be`;
  const form = formIn(tool.inputSchema);
  if (form === null) return `${name}: the schema of its arguments is too large`;
  return {
    name: tool.name,
    description: described(tool.description ?? tool.title ?? ""),
    form,
    // That a repeat adds nothing (idempotentHint) is not enough: meanwhile somebody else may have changed it again.
    replay: tool.annotations?.readOnlyHint === true ? "safe" : "never",
  };
}

function described(text: string): string {
  const isLong = text.length > DESCRIPTION_CHARS_MAX;
  return defused(`${text.slice(0, DESCRIPTION_CHARS_MAX).toWellFormed()}${isLong ? " …" : ""}`);
}

/** Null: it is too large. Which dialect it is in is left out: not every provider takes that. */
function formIn({ $schema: _dialect, ...schema }: Fields): Fields | null {
  if (isDeeper(schema, FORM_DEPTH_MAX)) return null;
  if (Buffer.byteLength(JSON.stringify(schema)) > FORM_BYTES_MAX) return null;
  return harmless(schema) as Fields;
}

function isDeeper(value: unknown, depthMax: number): boolean {
  if (typeof value !== "object" || value === null) return false;
  return depthMax === 0 || Object.values(value).some((each) => isDeeper(each, depthMax - 1));
}

/** What stands in a schema is read by models like any text. */
function harmless(value: unknown): unknown {
  if (typeof value === "string") return defused(value.toWellFormed());
  if (Array.isArray(value)) return value.map(harmless);
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).map(([key, each]) => [defused(key.toWellFormed()), harmless(each)]);
  return Object.fromEntries(entries);
}

/** One tool of one server. */
export interface Placed {
  readonly server: string;
  readonly tool: Listed;
}

/**
 * What each is called here: `<server>__<tool>` in the letters that providers take. Those that would be called the same all
 * get a hash of what they are, so none depends on who came first. Who collides even so is left out.
 */
export function named<Of extends Placed>(tools: readonly Of[]): ReadonlyMap<string, Of> {
  const plain = Map.groupBy(tools, plainName);
  const out = new Map<string, Of>();
  const hashed: Of[] = [];
  for (const [name, group] of plain) {
    const [only, ...others] = group;
    if (only && others.length === 0) out.set(name, only);
    else hashed.push(...group);
  }
  for (const each of hashed) {
    const name = withHash(each);
    if (!out.has(name)) out.set(name, each);
  }
  return new Map([...out].toSorted(([a], [b]) => compare(a, b)));
}

function plainName(placed: Placed): string {
  const name = letters(placed);
  return name.length <= SHOWN_NAME_CHARS_MAX ? name : withHash(placed);
}

function withHash(placed: Placed): string {
  const hash = createHash("sha256").update(`${placed.server}\n${placed.tool.name}`).digest("hex");
  return `${letters(placed).slice(0, SHOWN_NAME_CHARS_MAX - HASH_CHARS - 1)}_${hash.slice(0, HASH_CHARS)}`;
}

function letters({ server, tool }: Placed): string {
  return `${server}__${tool.name}`.replaceAll(/[^a-zA-Z0-9_-]/g, "_");
}

/** By code units: the same on every machine. */
function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
