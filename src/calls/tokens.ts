// Who may call from outside, and as what. The gateway keeps the tokens; these are the calls about them.

import { z } from "zod";
import { Fault } from "../base/fault.ts";
import {
  call,
  just,
  SCOPES,
  type Caller,
  type Done,
  type System,
  type TokenRow,
  type Tokens,
} from "./call.ts";
import { iso } from "./views.ts";

const name = z
  .string()
  .regex(/^[a-z0-9_-]{1,64}$/, "1 to 64 of the letters a to z, digits, - and _")
  .describe("What the token is called; whoever uses it is called so, too.");
const scope = z
  .enum(SCOPES)
  .describe("read: look. operate: also work with sessions. admin: also say who may.");

const tokensInput = z.strictObject({});
const createTokenInput = z.strictObject({ name, scope });
const revokeTokenInput = z.strictObject({ name: z.string().min(1).describe("The name of a token.") });

const row = z.strictObject({ name: z.string(), scope, madeAt: z.string() });

const whoamiInput = z.strictObject({});
const bearer = z.strictObject({
  name: z
    .string()
    .describe(
      "What the caller's token is called; `owner` is who started the daemon, `local` a program that embeds sessions.",
    ),
  scope,
});

const tokenList = z.strictObject({ tokens: z.array(row) });
const createdToken = row.extend({
  token: z.string().describe("The token itself. It is told this once, and kept nowhere."),
});
const revokedToken = z.strictObject({
  name: z.string(),
  revoked: z.boolean().describe("False: there is none of that name."),
});

async function whoami(_system: System, caller: Caller): Promise<Done<z.input<typeof bearer>>> {
  if (caller.kind !== "person") throw new Fault("forbidden", "a session has no token");
  return just({ name: caller.principal, scope: caller.scope });
}

async function tokens(system: System): Promise<Done<z.input<typeof tokenList>>> {
  const rows = await kept(system).list();
  return just({ tokens: rows.map(shownRow) });
}

async function createToken(
  system: System,
  _caller: Caller,
  input: z.output<typeof createTokenInput>,
): Promise<Done<z.input<typeof createdToken>>> {
  const { token, ...made } = await kept(system).create(input.name, input.scope);
  return just({ ...shownRow(made), token });
}

/** What was opened with it ends, too. */
async function revokeToken(
  system: System,
  _caller: Caller,
  input: z.output<typeof revokeTokenInput>,
): Promise<Done<z.input<typeof revokedToken>>> {
  return just({ name: input.name, revoked: await kept(system).revoke(input.name) });
}

function kept({ tokens: all }: System): Tokens {
  if (all === null)
    throw new Fault(
      "not_found",
      "there are no tokens here: only a gateway has them, and this is a program's own",
    );
  return all;
}

function shownRow({ name: called, scope: may, madeAtMs }: TokenRow): z.input<typeof row> {
  return { name: called, scope: may, madeAt: iso(madeAtMs) };
}

/** Their rows in the table. */
export const tokenCalls = {
  whoami: call({
    about: "Who is calling: the name of the token, and what it may.",
    who: "person",
    tool: null,
    scope: "read",
    http: "GET /whoami",
    input: whoamiInput,
    output: bearer,
    idempotent: true,
    run: whoami,
  }),
  tokens: call({
    about: "The tokens by which others may call this gateway: names and scopes, never the tokens themselves.",
    who: "person",
    tool: null,
    scope: "admin",
    http: "GET /tokens",
    input: tokensInput,
    output: tokenList,
    idempotent: true,
    run: tokens,
  }),
  createToken: call({
    about: "Makes a token. Its text is told once, in the answer.",
    who: "person",
    tool: null,
    scope: "admin",
    http: "POST /tokens",
    input: createTokenInput,
    output: createdToken,
    idempotent: false,
    run: createToken,
  }),
  revokeToken: call({
    about: "Takes a token back: whoever has it is let in no more, and what it had opened ends.",
    who: "person",
    tool: null,
    scope: "admin",
    http: "DELETE /tokens/:name",
    input: revokeTokenInput,
    output: revokedToken,
    idempotent: true,
    run: revokeToken,
  }),
};
