// Secrets in what people, tools and providers wrote. A transcript keeps what happened; what is handed on of it to other
// sessions, or shown in a history, has the secrets taken out. No list of shapes is complete: this one has the usual ones.
// Secrets of the configuration are known, whatever their shape: they are taken out of the words of those who were given them.

import type { Secret } from "./secret.ts";

/** Secrets shorter than this are not looked for: "1" or "en", sent along as a header, would be found everywhere. */
const SECRET_CHARS_MIN = 6;

const NAMES =
  "(?:api[_-]?key|access[_-]?key|access[_-]?token|auth[_-]?token|client[_-]?secret|secret|password|passwd|token)";
const QUOTE = String.raw`\\{0,3}["']`;
const VALUE = String.raw`[^\s"',;\\]`;
const SCHEME = String.raw`\b[a-z][a-z0-9+.-]{1,20}:\/\/`;

/** What is found is not shown, but for its first group, by which it is known. */
const SHAPES: readonly (readonly [pattern: RegExp, shown: string])[] = [
  [
    /-----BEGIN [A-Z ]{0,40}PRIVATE KEY(?: BLOCK)?-----[\s\S]*?(?:-----END [A-Z ]{0,40}PRIVATE KEY(?: BLOCK)?-----|$)/g,
    "[redacted: private key]",
  ],
  [/\bsk-[A-Za-z0-9_-]{16,}/g, "[redacted: key]"],
  [/\b(?:ghp|gho|ghu|ghs|ghr)_[A-Za-z0-9]{20,}|\bgithub_pat_[A-Za-z0-9_]{20,}/g, "[redacted: key]"],
  [/\bxox[abeoprs]-[A-Za-z0-9-]{10,}/g, "[redacted: key]"],
  [/\b(?:AKIA|ASIA)[A-Z0-9]{16}\b/g, "[redacted: key]"],
  [/\bAIza[A-Za-z0-9_-]{30,}/g, "[redacted: key]"],
  [/\bglpat-[A-Za-z0-9_-]{16,}/g, "[redacted: key]"],
  [/\bnpm_[A-Za-z0-9]{30,}/g, "[redacted: key]"],
  [/(?<![A-Za-z0-9_-])eyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]+/g, "[redacted: token]"],
  [/(\b(?:bearer|basic) )[A-Za-z0-9._~+/=-]{16,}/gi, "[redacted]"],
  [new RegExp(String.raw`(${SCHEME}[^\s:/@]{1,200}:)[^\s@/]{1,200}(?=@)`, "gi"), "[redacted]"],
  // By the name it is given, in a shell, in a file, or in JSON inside of JSON, also as the first of a list.
  [
    new RegExp(
      `(?<![A-Za-z])(${NAMES}${QUOTE}?\\s{0,4}[:=]\\s{0,4}(?:\\[\\s{0,4})?${QUOTE}?)${VALUE}{6,200}`,
      "gi",
    ),
    "[redacted]",
  ],
  // The same in two fields: {"name":"API_KEY","value":"…"}.
  [
    new RegExp(
      `(\\b(?:name|key)${QUOTE}?\\s{0,4}:\\s{0,4}${QUOTE}(?:[A-Za-z0-9_-]{0,60}[_-])?${NAMES}${QUOTE}\\s{0,4},\\s{0,4}` +
        `${QUOTE}?value${QUOTE}?\\s{0,4}:\\s{0,4}${QUOTE})${VALUE}{6,200}`,
      "gi",
    ),
    "[redacted]",
  ],
];

/** A part of a text that is not shown, and what is in its place. */
export interface Hidden {
  readonly from: number;
  readonly to: number;
  readonly shown: string;
}

/** In their order, and apart. Of two that overlap the one that begins first, or is more exact, says what is in their place. */
export function secretsIn(text: string): readonly Hidden[] {
  const all: Hidden[] = [];
  for (const [pattern, shown] of SHAPES)
    // `matchAll` would make each of them anew, which takes longer than to look.
    for (let found = pattern.exec(text); found !== null; found = pattern.exec(text))
      all.push({
        from: found.index + (found[1]?.length ?? 0),
        to: found.index + found[0].length,
        shown,
      });
  if (all.length < 2) return all;
  const apart: Hidden[] = [];
  for (const each of all.toSorted((a, b) => a.from - b.from)) {
    const last = apart.at(-1);
    if (last === undefined || each.from >= last.to) apart.push(each);
    else apart[apart.length - 1] = { ...last, to: Math.max(last.to, each.to) };
  }
  return apart;
}

export function redacted(text: string): string {
  let [out, at] = ["", 0];
  for (const { from, to, shown } of secretsIn(text)) {
    out += text.slice(at, from) + shown;
    at = to;
  }
  return at === 0 ? text : out + text.slice(at);
}

/**
 * The same of all texts in a value, however deep they are. Names are texts too: a map may have anything as its keys. What is a secret
 * by the name that it has ({ password: "…" }) is known only together with the name: `under` is the name it stands under.
 */
export function redactedIn(value: unknown, under: string | null = null): unknown {
  if (typeof value === "string") return under === null ? redacted(value) : redactedUnder(under, value);
  if (Array.isArray(value)) return value.map((each) => redactedIn(each, under));
  if (typeof value !== "object" || value === null) return value;
  const pair = pairIn(value);
  return Object.fromEntries(
    Object.entries(value).map(([name, part]) => [
      redacted(name),
      redactedIn(part, pair !== null && name === pair.holder ? pair.name : name),
    ]),
  );
}

/** A variable or a header as many write it down: { name: "API_KEY", value: "…" }. Null: it is none. */
function pairIn(value: object): { readonly name: string; readonly holder: string } | null {
  const { name, key } = value as { readonly name?: unknown; readonly key?: unknown };
  const named = typeof name === "string" ? name : key;
  return typeof named === "string" && "value" in value ? { name: named, holder: "value" } : null;
}

function redactedUnder(name: string, text: string): string {
  const before = `${name}: `;
  const both = redacted(before + text);
  return both.startsWith(before) ? both.slice(before.length) : redacted(text);
}

/** How the shapes begin that have blanks in them, or in whose values any letter may be. */
const BEGINNINGS: readonly RegExp[] = [
  /-----BEGIN(?: [A-Z ]{0,52})?$/,
  /\b(?:bearer|basic) $/i,
  new RegExp(String.raw`${SCHEME}[^\s:/@]{0,200}(?::[^\s@/]{0,200})?$`, "i"),
  new RegExp(
    `(?<![A-Za-z])${NAMES}${QUOTE}?\\s{0,4}(?:[:=]\\s{0,4}(?:\\[\\s{0,4})?(?:${QUOTE})?${VALUE}{0,5})?$`,
    "i",
  ),
  new RegExp(
    `\\b(?:name|key)${QUOTE}?\\s{0,4}(?::\\s{0,4}(?:${QUOTE}(?:[A-Za-z0-9_-]{0,60}[_-])?${NAMES}${QUOTE}\\s{0,4}` +
      `(?:,\\s{0,4}(?:${QUOTE}?value${QUOTE}?\\s{0,4}(?::\\s{0,4}(?:${QUOTE}${VALUE}{0,5})?)?)?)?)?)?$`,
    "i",
  ),
];

/** Characters of the longest of these beginnings, and more: further back none of them begins. */
const BEGINNING_CHARS_MAX = 512;

/**
 * Where, in a text that goes on, what comes next may still make a secret of the end: the last word, and what would make one of it. Its
 * length: nowhere. Up to there the text says by itself what is a secret in it, but for one that `secretsIn` finds to reach its end.
 */
export function openIn(text: string): number {
  let word = text.length;
  while (word > 0 && !isBetweenWords(text.charCodeAt(word - 1))) word -= 1;
  const before = text.slice(Math.max(0, word - BEGINNING_CHARS_MAX), word);
  const at = BEGINNINGS.map((pattern) => before.search(pattern)).filter((found) => found >= 0);
  return at.length === 0 ? word : word - before.length + Math.min(...at);
}

/**
 * A blank; or what no key is made of: a control character, or a letter of those who write without blanks (Chinese, Japanese). A password
 * may be made of these: the beginnings above say where one is.
 */
function isBetweenWords(code: number): boolean {
  return code <= 32 || code === 0xa0 || (code >= 0x2e80 && code < 0xd800);
}

/** Call it before anything is cut off: a text that ends in the middle of a secret would keep its beginning. */
export function withoutSecrets(text: string, secrets: readonly Secret[]): string {
  return cleaning(secrets)(text);
}

/** The same for many texts: what is looked for is put together once. */
export function cleaning(secrets: readonly Secret[]): (text: string) => string {
  const forms = formsOf(secrets);
  return (text) => forms.reduce((out, form) => out.replaceAll(form, "[secret]"), text);
}

/** Characters of the longest text that is taken out: so much can be left of one at the end of a text that was cut. */
export function secretCharsMax(secrets: readonly Secret[]): number {
  return formsOf(secrets)[0]?.length ?? 0;
}

/** As they stand in words, in JSON and in addresses. The longest first: one may be the beginning of another. */
function formsOf(secrets: readonly Secret[]): readonly string[] {
  const texts = secrets
    .flatMap((secret) => secret.texts())
    .filter(({ length }) => length >= SECRET_CHARS_MIN);
  const forms = texts.flatMap((text) => [
    text,
    JSON.stringify(text).slice(1, -1),
    encodeURIComponent(text.toWellFormed()),
  ]);
  return [...new Set(forms)].toSorted((a, b) => b.length - a.length);
}
