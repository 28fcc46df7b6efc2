// The configuration as people are shown it: plain JSON, without secrets. Those that are known as such are not texts any more
// (Secret); what else looks like one, in an address or an argument, is taken out too. A secret of no known shape that is written where
// none belongs, such as in the name of a model, is shown.

import { cleaning, redacted } from "../base/redact.ts";
import { Secret } from "../base/secret.ts";
import type { Config } from "./config.ts";
import { secretsIn } from "./outside.ts";

/** An argument of a program after which a secret comes: --token, -password, --api-key. */
const BEFORE_A_SECRET = /^--?(?:[\w-]*[-_])?(?:key|token|secret|password|passwd|pass|auth|bearer)$/i;

const HIDDEN = "[secret]";

export function shownConfig(config: Config): Readonly<Record<string, unknown>> {
  const clean = cleaning(secretsIn(config));
  return plain(config, (text) => redacted(clean(text))) as Readonly<Record<string, unknown>>;
}

/** A map is an object to whoever reads it. */
function plain(value: unknown, clean: (text: string) => string): unknown {
  if (typeof value === "string") return clean(value);
  if (typeof value !== "object" || value === null) return value;
  if (value instanceof Secret) return HIDDEN;
  if (Array.isArray(value))
    return value.map((each, at) => (isSecretAt(value, at) ? HIDDEN : plain(each, clean)));
  const named = value instanceof Map ? [...value] : Object.entries(value);
  return Object.fromEntries(named.map(([name, each]) => [name, plain(each, clean)]));
}

function isSecretAt(list: readonly unknown[], at: number): boolean {
  const before = list[at - 1];
  return typeof before === "string" && BEFORE_A_SECRET.test(before) && typeof list[at] === "string";
}
