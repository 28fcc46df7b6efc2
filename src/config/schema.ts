// Schema
//
// What may be written into config.json5 or handed to open(). config.ts says what becomes of it.
//
//   Owns:      the keys, their bounds, and the sentence that editors show for each.
//   Does not:  fill in what is not given, or make paths absolute (load.ts).
//
// Invariants
//   S1. The message of an issue is what belongs in that place ("a whole number from 1 to 1000"), so that load.ts can
//       say it beside what was found. For keys that are not known it is the list of those that are. Only a `custom`
//       issue says all by itself.
//   S2. Everything has a bound, and an unknown key is refused: it is most likely misspelt.

import { z } from "zod";
import { shown } from "../base/fits.ts";
import { KEY_BYTES_MAX } from "../limits.ts";
import * as defaults from "./defaults.ts";
import { gateway, log, webhooks } from "./gateway-schema.ts";
import { heartbeat, reset, resetByChannel, resetByType, upkeep, zone } from "./unattended-schema.ts";
import { address, list, name, names, object, oneOf, path, secret, text, whole } from "./shapes.ts";

/** The ids that parseAgent takes; once more as a pattern, because editors read patterns. A test compares the two. */
const AGENT_ID = /^[a-z0-9][a-z0-9_-]{0,63}$/;

const tools = object({
  allow: list(name)
    .describe(
      'The only tools the agent may use; without it, all there are. "github__*" means all of that server.',
    )
    .optional(),
  deny: list(name).describe("Tools the agent may not use, even if they are allowed.").optional(),
  exec: z
    .boolean({ error: "true or false" })
    .describe(
      "Whether the agent may run programs (exec, process). Nothing confines them: they can do what you can.",
    )
    .optional(),
  visibility: oneOf("self", "tree", "agent", "all")
    .describe(
      "Which sessions the agent's sessions may see and reach: themselves, their tree, their agent's, or all.",
    )
    .optional(),
});

const limits = object({
  stepsPerTurn: whole(1, defaults.STEPS_PER_TURN_MAX)
    .describe("How many model calls one turn may take.")
    .optional(),
  turnSeconds: whole(1, defaults.TURN_SECONDS_MAX)
    .describe("How long one turn may take, in seconds.")
    .optional(),
  toolSeconds: whole(1, defaults.TOOL_SECONDS_MAX)
    .describe("How long one tool call may take, in seconds.")
    .optional(),
  tokens: whole(1, defaults.BUDGET_TOKENS_MAX)
    .describe("Tokens of all kinds that a session and all its sub-agents may use together, ever.")
    .optional(),
  cost: z
    .number({ error: `a number above 0, at most ${defaults.BUDGET_COST_MAX}` })
    .positive({ error: `a number above 0, at most ${defaults.BUDGET_COST_MAX}` })
    .max(defaults.BUDGET_COST_MAX, { error: `a number above 0, at most ${defaults.BUDGET_COST_MAX}` })
    .describe("US dollars that a session and all its sub-agents may cost together, ever.")
    .optional(),
});

const subagents = object({
  depth: whole(0, defaults.SPAWN_DEPTH_MAX)
    .describe("Generations of sub-agents below a session; 0: it spawns none.")
    .optional(),
  children: whole(1, defaults.CHILDREN_MAX)
    .describe("Tasks that one session may have given to sub-agents and not heard of yet.")
    .optional(),
  agents: list(name)
    .describe("Other agents whose sub-agents its sessions may spawn. Its own they always may.")
    .optional(),
  model: name.describe("The model of its sub-agents; without it, the agent's own.").optional(),
  thinking: oneOf("off", "minimal", "low", "medium", "high")
    .describe("How much its sub-agents think; without it, as the agent does.")
    .optional(),
});

const context = object({
  sizeTokens: whole(defaults.CONTEXT_TOKENS_MIN, defaults.WINDOW_TOKENS_MAX)
    .describe(
      "Tokens of a conversation at which its older part is summarised; never more than the window less the reserve. Without " +
        "it, about a third of the model's window.",
    )
    .optional(),
  reserveTokens: whole(0, defaults.WINDOW_TOKENS_MAX)
    .describe("Tokens of the window that are kept free for the answer; without it, 20000, at most a quarter.")
    .optional(),
  summaryModel: name.describe("The model that writes summaries; without it, the session's own.").optional(),
  flush: z
    .boolean({ error: "true or false" })
    .describe("Whether the agent may write to its memory before a summary is made. Without it: true.")
    .optional(),
});

const agent = object({
  model: name.describe('The model to use: "provider/model", or an alias from models.aliases.').optional(),
  failover: list(name)
    .describe("Models that are asked for a step when the first cannot be reached, in this order.")
    .optional(),
  workspace: path
    .describe("The agent's folder: its prompt files, and what its file tools can reach.")
    .optional(),
  thinking: oneOf("off", "minimal", "low", "medium", "high")
    .describe("How much the model thinks before it answers.")
    .optional(),
  verbose: oneOf("off", "on", "full")
    .describe("Whether a chat is also told which tools are called (on) and what they return (full).")
    .optional(),
  queueMode: oneOf("steer", "followup", "collect", "interrupt")
    .describe("What a message does that comes in while the agent works.")
    .optional(),
  tools: tools.describe("Which tools the agent may use, and what it sees of other sessions.").optional(),
  limits: limits.describe("How far one turn may go, and what a session may use in all.").optional(),
  subagents: subagents.describe("What its sessions may spawn.").optional(),
  context: context.describe("How long its conversations grow before they are summarised.").optional(),
  heartbeat: heartbeat.describe("How often it looks by itself whether there is something to do.").optional(),
});

const agents = names(
  text('an agent id (a-z, 0-9, "_" and "-", at most 64 characters, the first a letter or a digit)', AGENT_ID),
  agent,
);

const aliases = names(name, text('a model as "provider/model"', /^[^/\s]+\/\S+$/));

/** A header that fetch takes: what it does not take would only be found in the middle of a turn. */
const headers = names(
  text("the name of a header", /^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/),
  text(
    `one line of at most ${defaults.SECRET_CHARS_MAX} plain characters (\${NAME} is taken from the environment; $NAME is not)`,
    /^(?!\$[A-Za-z_]+$)[\t\x20-\x7e\x80-\xff]+$/,
    defaults.SECRET_CHARS_MAX,
  ),
);

const url = text(
  'an address as "http://localhost:11434/v1", without a name and password, "?" or "#" in it',
  /^https?:\/\/[^\s@?#]+$/,
  defaults.PATH_CHARS_MAX,
);

const price = z
  .number({ error: `dollars from 0 to ${defaults.PRICE_MAX}` })
  .min(0, { error: `dollars from 0 to ${defaults.PRICE_MAX}` })
  .max(defaults.PRICE_MAX, { error: `dollars from 0 to ${defaults.PRICE_MAX}` });

const modelFacts = object({
  windowTokens: whole(1, defaults.WINDOW_TOKENS_MAX).describe("Tokens that fit its context.").optional(),
  outputTokensMax: whole(1, defaults.WINDOW_TOKENS_MAX).describe("Tokens of its longest answer.").optional(),
  images: z.boolean({ error: "true or false" }).describe("Whether it understands pictures.").optional(),
  prices: object({
    input: price.describe("Of what it reads."),
    output: price.describe("Of what it writes, thinking included."),
    cacheRead: price.describe("Of what it finds in its cache; without it, as input.").optional(),
    cacheWrite: price.describe("Of what it puts into its cache; without it, as input.").optional(),
  })
    .describe("Dollars for a million tokens.")
    .optional(),
});

const provider = object({
  api: oneOf("anthropic", "openai", "google", "openai-compatible")
    .describe("How it is spoken to. Without it: as its name says, else openai-compatible.")
    .optional(),
  baseUrl: url.describe("Where it is, as in http://localhost:11434/v1.").optional(),
  apiKey: secret
    .describe(
      "Its key. Better in the environment: ANTHROPIC_API_KEY, OPENAI_API_KEY, GEMINI_API_KEY, <NAME>_API_KEY.",
    )
    .optional(),
  headers: headers.describe("Headers that are sent along.").optional(),
  concurrency: whole(1, defaults.SLOTS_MAX)
    .describe("Calls in flight at this provider; without it, as many as there are slots.")
    .optional(),
  models: names(name, modelFacts).describe("What is to be known of its models.").optional(),
});

const providers = names(
  text('a provider\'s name (a-z, 0-9, "_" and "-", at most 64 characters)', AGENT_ID),
  provider,
);

/** Names of tools begin with the server's, and providers take 64 characters in all. */
const serverName = text(
  'a server\'s name (letters, digits, "_" and "-", at most 24 characters, no "__")',
  /^(?!.*__)[a-zA-Z0-9][a-zA-Z0-9_-]{0,23}$/,
);

const mcpServer = object({
  command: path.describe("The program to start.").optional(),
  args: list(z.string({ error: "a text" }).max(defaults.SECRET_CHARS_MAX, { error: "a text" }))
    .describe("Its arguments.")
    .optional(),
  env: names(name, secret).describe("Its environment, besides PATH, HOME and the like.").optional(),
  cwd: path.describe("The folder it is started in; without it, where sessiond was started.").optional(),
  url: address.describe("The address of a server that runs already (streamable HTTP).").optional(),
  headers: headers.describe("Headers that are sent to it.").optional(),
  type: oneOf("stdio", "http").describe("What it is; that is seen without it too.").optional(),
  disabled: z.boolean({ error: "true or false" }).describe("True: it is left out.").optional(),
}).superRefine(({ command, args, env, cwd, url: there, headers: sent }, found) => {
  if ((command === undefined) === (there === undefined))
    found.addIssue({ code: "custom", message: "has either a command or a url" });
  else if (command === undefined && (args ?? env ?? cwd) !== undefined)
    found.addIssue({ code: "custom", message: "has a url, so it has no args, env or cwd" });
  else if (there === undefined && sent !== undefined)
    found.addIssue({ code: "custom", message: "has a command, so it has no headers" });
});

const identityLinks = names(name, list(text('an address as "<channel>:<peer>"', /^[^:]+:.+$/))).superRefine(
  (people, found) => {
    const owners = new Map<string, string>();
    for (const [person, addresses] of Object.entries(people)) {
      for (const [at, address] of addresses.entries()) {
        const owner = owners.get(address) ?? person;
        owners.set(address, owner);
        if (owner === person) continue;
        const message = `is ${shown(address)}, which belongs to ${shown(owner)} and cannot be ${shown(person)}'s too`;
        found.addIssue({ code: "custom", path: [person, at], message });
      }
    }
  },
);

const match = object({
  channel: name.describe("The channel the answer leaves through.").optional(),
  chatType: oneOf("direct", "group", "channel", "room").describe("The kind of chat it goes to.").optional(),
  keyPrefix: text(
    'the beginning of a session key: it begins with "agent:" and does not end with ":"',
    /^agent:.*[^:]$/,
    KEY_BYTES_MAX,
  )
    .describe('A session key or the beginning of one, as in "agent:main:telegram".')
    .optional(),
});

const rule = object({
  action: oneOf("allow", "deny").describe("Whether an answer that matches may leave."),
  match: match.describe("What the rule is about; every given property must match."),
});

const sendPolicy = object({
  default: oneOf("allow", "deny").describe("What holds when no rule matches.").optional(),
  rules: list(rule.describe("One rule."))
    .describe("Rules in order; the first that matches decides.")
    .optional(),
});

const session = object({
  dmScope: oneOf("main", "per-peer", "per-channel-peer", "per-account-channel-peer")
    .describe("Which direct messages share a session.")
    .optional(),
  identityLinks: identityLinks
    .describe('People with several addresses: a name, and its addresses as "<channel>:<peer>".')
    .optional(),
  threads: oneOf("empty", "parent")
    .describe("What a thread of a chat starts with: nothing, or the last messages of the chat.")
    .optional(),
  sendPolicy: sendPolicy.describe("Whether answers may leave.").optional(),
  reset: reset.describe("When a chat begins anew; the old transcript is archived.").optional(),
  resetByType: resetByType.describe("The same for one kind of session.").optional(),
  resetByChannel: resetByChannel.describe("The same for one channel, by name.").optional(),
  collectMs: whole(0, defaults.COLLECT_MS_MAX)
    .describe("How long a collected message waits for others, in milliseconds.")
    .optional(),
});

export const schema = object({
  home: path.describe("The folder where everything is kept.").optional(),
  agents: agents.describe('The agents by id; what stands under "defaults" holds for all of them.').optional(),
  models: object({
    aliases: aliases.describe("Short names for models.").optional(),
    providers: providers
      .describe("Where models are asked. anthropic, openai and google are known; others need a baseUrl.")
      .optional(),
  })
    .describe("The models, and where they are.")
    .optional(),
  mcpServers: names(serverName, mcpServer)
    .describe("Servers of tools (MCP), by name; they are started when an agent needs them.")
    .optional(),
  session: session.describe("Which messages share a session, and which answers may leave.").optional(),
  scheduler: object({
    slots: whole(1, defaults.SLOTS_MAX).describe("How many model calls may be in flight at once.").optional(),
    reserve: whole(0, defaults.SLOTS_MAX)
      .describe("How many of them only people's turns may take; at most all but one.")
      .optional(),
    share: whole(defaults.SHARE_MIN, defaults.SHARE_MAX)
      .describe("Every class with work gets at least one grant of so many.")
      .optional(),
    processes: whole(1, defaults.PROCESSES_MAX)
      .describe("How many programs that agents run are waited for at once.")
      .optional(),
  })
    .describe("How much is done at once.")
    .optional(),
  gateway: gateway.describe("Where the daemon listens, and whom it lets in.").optional(),
  webhooks: webhooks
    .describe("Channels of other programs: they post signed messages, and are posted the answers.")
    .optional(),
  log: log.describe("What is logged.").optional(),
  timezone: zone
    .describe("Whose hours are meant where nobody names another; without it, the machine's.")
    .optional(),
  upkeep: upkeep.describe("What keeps the disk bounded.").optional(),
});

export type ConfigInput = z.input<typeof schema>;
export type AgentInput = z.input<typeof agent>;
export type ProviderInput = z.input<typeof provider>;
export type McpServerInput = z.input<typeof mcpServer>;
