// What lies outside of sessiond and is named in the config: providers of models, servers of tools, folders. Their secrets
// are taken from the environment where they stand as ${NAME}, and are not texts any more once they are here.

import { resolve } from "node:path";
import { Fault } from "../base/fault.ts";
import { Secret } from "../base/secret.ts";
import type { Api, Config, McpServer, ModelFacts, Prices, Provider, Webhook } from "./config.ts";
import { WEBHOOK_SECRET_CHARS_MIN } from "./defaults.ts";
import type { From } from "./load.ts";
import type { ConfigInput, McpServerInput, ProviderInput } from "./schema.ts";

type Env = From["env"];
type ProvidersInput = NonNullable<NonNullable<ConfigInput["models"]>["providers"]>;

/** These are there without being written down; their keys are looked for under the names that their makers use. */
const KNOWN: Readonly<Record<string, { readonly api: Api; readonly keyNames: readonly string[] }>> = {
  anthropic: { api: "anthropic", keyNames: ["ANTHROPIC_API_KEY"] },
  openai: { api: "openai", keyNames: ["OPENAI_API_KEY"] },
  google: { api: "google", keyNames: ["GEMINI_API_KEY", "GOOGLE_GENERATIVE_AI_API_KEY"] },
};

/** No provider of that name: its models are scripted. */
const TAKEN = "rehearsal";

export function providersOf(given: ProvidersInput, env: Env): ReadonlyMap<string, Provider> {
  const ids = new Set([...Object.keys(KNOWN), ...Object.keys(given)]);
  return new Map([...ids].map((id) => [id, providerOf(id, given[id] ?? {}, env)]));
}

function providerOf(id: string, given: ProviderInput, env: Env): Provider {
  const where = `models.providers.${id}`;
  if (id === TAKEN)
    throw new Fault("bad_input", `config: ${where}: this name is kept for the rehearsal models`);
  const known = Object.hasOwn(KNOWN, id) ? KNOWN[id] : undefined;
  const api = given.api ?? known?.api ?? "openai-compatible";
  if (api === "openai-compatible" && given.baseUrl === undefined)
    throw new Fault("bad_input", `config: ${where}.baseUrl is missing; as in "http://localhost:11434/v1"`);
  const keyNames = known?.keyNames ?? [`${id.toUpperCase().replaceAll("-", "_")}_API_KEY`];
  return {
    id,
    api,
    baseUrl: given.baseUrl ?? null,
    apiKey:
      given.apiKey === undefined ? keyIn(env, keyNames) : secretOf(given.apiKey, env, `${where}.apiKey`),
    keyNames,
    headers: secretsOf(given.headers ?? {}, env, `${where}.headers`),
    concurrency: given.concurrency ?? null,
    models: bare(
      Object.fromEntries(Object.entries(given.models ?? {}).map(([name, facts]) => [name, factsOf(facts)])),
    ),
  };
}

function keyIn(env: Env, names: readonly string[]): Secret | null {
  const value = names.map((name) => env[name]).find((each) => each !== undefined && each !== "");
  return value === undefined ? null : new Secret(value);
}

type FactsInput = NonNullable<ProviderInput["models"]>[string];

function factsOf({ windowTokens, outputTokensMax, images, prices }: FactsInput): ModelFacts {
  return {
    windowTokens: windowTokens ?? null,
    outputTokensMax: outputTokensMax ?? null,
    images: images ?? null,
    prices: prices === undefined ? null : pricesOf(prices),
  };
}

function pricesOf({ input, output, cacheRead, cacheWrite }: NonNullable<FactsInput["prices"]>): Prices {
  return { input, output, cacheRead: cacheRead ?? input, cacheWrite: cacheWrite ?? input };
}

export function serversOf(
  given: NonNullable<ConfigInput["mcpServers"]>,
  from: From,
): ReadonlyMap<string, McpServer> {
  const used = Object.entries(given).filter(([, { disabled }]) => disabled !== true);
  return new Map(used.map(([name, server]) => [name, serverOf(name, server, from)]));
}

function serverOf(name: string, given: McpServerInput, from: From): McpServer {
  const where = `mcpServers.${name}`;
  if (given.url !== undefined) {
    const headers = secretsOf(given.headers ?? {}, from.env, `${where}.headers`);
    return { kind: "http", name, url: given.url, headers };
  }
  const { command = "", args = [], env = {}, cwd } = given;
  return {
    kind: "stdio",
    name,
    command: command.startsWith("~/") || command.startsWith(".") ? absolute(command, from) : command,
    args,
    env: secretsOf(env, from.env, `${where}.env`),
    cwd: cwd === undefined ? from.cwd : absolute(cwd, from),
  };
}

export function webhooksOf(
  given: NonNullable<ConfigInput["webhooks"]>,
  { env }: Pick<From, "env">,
): ReadonlyMap<string, Webhook> {
  const all = Object.entries(given).map(([name, { secret, url, agent }]): [string, Webhook] => [
    name,
    {
      name,
      secret: longEnough(secretOf(secret, env, `webhooks.${name}.secret`), name),
      url: url ?? null,
      agent: agent ?? null,
    },
  ]);
  checkApart(all.map(([, webhook]) => webhook));
  return new Map(all);
}

/** The name is not in what is signed: with one secret for two, what was signed for one is let in at the other. */
function checkApart(webhooks: readonly Webhook[]): void {
  const owners = new Map<string, string>(); // a secret → whose it is
  for (const { name, secret } of webhooks) {
    const other = owners.get(secret.reveal());
    if (other !== undefined)
      throw new Fault(
        "bad_input",
        `config: webhooks.${other} and webhooks.${name} have the same secret; give each its own`,
      );
    owners.set(secret.reveal(), name);
  }
}

/** What the environment had is looked at, not its name. */
function longEnough(secret: Secret, webhook: string): Secret {
  if (secret.reveal().length >= WEBHOOK_SECRET_CHARS_MIN) return secret;
  const wants = `a text of at least ${WEBHOOK_SECRET_CHARS_MIN} characters`;
  throw new Fault("bad_input", `config: webhooks.${webhook}.secret is not ${wants}`);
}

function secretsOf(
  given: Readonly<Record<string, string>>,
  env: Env,
  where: string,
): Readonly<Record<string, Secret>> {
  const all = Object.entries(given).map(([name, text]) => [name, secretOf(text, env, `${where}.${name}`)]);
  return bare(Object.fromEntries(all) as Record<string, Secret>);
}

/**
 * A variable that is not there is a mistake: what is asked with half a key fails later, and says less. What stood in one
 * is secret by itself too, whatever is written around it.
 */
function secretOf(text: string, env: Env, where: string): Secret {
  const parts: string[] = [];
  const whole = text.replaceAll(/\$\{([A-Za-z_][A-Za-z0-9_]*)\}/g, (_all, name: string) => {
    const value = env[name];
    if (value === undefined || value === "")
      throw new Fault("bad_input", `config: ${where} names ${name}, which is not in the environment`);
    parts.push(value);
    return value;
  });
  return new Secret(whole, parts);
}

/** Without a prototype: whoever looks up "constructor" finds what was written, or nothing. */
export function bare<Value>(named: Readonly<Record<string, Value>>): Readonly<Record<string, Value>> {
  return Object.assign(Object.create(null) as Record<string, Value>, named);
}

export function absolute(path: string, { homeDir, cwd }: Omit<From, "env">): string {
  return path === "~" || path.startsWith("~/")
    ? resolve(cwd, homeDir, `.${path.slice(1)}`)
    : resolve(cwd, path);
}

/**
 * What must not be written down, wherever it comes from: keys of providers, and what headers and servers were given of the
 * environment. A tool may return them, and a transcript stays.
 */
export function secretsIn({
  models,
  mcp,
  webhooks,
}: Pick<Config, "models" | "mcp" | "webhooks">): readonly Secret[] {
  const providers = [...models.providers.values()];
  const keys = providers.flatMap(({ apiKey }) => apiKey ?? []);
  const given = [
    ...providers.map(({ headers }) => headers),
    ...[...mcp.values()].map((server) => (server.kind === "http" ? server.headers : server.env)),
  ].flatMap((each) => Object.values(each));
  const signs = [...webhooks.values()].map(({ secret }) => secret);
  return [...keys, ...signs, ...given.flatMap(({ parts }) => parts.map((part) => new Secret(part)))];
}
