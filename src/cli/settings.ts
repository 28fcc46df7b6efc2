// What is set about a session: nice, limit, pin, label, model. Without a value each says what is set.

import { Fault } from "../base/fault.ts";
import type { Input, Output } from "../calls/door.ts";
import { SESSION, textOf, type Argument, type Command, type Invocation, type Options } from "./command.ts";
import { entryIn } from "../calls/commands/conversation.ts";
import { keyOf } from "./key.ts";
import { count, duration, json, money, oneLine } from "./output.ts";

type Status = Output<"status">;
type Settings = Output<"set">["settings"];
type Change = Omit<Input<"set">, "sessionKey">;

interface Setting {
  readonly name: string;
  readonly summary: string;
  readonly value: Argument | null;
  readonly options?: Command["options"];
  readonly more?: string;
  /** Null: nothing is to be changed, only shown. */
  readonly change: (words: readonly string[], options: Options, before: Status) => Change | null;
  readonly shown: (settings: Settings, before: Status) => string;
}

const NONE = { flags: "--default", about: "as the agent's configuration says" } as const;

export const nice = setting({
  name: "nice",
  summary: "how far a session stands back for others: -20 (first) to 19 (last)",
  value: { name: "n", about: "-20 to 19", required: false },
  change: ([text]) => {
    if (text === undefined) return null;
    if (!/^[+-]?\d{1,2}$/.test(text) || Number(text) < -20 || Number(text) > 19)
      throw new Fault(
        "bad_input",
        `nice is a number from -20 (first) to 19 (last), not ${JSON.stringify(text)}`,
      );
    return { nice: Number(text) };
  },
  shown: ({ nice: n }) => `nice ${n}`,
});

export const label = setting({
  name: "label",
  summary: "what a session is called in lists",
  value: { name: "label", about: "a name for people", required: false, variadic: true },
  options: [{ flags: "--default", about: "no label: the first words a person wrote" }],
  change: (words, options) => {
    if (options["default"] === true) return { label: null };
    return words.length === 0 ? null : { label: words.join(" ") };
  },
  shown: ({ label: text }) => (text === null ? "no label" : `"${text}"`),
});

export const model = setting({
  name: "model",
  summary: "the model of a session, from its next step on",
  value: { name: "model", about: "its id or an alias; `sessiond models` lists them", required: false },
  options: [NONE],
  change: ([text], options) => {
    if (options["default"] === true || text === "default") return { model: null };
    return text === undefined ? null : { model: text };
  },
  shown: ({ model: id }, before) =>
    id === null ? `${before.modelFrom === "agent" ? before.model : "the model"} of its agent` : id,
});

export const limit = setting({
  name: "limit",
  summary: "what a session and all below it may use",
  value: null,
  options: [
    { flags: "--tokens <n>", about: "tokens of it and all below it together" },
    { flags: "--cost <dollars>", about: "the same in US dollars" },
    { flags: "--steps <n>", about: "model calls in a turn" },
    { flags: "--seconds <n>", about: "length of a turn" },
    NONE,
  ],
  more: "What is not named stays as it is. Example: sessiond limit main --cost 2.50",
  change: (_words, options, { settings, settingsVersion }) => {
    if (options["default"] === true) return { limits: null };
    const given = limitsIn(options);
    if (Object.keys(given).length === 0) return null;
    const kept = Object.entries(settings.limits ?? {}).filter(([, value]) => value !== null);
    return { limits: { ...Object.fromEntries(kept), ...given }, version: settingsVersion };
  },
  shown: ({ limits }) => {
    const { tokens = null, cost = null, stepsPerTurn = null, turnSeconds = null } = limits ?? {};
    const words = [
      ...(tokens === null ? [] : [`${count(tokens)} tokens`]),
      ...(cost === null ? [] : [money(cost)]),
      ...(stepsPerTurn === null ? [] : [`${stepsPerTurn} steps a turn`]),
      ...(turnSeconds === null ? [] : [`${duration(turnSeconds * 1_000)} a turn`]),
    ];
    return words.length === 0 ? "no limits of its own" : words.join(" · ");
  },
});

function limitsIn(options: Options): NonNullable<Change["limits"]> {
  const names = [
    ["tokens", "tokens"],
    ["cost", "cost"],
    ["steps", "stepsPerTurn"],
    ["seconds", "turnSeconds"],
  ] as const;
  const given = names.flatMap(([option, name]) => {
    const text = textOf(options, option);
    if (text === undefined) return [];
    if (!/^\d+(?:\.\d+)?$/.test(text))
      throw new Fault("bad_input", `--${option} is a number, not ${JSON.stringify(text)}`);
    return [[name, Number(text)]];
  });
  return Object.fromEntries(given);
}

function setting({ name, summary, value, options = [], change, shown, more }: Setting): Command {
  const run = async (invocation: Invocation): Promise<number> => {
    const { args, client: find, screen, signal } = invocation;
    const client = await find();
    const sessionKey = await keyOf(client, args[0] ?? "", signal);
    const before = await client.call("status", { sessionKey }, signal);
    const wanted = change(args.slice(1), invocation.options, before);
    const { settings } =
      wanted === null ? before : await client.call("set", { sessionKey, ...wanted }, signal);
    if (screen.json) json(screen, { sessionKey: before.sessionKey, settings });
    else screen.out(`${before.sessionKey}: ${oneLine(shown(settings, before))}\n`);
    return 0;
  };
  const taken = value === null ? [SESSION] : [SESSION, value];
  return { name, summary, arguments: taken, options, run, ...(more === undefined ? {} : { more }) };
}

export const pin: Command = {
  name: "pin",
  summary: "keep a session from upkeep, or an entry whole in every context",
  arguments: [
    SESSION,
    { name: "entry", about: "its number (seq) or id; without it, the session itself", required: false },
  ],
  options: [{ flags: "--off", about: "no more" }],
  run: async ({ args, options, client: find, screen, signal }) => {
    const client = await find();
    const sessionKey = await keyOf(client, args[0] ?? "", signal);
    const pinned = options["off"] !== true;
    const entry = args[1];
    const done =
      entry === undefined
        ? await client.call("set", { sessionKey, pinned }, signal)
        : await client.call("pin", { sessionKey, ...entryIn(entry), pinned }, signal);
    if (screen.json) json(screen, done);
    else
      screen.out(
        `${done.sessionKey}: ${entry === undefined ? "" : `entry ${oneLine(entry)} `}${pinned ? "pinned" : "not pinned"}\n`,
      );
    return 0;
  },
};
