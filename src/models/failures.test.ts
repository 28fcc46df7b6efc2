import assert from "node:assert/strict";
import { test } from "node:test";
import { APICallError, InvalidPromptError, TypeValidationError } from "@ai-sdk/provider";
import { Secret } from "../base/secret.ts";
import { failureOf, isAboutPictures } from "./failures.ts";
import { Broken } from "./stream.ts";

const KEY = 'k"ey with \\ and ä';
const ASKED = {
  provider: "p",
  secrets: [new Secret(KEY), new Secret("")],
  keyHint: "set P_API_KEY",
  nowMs: 0,
};

function refused(statusCode: number, message: string, responseBody = ""): APICallError {
  return new APICallError({ message, statusCode, responseBody, url: "http://p", requestBodyValues: {} });
}

function why(error: unknown): string {
  return failureOf(error, ASKED).why;
}

test("the words of every server for a context that is too long are known", () => {
  for (const words of [
    "prompt is too long: 215994 tokens > 200000 maximum",
    "input length and `max_tokens` exceed context limit: 190000 + 64000 > 200000",
    "This model's maximum context length is 128000 tokens. However, your messages resulted in 130000 tokens.",
    "Your input exceeds the context window of this model. Please adjust your input and try again.",
    "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
    "the request exceeds the available context size. try increasing the context size or enable context shift",
    "request (9000 tokens) exceeds the available context size (8192 tokens), try increasing it",
    "The decoder prompt (length 9000) is longer than the maximum model length of 8192. Make sure that `max_model_len` is no smaller",
    "The prompt is longer than the model's context length",
    "Trying to keep the first 9000 tokens when context the overflows. However, the model is loaded with context length of only 4096 tokens, greater than the context length",
    "Please reduce the length of the messages or completion.",
  ])
    assert.equal(why(refused(400, words)), "overflow", words);
  assert.equal(
    why(refused(429, "Rate limit: 30000 input tokens per minute. Reduce the length of the prompt")),
    "retry",
  );
  assert.equal(why(refused(400, "temperature is not supported")), "local");
});

test("what is wrong with our own data is ours, and what is wrong with theirs is asked for again", () => {
  const invalid = TypeValidationError.wrap({ value: 1, cause: new Error("no") });
  assert.equal(why(invalid), "local");
  assert.equal(why(new Broken(invalid)), "retry");
  assert.equal(why(new InvalidPromptError({ prompt: 1, message: "no" })), "local");
  assert.equal(why(new TypeError("x is not a function")), "local");
  assert.equal(why(new TypeError("Failed to parse URL from nowhere")), "local");
  assert.equal(why(Object.assign(new Error("no"), { code: "ERR_ASSERTION" })), "local");
  assert.equal(
    why(new Error("no", { cause: Object.assign(new Error("no"), { code: "ECONNRESET" }) })),
    "retry",
  );
  assert.equal(why(new Broken(new TypeError("terminated"))), "retry");
  for (const odd of [undefined, null, "words", 1, Symbol("s")]) assert.equal(why(odd), "local");
});

test("no form of a key is told, and no more than a person reads", () => {
  const forms = `${KEY} ${JSON.stringify({ key: KEY })} ${encodeURIComponent(KEY)} Bearer abcdefghijklmnopqrstuvwxyz`;
  const { message } = failureOf(refused(400, `${forms}\u0000\n${"x".repeat(100_000)}`), ASKED);
  assert.ok(message.length <= 500);
  assert.doesNotMatch(message, /ey with|ey%20with|abcdefghijkl|[\n\0]/);
  assert.match(message, /^p answered 400: \[secret\] /);
});

test("Google says in the body when to come back", () => {
  const body = JSON.stringify({ error: { details: [{ "@type": "RetryInfo", retryDelay: "36.5s" }] } });
  const { retryAfterMs, throttled } = failureOf(refused(429, "slow down", body), ASKED);
  assert.deepEqual([retryAfterMs, throttled], [36_500, true]);
});

test("a secret across the place where a page's title is cut is not told by half", () => {
  const secrets = [new Secret("a-secret-of-the-configuration")];
  const page = `<html><title>${"t".repeat(185)} a-secret-of-the-configuration</title>`;
  const { message } = failureOf(refused(502, "", page), { ...ASKED, secrets });
  assert.match(message, /t{185} \[secret\]"$/);
});

test("a refusal for a picture is known in the words of each, and nothing else is taken for one", () => {
  for (const [status, words] of [
    [400, "messages.0.content.1.image.source.base64.data: Could not process image"],
    [400, "messages.8: At least one of the image dimensions exceed max allowed size: 8000 pixels"],
    [400, "The image data you provided does not represent a valid image."],
    [400, "Invalid value: 'image_url'."],
    [400, "Unable to process input image."],
    [400, "qwen3 is not a multimodal model"],
    [404, "No endpoints found that support image input"],
    [422, "messages[3]: unknown variant `image_url`, expected `text`"],
    [500, "image input is not supported - hint: if this is unexpected, you may need to provide the mmproj"],
  ] as const)
    assert.equal(isAboutPictures(refused(status, words)), true, words);
  for (const error of [
    refused(400, "temperature is not supported"),
    refused(401, "no images for you"),
    refused(429, "too many images"),
    refused(502, "image"),
    refused(400, "prompt is too long, images included"),
    refused(500, "", '<html><meta property="og:image"></html>'),
    new Broken(refused(400, "Could not process image")),
    new TypeError("image is not a function"),
  ])
    assert.equal(isAboutPictures(error), false, String(error));
});
