import type { StandardJSONSchemaV1, StandardSchemaV1 } from "@standard-schema/spec";
import type { Agent, ToolPolicy } from "../config/config.ts";
import type { Class } from "../mail/letter.ts";
import type { ToolForm } from "../models/model.ts";
import type { Session } from "../sessions/session.ts";
import type { Change } from "../store/change.ts";
import type { Block } from "../transcript/entry.ts";
import { problemsIn } from "./wants.ts";

/** What an agent can do besides speaking. */
export interface Tool<Input extends StandardSchemaV1 = StandardSchemaV1> {
  readonly name: string;
  readonly description: string;
  /** Of any library that speaks Standard Schema: zod, valibot, arktype and others. */
  readonly input: Input;
  /** JSON Schema of the arguments. Needed only when `input` cannot tell its own. */
  readonly form?: Readonly<Record<string, unknown>>;
  /**
   * What happens to a call that was running when the process died.
   *   safe    it is run again: it reads, or all it does is in the changes that it returns
   *   never   it may or may not have taken effect: the model is told so, and decides
   */
  readonly replay: "safe" | "never";
  /** It runs a program, or a thread: it begins when there is a slot for one, and its time is counted from then on. */
  readonly process?: true;
  /**
   * It gives tasks to other sessions, or waits for them: calls of one step that do so are made one after the other, each with
   * what the one before did, and as long as they wait is bounded by the turn's time and not by a tool's.
   */
  readonly delegates?: true;
  run(input: StandardSchemaV1.InferOutput<Input>, call: Calling): Promise<Output>;
}

/** Only so that `run` gets what `input` says. */
export function tool<Input extends StandardSchemaV1>(of: Tool<Input>): Tool {
  return of as unknown as Tool;
}

/** One call, as its tool sees it. */
export interface Calling {
  readonly session: Session;
  readonly agent: Agent;
  /** Whose work it is done for: what it starts is no more urgent. */
  readonly class: Class;
  /** The same for this call whenever it is run, and for no other: what ids of its effects are made of. */
  readonly cause: string;
  /** Aborted: nobody waits for the result any more. */
  readonly signal: AbortSignal;
}

/** A text, or more. */
export type Output = string | Result;

export interface Result {
  readonly content: string | readonly Block[];
  readonly isError?: boolean;
  /** For programs; a model is not shown it. */
  readonly details?: unknown;
  /** What it does to the store. Committed together with the result, or not at all. */
  readonly changes?: readonly Change[];
  /** What its processes used. */
  readonly used?: { readonly cpuMs: number; readonly peakBytes: number };
}
const forms = new WeakMap<object, Readonly<Record<string, unknown>>>();

/** Throws when neither the schema nor the tool can say what a model is to be shown. */
export function formOf({ name, description, input, form }: Tool): ToolForm {
  let shape = form ?? forms.get(input);
  if (shape === undefined) {
    const { jsonSchema } = input["~standard"] as Partial<StandardJSONSchemaV1.Props>;
    if (jsonSchema === undefined) throw new Error("its schema cannot tell JSON Schema; give it as `form`");
    const { $schema: _dialect, ...told } = jsonSchema.input({ target: "draft-2020-12" });
    if (told["type"] !== "object")
      throw new Error("its schema is not one of an object, which is all that models fill in");
    forms.set(input, (shape = told));
  }
  return { name, description, input: shape };
}

const formBytes = new WeakMap<Tool, number>();

/** Bytes of what a model is shown of it, as JSON. Every turn asks, and it never changes. */
export function formBytesOf(tool: Tool): number {
  let bytes = formBytes.get(tool);
  if (bytes === undefined) formBytes.set(tool, (bytes = Buffer.byteLength(JSON.stringify(formOf(tool)))));
  return bytes;
}

/** The tools that an agent may use. Deny wins. A name that ends with `*` means all that begin so. */
export function allowed(tools: readonly Tool[], policy: ToolPolicy): readonly Tool[] {
  return tools.filter(({ name }) => isAllowed(name, policy));
}

export function isAllowed(name: string, { within, ...own }: ToolPolicy): boolean {
  return [own, ...within].every(
    ({ allow, deny }) => (allow === null || isAmong(name, allow)) && !isAmong(name, deny),
  );
}

function isAmong(name: string, names: readonly string[]): boolean {
  return names.some((each) => (each.endsWith("*") ? name.startsWith(each.slice(0, -1)) : name === each));
}

/** What came in, as its schema makes it; or what is wrong with it, in words. */
export type Checked = { readonly value: unknown } | { readonly problems: string };

/** A promise only if the schema takes its time. */
export function checked(schema: StandardSchemaV1, input: unknown): Checked | Promise<Checked> {
  const judged = (result: StandardSchemaV1.Result<unknown>): Checked =>
    result.issues === undefined
      ? { value: result.value }
      : { problems: problemsIn(result.issues, schema, input) };
  const result = schema["~standard"].validate(input);
  return result instanceof Promise ? result.then(judged) : judged(result);
}
