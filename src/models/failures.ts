// What went wrong when a provider was asked, sorted by what can be done about it. Errors are known by their names and not
// by their classes: the provider packages are loaded only when one is asked.
//
// A provider is paused (`throttled`) only when it said itself that it has too much to do. What is wrong with our own data
// is `local`: no other session waits because of it.

import { redacted, withoutSecrets } from "../base/redact.ts";
import type { Secret } from "../base/secret.ts";
import type { Answer } from "./model.ts";
import { Broken } from "./stream.ts";

/** The longest pause that a provider can ask for: who says "tomorrow" is asked again after this, and says it again. */
const RETRY_AFTER_MS_MAX = 10 * 60 * 1_000;

/** Characters of what a provider says about a failure. */
const SAID_CHARS_MAX = 500;

/** Errors inside each other that are looked at. */
const CAUSES_MAX = 8;

type Failed = Extract<Answer, { kind: "failed" }>;
type Why = Failed["why"];

/** Whom we asked, and what must not be told of it. */
export interface Asked {
  readonly provider: string;
  readonly secrets: readonly Secret[];
  /** Where a key is written down. */
  readonly keyHint: string;
  readonly nowMs: number;
}

/** The fields of any error that are looked at. All of them come from others. */
interface Told {
  readonly name?: unknown;
  readonly message?: unknown;
  readonly statusCode?: unknown;
  readonly responseBody?: unknown;
  readonly responseHeaders?: unknown;
  readonly data?: unknown;
  readonly code?: unknown;
  readonly type?: unknown;
  readonly url?: unknown;
  readonly cause?: unknown;
}

/** The words for "too long" of Anthropic, OpenAI, Google, llama.cpp, vLLM, Ollama, LM Studio and others. */
const TOO_LONG = new RegExp(
  [
    "prompt (?:is )?too long|input (?:is )?too long|context_length_exceeded|maximum context length|request_too_large",
    "exceeds? (?:the )?(?:model'?s? )?(?:maximum )?context|exceed_context_size|available context size|max_model_len",
    "exceeds the maximum number of tokens|longer than the (?:model'?s? )?(?:maximum )?context|context window",
    "reduce the length of (?:the |your )?(?:messages|prompt|input)|greater than the context length|too many tokens",
    "input token count .{0,40}exceeds|context overflow",
  ].join("|"),
  "i",
);

/** Statuses with which a text about length is about the context, and not about tokens in a minute. */
const TOO_LONG_STATUSES: ReadonlySet<number | null> = new Set([400, 413, 422, 500, null]);

/** Refusals of a key, or of an account without money, that have a status which says something else. */
const NO_ENTRY =
  /api key not valid|api_key_invalid|credit balance is too low|insufficient_quota|billing_error/i;

/** Of these, those that another key of the same account would meet too. */
const NO_MONEY = /credit balance|insufficient_quota|billing|quota|payment/i;

/** Refusals of a picture: what is wrong with it, or that this model sees none. */
const ABOUT_PICTURES =
  /\bimages?\b|image[_-]|\bpictures?\b|\bvision\b|\bmulti-?modal|\bmmproj\b|inline_?data/i;

/** Local servers call it an error of theirs that they cannot see. */
const PICTURELESS = 500;

/** Of a proxy, for people. */
const PAGE = /<(?:!doctype|html|head|body)\b/i;

const BUSY: ReadonlySet<number> = new Set([429, 503, 529]);
const PASSING: ReadonlySet<number> = new Set([408, 409, 425]);

export function failureOf(error: unknown, asked: Asked): Failed {
  const isAnswer = error instanceof Broken;
  const told = tellingOf(isAnswer ? error.cause : error);
  const status = statusOf(told);
  const text = wordsOf(told);
  const why = whyOf(told, status, { text, isAnswer });
  const isBusy = why === "retry" && status !== null && BUSY.has(status);
  return {
    kind: "failed",
    why,
    message: cleaned(sentence(told, { asked, why, status, text }), asked.secrets),
    retryAfterMs: why === "retry" ? retryAfterMs(told, asked.nowMs) : null,
    throttled: isBusy,
  };
}

/**
 * Whether a request was refused for what pictures it has, before anything was answered. Providers look at all pictures of
 * a conversation each time, so one that they cannot read would stand in the way of every later request.
 */
export function isAboutPictures(error: unknown): boolean {
  if (error instanceof Broken) return false;
  const told = tellingOf(error);
  const status = statusOf(told);
  const text = wordsOf(told);
  if (status === null || PAGE.test(text) || !ABOUT_PICTURES.test(text)) return false;
  return status === PICTURELESS || whyOf(told, status, { text, isAnswer: false }) === "local";
}

export function noKey(asked: Pick<Asked, "provider" | "keyHint">): Failed {
  const message = `no key for ${asked.provider}: ${asked.keyHint}`;
  return { kind: "failed", why: "auth", message, retryAfterMs: null, throttled: false };
}

export function silent(provider: string, silenceMs: number): Failed {
  const message = `${provider} said nothing for ${silenceMs / 1_000} s`;
  return { kind: "failed", why: "retry", message, retryAfterMs: null, throttled: false };
}

function tellingOf(error: unknown): Told {
  return typeof error === "object" && error !== null ? error : { message: String(error) };
}

/** Null: there is none, or it is a success that broke off. */
function statusOf({ statusCode }: Told): number | null {
  return typeof statusCode === "number" && statusCode >= 400 ? statusCode : null;
}

/** All that was said, to be searched; `insufficient_quota` and the like stand in fields of their own. */
function wordsOf(told: Told): string {
  const parts = [told.message, told.code, told.type, told.responseBody];
  return parts.filter((part) => typeof part === "string").join("\n");
}

function whyOf(
  told: Told,
  status: number | null,
  { text, isAnswer }: { readonly text: string; readonly isAnswer: boolean },
): Why {
  if (status === 401 || status === 402 || status === 403 || told.name === "AI_LoadAPIKeyError") return "auth";
  if ((status === 400 || status === 429) && NO_ENTRY.test(text)) return "auth";
  const comesFromProvider = isAnswer || told.name === "AI_APICallError";
  if (status === 413) return "overflow";
  if (comesFromProvider && TOO_LONG_STATUSES.has(status) && TOO_LONG.test(text)) return "overflow";
  if (status !== null) return BUSY.has(status) || PASSING.has(status) || status >= 500 ? "retry" : "local";
  return comesFromProvider || isGarbage(told) || networkCode(told) !== null ? "retry" : "local";
}

/** A first piece that is no JSON, of which the package of Anthropic only says that it did not expect it. */
function isGarbage({ name, message }: Told): boolean {
  return name === "AI_EmptyResponseBodyError" || message === "Expected a normalized Anthropic stream error";
}

/** Null: it is not about the network. */
function networkCode(told: Told): string | null {
  let each: Told | undefined = told;
  for (let depth = 0; depth < CAUSES_MAX && each !== undefined; depth += 1) {
    const { code, cause }: Told = each;
    if (typeof code === "string" && /^(?:(?!ERR_)E[A-Z]+(?:_[A-Z]+)?|UND_ERR_[A-Z_]+)$/.test(code))
      return code;
    each = typeof cause === "object" && cause !== null ? cause : undefined;
  }
  return null;
}

function sentence(
  told: Told,
  of: { readonly asked: Asked; readonly why: Why; readonly status: number | null; readonly text: string },
): string {
  const { provider, keyHint } = of.asked;
  const said = saidBy(told);
  if (of.why === "auth") {
    const isMoney = of.status === 402 || (of.status !== 401 && NO_MONEY.test(of.text));
    const whatHelps = isMoney ? "see to its account: the key is known" : keyHint;
    return `${provider} does not let us in${inBrackets(of.status)}: ${said}; ${whatHelps}`;
  }
  if (of.why === "overflow") return `the context is too long for the model of ${provider}: ${said}`;
  if (of.status === 404)
    return `${provider} answered 404${at(told.url)}: ${said}; is the model's name right, and models.providers.${provider}.baseUrl (many end with /v1)?`;
  if (of.status !== null) return `${provider} answered ${of.status}: ${said}`;
  const code = networkCode(told);
  if (of.why === "local") return `${provider} could not be asked: ${said}`;
  if (code !== null && told.statusCode === undefined)
    return `${provider} cannot be reached${at(told.url)} (${code})`;
  const isNone = /without a finish reason/i.test(said);
  const hint = isNone ? `; if that is always so, is models.providers.${provider}.baseUrl right?` : "";
  return `${provider}: the answer was cut off or is none: ${said}${hint}`;
}

function inBrackets(status: number | null): string {
  return status === null ? "" : ` (${status})`;
}

function at(url: unknown): string {
  const host = typeof url === "string" && URL.canParse(url) ? new URL(url).host : "";
  return host === "" ? "" : ` at ${host}`;
}

/** What the provider meant for people: its message, or what else there is of it. */
function saidBy({ message, responseBody }: Told): string {
  const body = typeof responseBody === "string" ? responseBody : "";
  const words = typeof message === "string" && message !== "" ? message : body || "nothing more is known";
  if (!PAGE.test(`${words}\n${body}`)) return words;
  const title = /<title[^>]*>([^<]+)/i.exec(`${words}\n${body}`)?.[1]?.trim();
  return title === undefined ? "a page of HTML" : `a page of HTML, "${title}"`;
}

/** Secrets go first: a text that is cut in the middle of one would keep its beginning. */
function cleaned(text: string, secrets: readonly Secret[]): string {
  const plain = redacted(withoutSecrets(text, secrets))
    .replaceAll(/[\s\p{Cc}]+/gu, " ")
    .trim();
  return plain.length > SAID_CHARS_MAX ? `${plain.slice(0, SAID_CHARS_MAX - 1).toWellFormed()}…` : plain;
}

/** Null: the provider did not say, or nothing that makes sense. */
function retryAfterMs({ responseHeaders, responseBody }: Told, nowMs: number): number | null {
  const headers = (typeof responseHeaders === "object" && responseHeaders) || {};
  const { "retry-after-ms": inMs, "retry-after": after } = headers as Readonly<
    Record<string, string | undefined>
  >;
  const delay =
    typeof responseBody === "string" ? /"retryDelay":\s*"([\d.]{1,12})s"/.exec(responseBody)?.[1] : undefined;
  const waits = [
    number(inMs),
    number(after) === null ? untilMs(after, nowMs) : (number(after) ?? 0) * 1_000,
    delay === undefined ? null : (number(delay) ?? 0) * 1_000,
  ];
  const wait = waits.find((each) => each !== null) ?? null;
  return wait === null ? null : Math.ceil(Math.min(Math.max(0, wait), RETRY_AFTER_MS_MAX));
}

function number(text: string | undefined): number | null {
  return text !== undefined && /^\s*\d{1,12}(?:\.\d{1,12})?\s*$/.test(text) ? Number(text) : null;
}

function untilMs(date: string | undefined, nowMs: number): number | null {
  const at = date === undefined ? Number.NaN : Date.parse(date);
  return Number.isNaN(at) ? null : at - nowMs;
}
