// The door for clients of OpenAI: sessions as chat completions and as responses, agents and models as models. It is made of the
// calls like every other door; docs/openai.md says what becomes of what.

import { Hono, type Context } from "hono";
import { jsonIn } from "../body.ts";
import type { Gate, LetIn } from "../gate.ts";
import { chat } from "./chat.ts";
import { refusing, unsupported } from "./errors.ts";
import { create, retrieve } from "./responses.ts";
import { OWN_NAME, wantedIn, type Naming } from "./sessions.ts";
import { chatRequest, responsesRequest } from "./shapes.ts";
import type { Asking } from "./turn.ts";

/** To be mounted at /v1. */
export function openaiDoor(gate: Gate): Hono<LetIn> {
  const app = new Hono<LetIn>();
  const asking = ({ var: { caller, over } }: Context<LetIn>): Asking => ({ gate, caller, over });
  app.onError(refusing(gate.log));
  app.post("/chat/completions", async (context) =>
    chat(asking(context), chatRequest(await jsonIn(context)), namingIn(context)),
  );
  app.post("/responses", async (context) =>
    create(asking(context), responsesRequest(await jsonIn(context)), namingIn(context)),
  );
  app.get("/responses/:id", (context) => {
    if (context.req.query("stream") === "true")
      throw unsupported("stream", "what is kept comes whole; /v1/sessions/<key>/events follows a session");
    return retrieve(asking(context), context.req.param("id"));
  });
  app.get("/models", async (context) => {
    const { models, providers } = await gate.door.call("models", context.var.caller, {}, context.var.over);
    // Without a key nobody could ask them. A server of one's own may need none.
    const locked = providers.filter(({ hasKey, api }) => !hasKey && api !== "openai-compatible");
    const isOpen = (id: string): boolean => !locked.some(({ provider }) => id.startsWith(`${provider}/`));
    const agents = [...gate.system.config.agents.keys()].map((agent) => `${OWN_NAME}/${agent}`);
    const names = [OWN_NAME, ...agents, ...models.map(({ id }) => id).filter(isOpen)];
    return context.json({ object: "list", data: names.map(modelCalled) });
  });
  // A name has a slash in it, written as it is or as %2F.
  app.get("/models/:model{.+}", async (context) => {
    await gate.door.call("models", context.var.caller, {}, context.var.over); // who may list them may ask for one
    const { name } = wantedIn(gate, context.req.param("model"));
    return context.json(modelCalled(name));
  });
  return app;
}

function namingIn({ req }: Context<LetIn>): Omit<Naming, "user"> {
  return { header: req.header("x-session-key"), messageId: req.header("idempotency-key") };
}

/** `created` 0: nobody says when it was. */
function modelCalled(id: string): object {
  return { id, object: "model", created: 0, owned_by: id.split("/")[0] };
}
