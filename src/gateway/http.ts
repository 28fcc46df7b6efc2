// The way in: what is checked before a request reaches a door, and how what went wrong is told.
//
//   is it meant for us → may its page call us → does it say that it is too large → who is it → does it ask too often →
//   is it too large after all → which door
//
// Nothing of a token, a query or a body is logged.

import { Hono, type Context, type MiddlewareHandler } from "hono";
import { bodyLimit } from "hono/body-limit";
import { cors } from "hono/cors";
import { Fault } from "../base/fault.ts";
import { BODY_BYTES_MAX, WEBHOOK_SUSPECT_BYTES_MAX } from "./limits.ts";
import { callerOf, type AuthParts } from "./auth.ts";
import { textIn } from "./body.ts";
import { addressOf, errorBody, failureIn, GONE, routeIn, type Gate, type LetIn } from "./gate.ts";
import type { Guard } from "./guard.ts";
import type { Live } from "./live.ts";
import { isOpenai, problemOf } from "./openai/errors.ts";
import { openApi } from "./openapi.ts";
import { pageDoor } from "./page.ts";
import type { Rate } from "./rate.ts";
import { restDoor } from "./rest.ts";
import { answered, understood } from "./rpc.ts";

/** What is counted of requests. */
export interface Counted {
  readonly contentType: string;
  text(): Promise<string>;
  request(route: string, method: string, status: number, seconds: number): void;
}

export interface HttpParts extends AuthParts {
  readonly gate: Gate;
  readonly guard: Guard;
  readonly rate: Rate; //   requests of one token
  readonly live: Live;
  readonly metrics: Counted;
  readonly version: string;
  readonly isDraining: () => boolean;
  /** Doors behind a token, by where they are; and those that look themselves who comes. */
  readonly doors: Readonly<Record<string, Hono<LetIn>>>;
  readonly openDoors: Readonly<Record<string, Hono<Pick<LetIn, "Bindings">>>>;
}

export function httpApp(parts: HttpParts): Hono<LetIn> {
  const { gate, metrics, version } = parts;
  const app = new Hono<LetIn>();
  app.onError((error, context) => refused(gate, context, error));
  const nothing = new Fault("not_found", "there is nothing here; /openapi.json says what there is");
  app.notFound((context) => refused(gate, context, nothing));
  app.use(counted(parts), meant(parts), pages(parts), small());
  app.get("/healthz", (context) => context.json({ status: "ok", version }));
  app.get("/readyz", (context) =>
    parts.isDraining() ? context.json({ status: "draining" }, 503) : context.json({ status: "ready" }),
  );
  const document = openApi(version);
  app.get("/openapi.json", (context) => context.json(document));
  app.route("/", pageDoor(version));
  for (const [path, door] of Object.entries(parts.openDoors)) {
    app.use(`${path}/*`, measured(WEBHOOK_SUSPECT_BYTES_MAX)); // Nobody is known yet.
    app.route(path, door);
  }
  app.use(known(parts), measured(BODY_BYTES_MAX));
  app.get("/metrics", async (context) =>
    context.body(await metrics.text(), 200, { "content-type": metrics.contentType }),
  );
  app.post("/rpc", async (context) => {
    const said = understood(await textIn(context));
    const { caller, over } = context.var;
    if (!("method" in said)) return context.json(said);
    const answer = await answered(gate, caller, said, over);
    return said.id === undefined ? context.body(null, 204) : context.json(answer);
  });
  app.route("/v1", restDoor(gate));
  for (const [path, door] of Object.entries(parts.doors)) app.route(path, door);
  return app;
}

function counted({ gate, metrics }: HttpParts): MiddlewareHandler<LetIn> {
  const { world } = gate.system;
  return async (context, next) => {
    const fromMs = world.nowMs();
    // On the connection itself: a response whose headers are touched afterwards is made anew, at a tenth of a request's cost.
    context.env.outgoing.setHeader("x-content-type-options", "nosniff");
    await next();
    const { status } = context.res;
    metrics.request(routeIn(context), context.req.method, status, (world.nowMs() - fromMs) / 1_000);
    if (gate.log.isLevelEnabled("debug"))
      gate.log.debug(
        { method: context.req.method, route: routeIn(context), status },
        "a request was answered",
      );
  };
}

function meant({ guard }: HttpParts): MiddlewareHandler<LetIn> {
  return async ({ env }, next) => {
    const { host, origin } = env.incoming.headers;
    guard.check(host, origin);
    await next();
  };
}

/** Pages of other origins that were let in by name need to be told so. */
function pages({ guard }: HttpParts): MiddlewareHandler<LetIn> {
  const named = cors({
    origin: (origin) => (guard.isKnown(origin) ? origin : null),
    allowHeaders: [
      ...["authorization", "content-type", "idempotency-key", "last-event-id", "x-session-key"],
      ...["mcp-protocol-version", "mcp-session-id", "mcp-method", "mcp-name"],
    ],
    exposeHeaders: ["x-session-key", "retry-after", "x-should-retry"],
    maxAge: 600,
  });
  // Only browsers say where a page is from.
  return (context, next) =>
    context.env.incoming.headers.origin === undefined ? next() : named(context, next);
}

/** Who says how much is coming is refused before it comes. */
function small(): MiddlewareHandler<LetIn> {
  return async ({ env }, next) => {
    if (Number(env.incoming.headers["content-length"] ?? 0) > BODY_BYTES_MAX) throw tooLarge(BODY_BYTES_MAX);
    await next();
  };
}

/** What does not say how long it is, is counted as it comes. It is kept meanwhile, so for strangers the bound is lower. */
function measured(bytesMax: number): MiddlewareHandler<LetIn> {
  const limit = bodyLimit({
    maxSize: bytesMax,
    onError: () => {
      throw tooLarge(bytesMax);
    },
  });
  return (context, next) =>
    context.env.incoming.headers["transfer-encoding"] === undefined ? next() : limit(context, next);
}

function tooLarge(bytesMax: number): Fault {
  const hint = bytesMax < BODY_BYTES_MAX ? ", and does not say so in Content-Length" : "";
  return new Fault("too_large", `the body has more than ${bytesMax} bytes${hint}`);
}

/** Who calls, for how long, and how often. */
function known(parts: HttpParts): MiddlewareHandler<LetIn> {
  return async (context, next) => {
    const { incoming, outgoing } = context.env;
    const caller = callerOf(parts, incoming.headers, addressOf(incoming));
    if (!parts.rate.take(caller.principal))
      throw new Fault("rate_limited", "this token makes more requests than gateway.requestsPerSecond");
    const over = parts.live.begin(caller.principal);
    outgoing.once("close", () => {
      parts.live.done(over);
      if (!outgoing.writableFinished) over.abort(GONE);
    });
    context.set("caller", caller);
    context.set("over", over.signal);
    await next();
  };
}

/** A client that should come back later is told when: in a second. */
function refused({ log }: Gate, context: Context<LetIn>, error: unknown): Response {
  const fault = failureIn(log, context, error);
  if (fault.code === "unauthorized") context.header("WWW-Authenticate", 'Bearer realm="sessiond"');
  if (fault.retry) context.header("Retry-After", "1");
  if (fault.code === "too_large") context.header("Connection", "close"); // What is still coming is not read.
  if (!isOpenai(context.req.path)) return context.json(errorBody(fault), fault.status as 400);
  const { error: problem, retry } = problemOf(fault);
  context.header("X-Should-Retry", String(retry));
  return context.json({ error: problem }, fault.status as 400);
}
