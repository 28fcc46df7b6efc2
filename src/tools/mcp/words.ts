import type { McpServer } from "../../config/config.ts";

/** Secrets shorter than this are not looked for in texts: they would be found everywhere. */
const SECRET_CHARS_MIN = 6;

/** A text of a stranger as one short line: for a log, a status, or a model that is told why. */
export function shortly(text: string, charsMax = 300): string {
  const head = text.slice(0, charsMax * 4); // Most of a long text need not be looked at.
  // oxlint-disable-next-line no-control-regex -- these are what is taken out
  const line = head.replaceAll(/[\u0000-\u001f\u007f-\u009f\u2028\u2029\s]+/g, " ").trim();
  return (line.length > charsMax ? `${line.slice(0, charsMax)} …` : line).toWellFormed();
}

/** Of anything that was thrown. What fetch throws keeps the reason in its cause. */
export function wordsOf(error: unknown, charsMax = 300): string {
  if (!(error instanceof Error)) return shortly(String(error), charsMax);
  const { message, cause } = error;
  const words = cause instanceof Error ? `${message}: ${cause.message || cause.name}` : message || error.name;
  return shortly(words, charsMax);
}

/** A server may say aloud what it was given: its words lose the secrets that its configuration holds. */
export function withoutSecrets(server: McpServer): (text: string) => string {
  const given = Object.values(server.kind === "stdio" ? server.env : server.headers);
  const secrets = given.map((each) => each.reveal()).filter(({ length }) => length >= SECRET_CHARS_MIN);
  return (text) => secrets.reduce((out, secret) => out.replaceAll(secret, "[secret]"), text);
}
