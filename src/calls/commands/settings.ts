// Commands that look at a session, and that set something about it.

import { count } from "../../base/figures.ts";
import { oneLine } from "../../base/harmless.ts";
import { Fault } from "../../base/fault.ts";
import { THINKING } from "../../models/model.ts";
import { MODES } from "../setting-shapes.ts";
import { alone, always, said, seen, split, told, type At, type Command, type Output } from "./command.ts";
import { entryIn } from "./conversation.ts";
import { contextLines, statusLines } from "./words.ts";

const status: Command = {
  name: "status",
  takes: "",
  about: "what it does or waits for, model, context, usage",
  looks: always,
  run: async ({ system, sessionKey, call }) =>
    said(await call("status", { sessionKey }), (out) => statusLines(out, system.world.nowMs())),
};

const context: Command = {
  name: "context",
  takes: "",
  about: "what fills the context, and what has left it",
  looks: always,
  run: async ({ sessionKey, call }) =>
    said(await call("context", { sessionKey }), (out) => contextLines(out)),
};

/** What every setting can be set to besides: what the agent's configuration says. */
const DEFAULT = "default";

const model: Command = {
  name: "model",
  takes: "[model]",
  about: `another model from now on; "${DEFAULT}" goes back; without one, which there are`,
  looks: alone,
  run: async ({ sessionKey, call }, rest) => {
    if (rest === "") {
      const { model: now } = await seen(await call("status", { sessionKey }));
      return said(await call("models", {}), (out) => [`model ${now}; there are:`, ...modelLines(out)]);
    }
    const done = await call("set", { sessionKey, model: rest === DEFAULT ? null : rest });
    return said(done, ({ settings }) => [`model ${settings.model ?? AS_CONFIGURED}`]);
  },
};

const AS_CONFIGURED = "as the agent's configuration says";

function modelLines({ models, aliases }: Output<"models">): readonly string[] {
  const named = Object.entries(aliases).map(([alias, id]) => `${alias} = ${id}`);
  return [...models.map(({ id, windowTokens }) => `${id} · ${count(windowTokens)}`), ...named];
}

interface Choice {
  readonly setting: "thinking" | "verbose" | "queueMode" | "sendPolicy";
  readonly word: string; // what the setting is called in an answer
  readonly of: readonly string[];
}

/** A setting with a few values. Without one, it says what is set. */
function choice(name: string, about: string, { setting, word, of }: Choice): Command {
  const values = [...of, DEFAULT];
  const run = async ({ sessionKey, call }: At, rest: string) => {
    const words = (value: string | null): string => `${word} ${value ?? AS_CONFIGURED}`;
    if (rest === "") {
      const { settings } = await seen(await call("status", { sessionKey }));
      return told([`${words(settings[setting])}; /${name} takes ${values.join(", ")}`]);
    }
    if (!values.includes(rest)) throw new Fault("bad_input", `/${name} takes one of ${values.join(", ")}`);
    // The values are those that the call takes: it checks them.
    const given = { [setting]: rest === DEFAULT ? null : rest } as { readonly verbose: null };
    return said(await call("set", { sessionKey, ...given }), ({ settings }) => [words(settings[setting])]);
  };
  return { name, takes: `[${values.join("|")}]`, words: values, about, looks: alone, run };
}

const label: Command = {
  name: "label",
  takes: "[text|clear]",
  words: ["clear"],
  about: "a name for people; without one, which it has",
  looks: alone,
  run: async ({ sessionKey, call }, rest) => {
    if (rest === "") {
      const { settings } = await seen(await call("status", { sessionKey }));
      return told([labelWords(settings.label)]);
    }
    const done = await call("set", { sessionKey, label: rest === "clear" ? null : oneLine(rest) });
    return said(done, ({ settings }) => [labelWords(settings.label)]);
  },
};

function labelWords(text: string | null): string {
  return text === null ? "it has no label" : `it is called "${oneLine(text)}"`;
}

const pin: Command = {
  name: "pin",
  takes: "[off] [entry]",
  words: ["off"],
  about: "upkeep never takes a session that is pinned; an entry that is pinned stays whole in every context",
  run: async ({ sessionKey, call }, rest) => {
    const [first, entry] = split(rest);
    const pinned = first !== "off";
    const named = pinned ? rest : entry;
    if (named === "")
      return said(await call("set", { sessionKey, pinned }), ({ settings }) => [
        settings.pinned ? "pinned: upkeep never takes it" : "not pinned",
      ]);
    const done = await call("pin", { sessionKey, ...entryIn(named), pinned });
    return said(done, ({ settings }) => [
      `entry ${oneLine(named)} is ${pinned ? "pinned" : "not pinned"}; ${settings.pins.length} are`,
    ]);
  },
};

export const settingCommands: readonly Command[] = [
  status,
  context,
  model,
  choice("think", "how long it thinks before it answers", {
    setting: "thinking",
    word: "thinking",
    of: THINKING,
  }),
  choice("verbose", "what is told while it works: nothing, tools, or their results too", {
    setting: "verbose",
    word: "verbose",
    of: ["off", "on", "full"],
  }),
  choice("queue", "what a message does while it works", {
    setting: "queueMode",
    word: "queue mode",
    of: MODES,
  }),
  choice("send", "whether its answers may leave through channels", {
    setting: "sendPolicy",
    word: "sending",
    of: ["allow", "deny"],
  }),
  label,
  pin,
];
