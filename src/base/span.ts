// Spans of OpenTelemetry, through its API alone: a program that brings no SDK along gets spans that do nothing, and pays
// for an object each. Who is below whom is said by handing the span on, so it is known without a store that follows
// promises about.

import { ROOT_CONTEXT, SpanStatusCode, trace, type Attributes, type SpanKind } from "@opentelemetry/api";
import { Fault } from "./fault.ts";

/** Asked for once: it finds the SDK also when that comes later. */
const tracer = trace.getTracer("sessiond");

export interface Beginning {
  readonly name: string;
  readonly kind: SpanKind;
  readonly attributes: Attributes;
}

export class Span {
  readonly #span;

  /** `above` null: it is the first of its trace. */
  constructor({ name, kind, attributes }: Beginning, above: Span | null) {
    const within = above === null ? ROOT_CONTEXT : trace.setSpan(ROOT_CONTEXT, above.#span);
    this.#span = tracer.startSpan(name, { kind, attributes }, within);
  }

  set(attributes: Attributes): void {
    this.#span.setAttributes(attributes);
  }

  /** `type` is one of a few words. What was said about it may quote a message, so it is not told. */
  failed(type: string): void {
    this.#span.setAttribute("error.type", type);
    this.#span.setStatus({ code: SpanStatusCode.ERROR });
  }

  /** It ends whatever becomes of the work. What is thrown is told in the word that `named` has for it. */
  async over<Value>(named: (error: unknown) => string, work: () => Promise<Value>): Promise<Value> {
    try {
      return await work();
    } catch (error) {
      this.failed(named(error));
      throw error;
    } finally {
      this.#span.end();
    }
  }
}

/** A word for what was thrown. */
export function typeOf(error: unknown): string {
  if (error instanceof Fault) return error.code;
  return error instanceof Error ? error.name : "_OTHER"; // the word that the conventions have for it
}
