// What was typed, made into a command and what it takes. Commander reads it; what it finds wrong is told in our words, with
// what was probably meant.

import { Command as Parser, CommanderError, Option as Flag } from "commander";
import { Fault } from "../base/fault.ts";
import { instead } from "../base/near.ts";
import { Client, findGateway, homeOf, tokenIn, type Env, type Where } from "./client.ts";
import type { Command, Option, Options } from "./command.ts";
import { GROUPS } from "./commands.ts";
import type { Screen } from "./output.ts";

export interface Typed {
  readonly words: readonly string[];
  readonly screen: Screen;
  readonly env: Env;
  readonly version: string;
  /** Called when it is known which command runs. */
  readonly signals: (command: Command) => AbortSignal;
}

/** What every command takes. */
export const EVERYWHERE: readonly Option[] = [
  { flags: "--json", about: "for machines: one JSON document, or one a line" },
  { flags: "--home <dir>", about: "the daemon's home ($SESSIOND_HOME, or ~/.sessiond)", completes: "folder" },
  { flags: "--url <url>", about: "where the daemon is ($SESSIOND_URL, or as its home says)" },
  {
    flags: "--token-file <file>",
    about: "a file with the token ($SESSIOND_TOKEN, or the token in its home)",
    completes: "file",
  },
];

/** The exit code of the command. Faults: bad_input for what cannot be understood, and those of the command. */
export async function run(typed: Typed): Promise<number> {
  let exit = 0;
  const parser = parserOf(typed, async (command, args, options) => {
    exit = await command.run({ args, options, ...surroundings(typed, command, options) });
  });
  if (typed.words.every((word) => word === "--json"))
    throw new Fault(
      "bad_input",
      typed.screen.json ? "say what to do" : `say what to do.\n\n${parser.helpInformation()}`,
    );
  try {
    await parser.parseAsync([...typed.words], { from: "user" });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    if (error.exitCode === 0) return 0; // help was asked for
    throw new Fault("bad_input", inWords(parser, typed.words, error), { cause: error });
  }
  return exit;
}

function surroundings({ env, screen, signals }: Typed, command: Command, options: Options) {
  const [home, url, tokenFile] = ["home", "url", "tokenFile"].map((name) => {
    const value = options[name];
    return typeof value === "string" ? value : undefined;
  });
  let client: Promise<Client> | null = null;
  const find = async (): Promise<Where> => {
    // What is typed counts more than what the environment says: another home is another daemon.
    const { SESSIOND_URL, SESSIOND_TOKEN, ...rest } = env;
    const token = tokenFile === undefined ? undefined : await tokenFrom(tokenFile);
    const said = home === undefined || url !== undefined ? { SESSIOND_URL, SESSIOND_TOKEN } : {};
    const given = {
      ...rest,
      ...said,
      ...(url === undefined ? {} : { SESSIOND_URL: url }),
      ...(token === undefined ? {} : { SESSIOND_TOKEN: token }),
    };
    return await findGateway(given, home);
  };
  return {
    client: () => (client ??= find().then((where) => new Client(where, find))),
    find,
    home: homeOf(env, home),
    screen,
    env,
    signal: signals(command),
  };
}

async function tokenFrom(path: string): Promise<string> {
  const token = await tokenIn(path);
  if (token === null || token === "") throw new Fault("not_found", `there is no token in ${path}`);
  return token;
}

// ── Commander's view ────────────────────────────────────────────────────────────────────────────────────────

type Act = (command: Command, args: readonly string[], options: Options) => Promise<void>;

function parserOf({ screen, version }: Typed, act: Act): Parser {
  const quiet = { writeOut: screen.out, writeErr: () => {}, outputError: () => {} };
  const program = new Parser("sessiond")
    .description("The session daemon for AI agents: sessions as processes.")
    .version(version, "-V, --version", "the version")
    .helpOption("-h, --help", "this, or about a command: sessiond help ps")
    .configureOutput(quiet)
    .showSuggestionAfterError(false)
    .exitOverride();
  for (const { title, commands } of GROUPS)
    for (const command of commands) program.addCommand(parserFor(command, act).helpGroup(`${title}:`));
  return program.helpCommand("help [command]", "about a command");
}

function parserFor(command: Command, act: Act): Parser {
  const parser = new Parser(command.name)
    .summary(command.summary)
    .description(command.summary)
    .aliases([...(command.aliases ?? [])])
    .helpOption("-h, --help", "this")
    .allowExcessArguments(false)
    .exitOverride();
  for (const { name, about, required, variadic = false } of command.arguments) {
    const inside = variadic ? `${name}...` : name;
    parser.argument(required ? `<${inside}>` : `[${inside}]`, about);
  }
  for (const option of [...command.options, ...EVERYWHERE]) parser.addOption(flagOf(option));
  if (command.more !== undefined) parser.addHelpText("after", `\n${command.more}`);
  parser.configureOutput({ writeErr: () => {}, outputError: () => {} });
  return parser.action(async (...given: unknown[]) => {
    const words = given
      .slice(0, -2)
      .flat()
      .filter((word) => word !== undefined);
    await act(command, words as string[], parser.opts());
  });
}

function flagOf({ flags, about, completes, repeats }: Option): Flag {
  const flag = new Flag(flags, about);
  if (Array.isArray(completes)) flag.choices([...(completes as readonly string[])]);
  if (repeats)
    flag.argParser((value: string, before: readonly string[] | undefined) => [...(before ?? []), value]);
  return flag;
}

// ── What is wrong ───────────────────────────────────────────────────────────────────────────────────────────

function inWords(program: Parser, words: readonly string[], error: CommanderError): string {
  const name = words.find((word) => !word.startsWith("-")) ?? "";
  const parser = program.commands.find((each) => each.name() === name || each.aliases().includes(name));
  const message = error.message.replace(/^error: /, "");
  const quoted = /'([^']*)'/.exec(message)?.[1] ?? "";
  if (error.code === "commander.unknownCommand" || parser === undefined)
    return quoted.startsWith("-")
      ? `there is no option ${quoted}; sessiond help shows what there is`
      : `there is no command ${JSON.stringify(quoted)}; ${nearOr(quoted, namesOf(program), "sessiond help shows what there is")}`;
  const usage = `Usage: sessiond ${parser.name()} ${parser.usage()}`;
  switch (error.code) {
    case "commander.unknownOption": {
      const known = parser.options.flatMap(({ long }) => long ?? []);
      const hint = nearOr(quoted, known, `it has ${known.join(", ")}`);
      const words =
        parser.registeredArguments.length === 0 ? "" : `; a word that begins with - comes after --`;
      return `${parser.name()} has no option ${quoted}; ${hint}${words}`;
    }
    case "commander.missingArgument":
      return `${parser.name()} needs ${quoted}. ${usage}`;
    case "commander.excessArguments":
      return `${parser.name()}: one word too many. ${usage}`;
    default:
      return `${parser.name()}: ${message.replace(/\.$/, "")}. ${usage}`;
  }
}

function namesOf(program: Parser): readonly string[] {
  return program.commands.flatMap((each) => [each.name(), ...each.aliases()]);
}

function nearOr(word: string, known: readonly string[], otherwise: string): string {
  const words = instead(word, known);
  return words.startsWith("did you mean") ? words : otherwise;
}
