import { z } from "zod";
import { shown } from "../base/fits.ts";
import { instead } from "../base/near.ts";
import type { Agent } from "../config/config.ts";
import type { Session } from "../sessions/session.ts";
import type { Change } from "../store/store.ts";
import type { Block } from "../transcript/entry.ts";
import type { ToolForm } from "../models/model.ts";

/** What an agent can do besides speaking. */
export interface Tool<Input extends z.ZodType = z.ZodType> {
  readonly name: string;
  readonly description: string;
  readonly input: Input;
  /**
   * What happens to a call that was running when the process died.
   *   safe    it is run again: it reads, or all it does is in the changes that it returns
   *   never   it may or may not have taken effect: the model is told so, and decides
   */
  readonly replay: "safe" | "never";
  run(input: z.output<Input>, call: Calling): Promise<Output>;
}

/** Only so that `run` gets what `input` says. */
export function tool<Input extends z.ZodType>(of: Tool<Input>): Tool {
  return of as unknown as Tool;
}

/** One call, as its tool sees it. */
export interface Calling {
  readonly session: Session;
  readonly agent: Agent;
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
}

const forms = new WeakMap<z.ZodType, Readonly<Record<string, unknown>>>();

export function formOf(tool: Tool): ToolForm {
  let input = forms.get(tool.input);
  if (!input) {
    const { $schema: _dialect, ...schema } = z.toJSONSchema(tool.input, { io: "input" });
    forms.set(tool.input, (input = schema));
  }
  return { name: tool.name, description: tool.description, input };
}

/** The tools that an agent may use. Deny wins. */
export function allowed(tools: readonly Tool[], { allow, deny }: Agent["tools"]): readonly Tool[] {
  return tools.filter(({ name }) => (allow === null || allow.includes(name)) && !deny.includes(name));
}

/** What is wrong with what came in, in words: which field, and what belongs there. */
export function problemsIn({ issues }: z.ZodError, schema: z.ZodType): string {
  const known = schema instanceof z.ZodObject ? Object.keys(schema.shape) : [];
  const problems = issues.slice(0, 5).map((issue) => {
    const { path, message } = issue;
    if (issue.code === "unrecognized_keys" && path.length === 0 && known.length > 0)
      return issue.keys.map((key) => `${shown(key)} is not known here; ${instead(key, known)}`).join("; ");
    return `${path.length === 0 ? "the input" : path.map(String).join(".")}: ${message}`;
  });
  const more = issues.length > problems.length ? `; and ${issues.length - problems.length} more` : "";
  return `${problems.join("; ")}${more}`;
}
