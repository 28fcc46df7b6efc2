// Who may call, and whom the daemon can ask: token, models.

import { rm, writeFile } from "node:fs/promises";
import { Fault } from "../base/fault.ts";
import { RealWorld } from "../base/world.ts";
import { textOf, type Command, type Invocation } from "./command.ts";
import { ago, count, duration, json, money, oneLine, table } from "./output.ts";

const ACTIONS = ["list", "create", "revoke"] as const;
const SCOPES = ["read", "operate", "admin"] as const;
/** Only its owner may read a file with a token. */
const TOKEN_MODE = 0o600;

export const token: Command = {
  name: "token",
  summary: "the tokens by which others may call: list, create, revoke",
  arguments: [
    { name: "action", about: ACTIONS.join(", "), required: false, completes: ACTIONS },
    { name: "name", about: "of the token", required: false },
  ],
  options: [
    { flags: "--scope <scope>", about: "create: what it may (operate)", completes: SCOPES },
    {
      flags: "-o, --output <file>",
      about: "create: write it there (0600) and show it to nobody",
      completes: "file",
    },
  ],
  more: `A token is shown once, when it is made, and kept nowhere.
Example: sessiond token create phone --scope read --output phone.token`,
  run: async (invocation) => {
    const [action = "list", name] = invocation.args;
    if (action === "list" && name === undefined) return await list(invocation);
    if (!(ACTIONS as readonly string[]).includes(action) || action === "list")
      throw new Fault("bad_input", "token: say list, create <name> or revoke <name>");
    if (name === undefined) throw new Fault("bad_input", `token ${action}: which? say its name`);
    return action === "create" ? await create(invocation, name) : await revoke(invocation, name);
  },
};

async function list({ client: find, screen, signal }: Invocation): Promise<number> {
  const { tokens } = await (await find()).call("tokens", {}, signal);
  if (screen.json) json(screen, { tokens });
  else if (tokens.length === 0) screen.out("no tokens but the owner's, which is in the daemon's home\n");
  else {
    const nowMs = new RealWorld().nowMs();
    screen.out(
      table(tokens, [
        { title: "NAME", of: (row) => row.name },
        { title: "SCOPE", of: (row) => row.scope },
        { title: "MADE", of: (row) => ago(Math.max(0, nowMs - Date.parse(row.madeAt))) },
      ]),
    );
  }
  return 0;
}

async function create({ client: find, options, screen, signal }: Invocation, name: string): Promise<number> {
  const scope = (textOf(options, "scope") ?? "operate") as (typeof SCOPES)[number];
  const path = textOf(options, "output");
  // Made before there is a token that nobody could read: a path that cannot be written to is found now.
  if (path !== undefined) await written(path, "");
  const { token: text, ...made } = await (
    await find()
  )
    .call("createToken", { name, scope }, signal)
    .catch(async (error: unknown) => {
      if (path !== undefined) await rm(path, { force: true });
      throw asHere(error, name);
    });
  if (path !== undefined) await writeFile(path, `${text}\n`, { mode: TOKEN_MODE });
  if (screen.json) json(screen, path === undefined ? { ...made, token: text } : { ...made, file: path });
  else if (path !== undefined) screen.out(`${name} (${scope}) is in ${path}\n`);
  else {
    screen.err(`${name} (${scope}). It is shown this once:\n`);
    screen.out(`${text}\n`);
  }
  return 0;
}

/** What to do, in the words of this door. */
function asHere(error: unknown, name: string): unknown {
  if (!(error instanceof Fault) || error.code !== "exists") return error;
  const words = `there is a token ${JSON.stringify(name)} already; revoke it first (\`sessiond token revoke ${name}\`), or choose another name.`;
  return new Fault("exists", words, { cause: error });
}

/** A file that is there is not written over: it may hold another token. */
async function written(path: string, text: string): Promise<void> {
  try {
    await writeFile(path, text, { mode: TOKEN_MODE, flag: "wx" });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === undefined) throw error;
    if (code === "EEXIST") throw new Fault("exists", `${path} exists; choose another file`, { cause: error });
    throw new Fault("bad_input", `${path} cannot be written (${code})`, { cause: error });
  }
}

async function revoke({ client: find, screen, signal }: Invocation, name: string): Promise<number> {
  const done = await (await find()).call("revokeToken", { name }, signal);
  if (!done.revoked)
    throw new Fault("not_found", `there is no token ${JSON.stringify(name)}; \`sessiond token\` lists them`);
  if (screen.json) json(screen, done);
  else screen.out(`${name} is revoked: whoever has it is let in no more\n`);
  return 0;
}

export const whoami: Command = {
  name: "whoami",
  summary: "whose token this is, and what it may",
  arguments: [],
  options: [],
  more: "A token may read (look), operate (also work with sessions) or admin (also say who may).",
  run: async ({ client, screen, signal }) => {
    const caller = await (await client()).call("whoami", {}, signal);
    if (screen.json) json(screen, caller);
    else screen.out(`${caller.name} (${caller.scope})\n`);
    return 0;
  },
};

const MODEL_ACTIONS = ["list", "test"] as const;

export const models: Command = {
  name: "models",
  summary: "the models that can be named, and the providers that have a key; test: whether one answers",
  arguments: [
    { name: "action", about: MODEL_ACTIONS.join(", "), required: false, completes: MODEL_ACTIONS },
    { name: "model", about: "test: its id or alias", required: false },
  ],
  options: [],
  more: `test: asks it one short question, and what that costs is real. It exits with 1 if there is no answer.
Example: sessiond models test anthropic/claude-sonnet-4-5`,
  run: async (invocation) => {
    const [action = "list", model, ...more] = invocation.args;
    if (action === "list" && model === undefined) return await listModels(invocation);
    if (action !== "test" || model === undefined || more.length > 0)
      throw new Fault("bad_input", "models: say list, or test <model>");
    return await testModel(invocation, model);
  },
};

async function testModel({ client: find, screen, signal }: Invocation, model: string): Promise<number> {
  const tested = await (await find()).call("testModel", { model }, signal);
  const { ok, ms, text, usage, cost, failure } = tested;
  if (screen.json) json(screen, tested);
  else if (failure !== null)
    screen.err(
      `sessiond: ${oneLine(`${tested.model} gave no answer: ${failure.message}`)}\n  ${failure.todo}\n`,
    );
  else {
    const used = usage === null ? 0 : usage.input + usage.output + usage.cacheRead + usage.cacheWrite;
    const paid = cost === null ? "its price is not known" : money(cost);
    screen.out(
      `${tested.model} answers, in ${duration(ms)} (${count(used)} tokens, ${paid}): ${oneLine(text)}\n`,
    );
  }
  return ok ? 0 : 1;
}

async function listModels({ client: find, screen, signal }: Invocation): Promise<number> {
  const known = await (await find()).call("models", {}, signal);
  if (screen.json) {
    json(screen, known);
    return 0;
  }
  const price = (n: number | undefined): string => (n === undefined ? "–" : `$${n}`);
  screen.out(
    table(known.models, [
      { title: "MODEL", of: ({ id }) => id },
      { title: "WINDOW", align: "right", of: ({ windowTokens }) => count(windowTokens) },
      { title: "IN/M", align: "right", of: ({ prices }) => price(prices?.input) },
      { title: "OUT/M", align: "right", of: ({ prices }) => price(prices?.output) },
    ]),
  );
  const aliases = Object.entries(known.aliases).map(([alias, id]) => ({ alias, id }));
  if (aliases.length > 0)
    screen.out(
      `\n${table(aliases, [
        { title: "ALIAS", of: ({ alias }) => alias },
        { title: "MODEL", of: ({ id }) => id },
      ])}`,
    );
  screen.out(
    `\n${table(known.providers, [
      { title: "PROVIDER", of: ({ provider }) => provider },
      {
        title: "KEY",
        of: ({ hasKey, keyFrom }) =>
          hasKey ? "yes" : keyFrom.length === 0 ? "none" : `none: set ${keyFrom.join(" or ")}`,
      },
    ])}`,
  );
  return 0;
}
