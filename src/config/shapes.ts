// What belongs in a place of the configuration, in words: the message of an issue is what is wanted there (S1 of schema.ts).

import { z } from "zod";
import * as defaults from "./defaults.ts";

export function text(
  wants: string,
  pattern?: RegExp,
  charsMax: number = defaults.NAME_CHARS_MAX,
): z.ZodString {
  const error = { error: wants };
  const any = z.string(error).min(1, error).max(charsMax, error);
  return pattern === undefined ? any : any.regex(pattern, error);
}

export function whole(least: number, most: number): z.ZodInt {
  const error = `a whole number from ${least} to ${most}`;
  return z.int({ error }).min(least, { error }).max(most, { error });
}

export function oneOf<const Words extends readonly string[]>(
  ...words: Words
): z.ZodEnum<z.util.ToEnum<Words[number]>> {
  return z.enum(words, { error: `one of ${words.join(", ")}` });
}

export function list<Item extends z.ZodType>(item: Item): z.ZodArray<Item> {
  const error = `a list of at most ${defaults.LIST_ITEMS_MAX}`;
  return z.array(item, { error }).max(defaults.LIST_ITEMS_MAX, { error });
}

export function object<Shape extends z.ZodRawShape>(shape: Shape) {
  const known = Object.keys(shape).join(", ");
  return z.strictObject(shape, {
    error: (issue) => (issue.code === "unrecognized_keys" ? known : "an object"),
  });
}

/** An object whose keys people choose. Zod passes over the key "__proto__"; load.ts does not. */
export function names<Value extends z.ZodType>(
  key: z.ZodString,
  value: Value,
): z.ZodRecord<z.ZodString, Value> {
  return z.record(key, value, { error: "an object" });
}

export const name = text(`a text of 1 to ${defaults.NAME_CHARS_MAX} characters`);

export const path = text(
  `a path of at most ${defaults.PATH_CHARS_MAX} characters ("~/" is your home; "~name" is not known)`,
  /^(?!~[^/])[^\0]+$/,
  defaults.PATH_CHARS_MAX,
);

/** `${NAME}` in it is taken from the environment. */
export const secret = text(
  `one line of at most ${defaults.SECRET_CHARS_MAX} characters (\${NAME} is taken from the environment; $NAME is not)`,
  /^(?!\$[A-Za-z_]+$)[^\0\r\n]+$/,
  defaults.SECRET_CHARS_MAX,
);

/** Of a server: some have their key behind a "?". */
export const address = text(
  "an address that begins with http:// or https://, without a name and password in it",
  /^https?:\/\/[^\s@#]+$/,
  defaults.PATH_CHARS_MAX,
);
