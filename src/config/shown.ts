// The configuration as people are shown it: plain JSON, without secrets. Those that are known as such are not texts any more
// (Secret); what else looks like one, in an address or an argument, is taken out too: rather too much than too little. A secret of no
// known shape that is written where none belongs, such as in the name of a model, is shown.

import { cleaning, redacted } from "../base/redact.ts";
import { Secret } from "../base/secret.ts";
import type { Config } from "./config.ts";
import { secretsIn } from "./outside.ts";

const HIDDEN = "[secret]";

/** An argument of a program that names a secret, which follows in it (--api-key=…, TOKEN=…, Authorization: …) or is the next. */
const NAMES_A_SECRET =
  /^(-{0,2}[\w.-]*(?:key|token|secret|pass|pwd|auth|bearer|cred|cookie|header|jwt)[\w.-]*)(?:([=:]\s*)\S|$)/i;

/** In an address: who logs in, and all that is asked or pointed to. */
const LOGIN = /(\b[a-z][a-z0-9+.-]*:\/\/)[^\s/?#]*@/gi;
const ASKED = /(\b[a-z][a-z0-9+.-]*:\/\/[^\s?#]*)([?#]\S*)/gi;

/** Words, as in /mcp or /api/answers. Any other path may be what lets one in. */
const PLAIN_PATH = /^(?:\/[a-z]{1,12})*\/?$/i;

type Clean = (text: string) => string;

export function shownConfig(config: Config): Readonly<Record<string, unknown>> {
  const clean = cleaning(secretsIn(config));
  const shown = plain(config, (text) => withoutLogin(redacted(clean(text))));
  return shown as Readonly<Record<string, unknown>>;
}

/** A map is an object to whoever reads it. */
function plain(value: unknown, clean: Clean): unknown {
  if (typeof value === "string") return clean(value);
  if (typeof value !== "object" || value === null) return value;
  if (value instanceof Secret) return HIDDEN;
  if (Array.isArray(value)) return value.map((each) => plain(each, clean));
  const named = value instanceof Map ? [...value] : Object.entries(value);
  return Object.fromEntries(named.map(([name, each]) => [name, property(String(name), each, clean)]));
}

function property(name: string, value: unknown, clean: Clean): unknown {
  if (name === "args" && Array.isArray(value)) return value.map((_, at) => argument(value, at, clean));
  if (name === "url" && typeof value === "string") return withoutPath(clean(value));
  return plain(value, clean);
}

function argument(all: readonly unknown[], at: number, clean: Clean): unknown {
  const text = String(all[at]);
  const before = NAMES_A_SECRET.exec(String(all[at - 1] ?? ""));
  if (before?.[1]?.startsWith("-") && before[2] === undefined) return HIDDEN;
  const [, name, sign] = NAMES_A_SECRET.exec(text) ?? [];
  return name === undefined || sign === undefined ? clean(text) : `${name}${sign}${HIDDEN}`;
}

function withoutLogin(text: string): string {
  return text
    .replaceAll(LOGIN, `$1${HIDDEN}@`)
    .replaceAll(ASKED, (_all, address: string, asked: string) => address + withoutValues(asked));
}

/** The names stay. Where there is none, all of it may be the secret. */
function withoutValues(asked: string): string {
  return asked.replaceAll(/([?&#])([^=&#]*=)?[^&#]+/g, (_all, sign: string, name?: string) =>
    name === undefined ? `${sign}${HIDDEN}` : `${sign}${name}${HIDDEN}`,
  );
}

function withoutPath(address: string): string {
  return address.replace(/^([a-z]+:\/\/[^/?#]*)(\/[^?#]*)/i, (all, origin: string, path: string) =>
    PLAIN_PATH.test(path) ? all : `${origin}/${HIDDEN}`,
  );
}
