// What is wrong with an input, in plain words: which field, what belongs there, and what was found. Made from the schema
// itself, so that no shape has to say it twice. Only for schemas of zod: those of others say it in their own words.

import type { StandardSchemaV1 } from "@standard-schema/spec";
import { z } from "zod";
import { shown } from "../base/fits.ts";
import { instead } from "../base/near.ts";

/** Problems that are told at once. One mistake can make dozens. */
const PROBLEMS_MAX = 5;

/** What is used of JSON Schema. */
interface Form {
  readonly type?: string | readonly string[];
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly anyOf?: readonly Form[];
  readonly properties?: Readonly<Record<string, Form>>;
  readonly additionalProperties?: Form | boolean;
  readonly items?: Form;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly exclusiveMinimum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
}

export function problemsIn(
  issues: readonly StandardSchemaV1.Issue[],
  schema: StandardSchemaV1,
  input: unknown,
): string {
  const form = schema instanceof z.ZodType ? formOf(schema) : {};
  const problems = issues.slice(0, PROBLEMS_MAX).map((issue) => problemIn(issue, form, input));
  const more = issues.length > problems.length ? `; and ${issues.length - problems.length} more` : "";
  return `${problems.join("; ")}${more}`;
}

function formOf(schema: z.ZodType): Form {
  return z.toJSONSchema(schema, { io: "input", unrepresentable: "any" }) as Form;
}

function problemIn(issue: StandardSchemaV1.Issue, root: Form, input: unknown): string {
  const path = (issue.path ?? []).map((part) => String(typeof part === "object" ? part.key : part));
  const where = path.length === 0 ? "the input" : path.join(".");
  const { code, keys = [] } = issue as Partial<z.core.$ZodIssueUnrecognizedKeys>;
  const form = path.reduce<Form | null>((at, part) => at && partOf(at, part), root);
  const known = Object.keys(objectIn(form)?.properties ?? {});
  if (code === "unrecognized_keys" && known.length > 0) {
    const unknown = keys.map((key) => `${shown(key)} is not known here; ${instead(key, known)}`).join("; ");
    return path.length === 0 ? unknown : `${where}: ${unknown}`;
  }
  const isExplained = BY_FORM.has(String(code)) && USUAL.test(issue.message);
  const wants = form && isExplained ? wordsOf(form) : null;
  if (wants === null) return `${where}: ${issue.message}`;
  const found = path.reduce<unknown>(valueIn, input);
  return `${where}: ${wants}${found === undefined ? "; it is missing" : `, not ${shown(found)}`}`;
}

/** Problems that the form explains. All others have a message of their own, which says more; and so have some of these. */
const BY_FORM: ReadonlySet<string> = new Set(["invalid_type", "invalid_value", "too_small", "too_big"]);
const USUAL = /^(?:Invalid input|Invalid option|Too big|Too small)\b/;

/** Null: the form does not say what belongs there. */
function partOf(form: Form, part: string): Form | null {
  const { properties, items, additionalProperties, anyOf = [] } = form;
  if (properties && Object.hasOwn(properties, part)) return properties[part] ?? null;
  if (items) return items;
  if (typeof additionalProperties === "object") return additionalProperties;
  for (const one of anyOf) {
    const found = partOf(one, part);
    if (found !== null) return found;
  }
  return null;
}

function objectIn(form: Form | null): Form | null {
  if (form === null || form.properties) return form;
  return form.anyOf?.find(({ properties }) => properties !== undefined) ?? null;
}

function valueIn(value: unknown, part: string): unknown {
  if (typeof value !== "object" || value === null || !Object.hasOwn(value, part)) return undefined;
  return (value as Readonly<Record<string, unknown>>)[part];
}

/** Null: it has no words for it. */
function wordsOf(form: Form): string | null {
  if (form.anyOf) {
    const words = form.anyOf.map(wordsOf);
    return words.includes(null) ? null : words.join(", or ");
  }
  if (typeof form.type === "object") return wordsOf({ anyOf: form.type.map((type) => ({ ...form, type })) });
  if (form.enum) return `one of ${form.enum.map(String).join(", ")}`;
  if (form.const !== undefined) return JSON.stringify(form.const);
  switch (form.type) {
    case "integer":
      return `a whole number${between(form.minimum, form.maximum)}`;
    case "number":
      if (form.exclusiveMinimum !== undefined)
        return `a number above ${form.exclusiveMinimum}${between(undefined, form.maximum)}`;
      return `a number${between(form.minimum, form.maximum)}`;
    case "string":
      return `a text${many(form.minLength, form.maxLength, "character")}`;
    case "array":
      return `a list${many(form.minItems, form.maxItems, "item")}`;
    case "boolean":
      return "true or false";
    case "object":
      return "an object";
    case "null":
      return "null";
    default:
      return null;
  }
}

/** The largest whole numbers that JavaScript has are no bound that anybody set. */
function between(least = -Infinity, most = Infinity): string {
  const [from, to] = [least > Number.MIN_SAFE_INTEGER, most < Number.MAX_SAFE_INTEGER];
  if (from && to) return ` from ${least} to ${most}`;
  if (from) return ` from ${least} on`;
  return to ? ` up to ${most}` : "";
}

function many(least: number | undefined, most: number | undefined, what: string): string {
  if (least === undefined && most === undefined) return "";
  if (most === undefined) return ` of at least ${least} ${what}${least === 1 ? "" : "s"}`;
  return least === undefined ? ` of at most ${most} ${what}s` : ` of ${least} to ${most} ${what}s`;
}
