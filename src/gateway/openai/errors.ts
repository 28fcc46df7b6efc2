// Refusals and failures in the words of OpenAI: their clients look at the status and at `error`, and come back by
// themselves unless they are told not to.

import type { Context } from "hono";
import { Fault, type FaultCode } from "../../base/fault.ts";
import type { Log } from "../../base/log.ts";
import type { TurnOutcome } from "../../turns/where.ts";
import { failureIn, faultOf, type LetIn } from "../gate.ts";

export interface Problem {
  readonly status: number;
  readonly retry: boolean;
  readonly error: {
    readonly message: string;
    readonly type: string;
    readonly param: string | null; // where in the request it is; null: nowhere in particular
    readonly code: string | null;
  };
}

/** A Fault that names the place in the request, or has a word that OpenAI's clients know. */
export class Refused extends Fault {
  readonly param: string | null;
  readonly word: string; // "": as the Fault's code

  constructor(code: FaultCode, message: string, where: { readonly param?: string; readonly word?: string }) {
    super(code, message);
    this.param = where.param ?? null;
    this.word = where.word ?? "";
  }
}

/** What is in a request and cannot be done here. */
export function unsupported(param: string, why: string): Refused {
  return new Refused("bad_input", `${param}: ${why}`, { param, word: "unsupported_parameter" });
}

/** Where clients of OpenAI come: there also what is refused before a door is reached is told in their words. */
export function isOpenai(path: string): boolean {
  return /^\/v1\/(?:chat\/completions|responses|models)(?:\/|$)/.test(path);
}

export function problemOf(error: unknown): Problem {
  const fault = faultOf(error);
  const { status, retry, message } = fault;
  const { param, word } = fault instanceof Refused ? fault : { param: null, word: "" };
  const code = word || (status === 429 ? "rate_limit_exceeded" : fault.code);
  return { status, retry, error: { message, type: typeOf(status), param, code } };
}

function typeOf(status: number): string {
  if (status === 401) return "authentication_error";
  if (status === 403) return "permission_error";
  if (status === 429) return "rate_limit_error";
  return status >= 500 ? "server_error" : "invalid_request_error";
}

/** How a turn ended that was not done, as a status. */
const STATUS: Readonly<Record<Exclude<TurnOutcome, "done"> | "unanswered", number>> = {
  failed: 500,
  overflow: 400,
  aborted: 409,
  killed: 409,
  timeout: 504,
  limit: 500,
  interrupted: 500,
  unanswered: 504,
};

/** A turn that gave no answer. Asked again it would be another turn, and the session has this one: so `retry` is false. */
export function turnProblem(outcome: keyof typeof STATUS, reason: string | null): Problem {
  const status = STATUS[outcome];
  const message = `the turn ended without an answer (${outcome})${reason === null ? "" : `: ${reason}`}`;
  const code = outcome === "overflow" ? "context_length_exceeded" : outcome;
  return { status, retry: false, error: { message, type: typeOf(status), param: null, code } };
}

export function problemResponse({ status, retry, error }: Problem): Response {
  const headers = { "x-should-retry": String(retry), ...(retry ? { "retry-after": "1" } : {}) };
  return Response.json({ error }, { status, headers });
}

/** For the whole door: whatever was thrown on the way to an answer. */
export function refusing(log: Log): (error: Error, context: Context<LetIn>) => Response {
  return (error, context) => problemResponse(problemOf(failureIn(log, context, error)));
}
