// Commands about the conversation itself: to stop, to pause, to begin anew, to go back, to go on elsewhere.

import { Fault } from "../../base/fault.ts";
import { cut, oneLine } from "../../base/harmless.ts";
import type { Done } from "../call.ts";
import { alone, said, seen, split, told, type At, type Command, type Output, type Said } from "./command.ts";
import { compactedWords, handedWords, resetWords, rewoundWords } from "./words.ts";

const stop: Command = {
  name: "stop",
  takes: "",
  about: "stops the turn that runs; it goes on with the next message",
  run: async ({ sessionKey, call }) =>
    said(await call("abort", { sessionKey }), ({ accepted }) => [
      accepted ? "its turn stops" : "nothing runs in it",
    ]),
};

const pause: Command = {
  name: "pause",
  takes: "",
  about: "pauses it after the step that runs; messages wait",
  run: async ({ sessionKey, call }) =>
    said(await call("stop", { sessionKey }), ({ accepted }) => [
      accepted ? "paused; /cont goes on" : "was paused already; /cont goes on",
    ]),
};

const cont: Command = {
  name: "cont",
  takes: "",
  about: "goes on with what was paused",
  run: async ({ sessionKey, call }) =>
    said(await call("cont", { sessionKey }), ({ accepted }) => [accepted ? "goes on" : "was not paused"]),
};

const renew: Command = {
  name: "new",
  aliases: ["reset"],
  takes: "[model] [message]",
  about: "begins a new conversation, with that model and message; the old one becomes an archive",
  run: beginAnew,
};

/** A first word that is no model is the first of the message. */
async function beginAnew(at: At, rest: string): Promise<Done<Said>> {
  const { system, sessionKey, timeoutMs, call, say } = at;
  const [first, others] = split(rest);
  const isModel = first !== "" && system.catalog.get(first) !== null;
  const message = isModel ? others : rest;
  const input = { sessionKey, ...(isModel ? { model: first } : {}), ...waiting(timeoutMs) };
  const reset = await call("reset", input);
  if (message === "") return said(reset, (out) => [resetWords(out)]);
  // In the same commit, behind the wish: whoever has the session next begins anew, and then reads it.
  const sent = await say(message);
  const changes = [...reset.changes, ...sent.changes];
  return said({ ...reset, changes }, (out) => [resetWords(out)]);
}

const compact: Command = {
  name: "compact",
  takes: "[focus]",
  about: "replaces the older part of the context by a summary, now",
  run: async ({ sessionKey, timeoutMs, call }, rest) => {
    const input = { sessionKey, ...(rest === "" ? {} : { focus: rest }), ...waiting(timeoutMs) };
    return said(await call("compact", input), (out) => [compactedWords(out)]);
  },
};

const handoff: Command = {
  name: "handoff",
  takes: "[what it is to do]",
  about: "writes down where things stand, and begins a fresh session with it",
  run: async ({ sessionKey, timeoutMs, call }, rest) => {
    const input = { sessionKey, ...(rest === "" ? {} : { message: rest }), ...waiting(timeoutMs) };
    return said(
      await call("handoff", input),
      (out) => [handedWords(out)],
      (out) => (out.outcome === "done" ? out.sessionKey : null),
    );
  },
};

const fork: Command = {
  name: "fork",
  takes: "[name]",
  about: "a new session that knows what this one knows now",
  run: async ({ sessionKey, call }, rest) => {
    const done = await call("fork", { sessionKey, ...(rest === "" ? {} : { name: rest }) });
    return said(
      done,
      (out) => [`${out.sessionKey} knows what ${out.from} knew at entry ${out.throughSeq}`],
      (out) => out.sessionKey,
    );
  },
};

const rewind: Command = {
  name: "rewind",
  takes: "[entry]",
  about: "goes back: the conversation continues from that entry; without one, where to",
  looks: alone,
  run: async ({ sessionKey, timeoutMs, call }, rest) => {
    if (rest === "")
      return told(placeLines(await seen(await call("history", { sessionKey, limit: PLACES }))));
    const done = await call("rewind", { sessionKey, ...entryIn(rest), ...waiting(timeoutMs) });
    return said(done, (out) => [rewoundWords(out)]);
  },
};

/** Entries that somebody may want to go back to. */
const PLACES = 12;

/** Of the words of an entry: beside its number and kind they fit a line. */
const PLACE_CELLS = 60;

function placeLines({ entries }: Output<"history">): readonly string[] {
  const lines = entries.map(({ seq, kind, text }) => `#${seq} ${kind}: ${cut(oneLine(text), PLACE_CELLS)}`);
  return [...lines, "/rewind <number>: that entry is the last that stays"];
}

/** By its number or its id, as people write it. */
export function entryIn(text: string): { readonly seq: number } | { readonly entry: string } {
  if (text === "")
    throw new Fault(
      "bad_input",
      "say which entry, by its number or its id: `sessiond log` shows the numbers",
    );
  return /^#?\d+$/.test(text) ? { seq: Number(text.replace("#", "")) } : { entry: text };
}

function waiting(timeoutMs: number | undefined): { readonly timeoutMs?: number } {
  return timeoutMs === undefined ? {} : { timeoutMs };
}

export const conversationCommands: readonly Command[] = [
  stop,
  pause,
  cont,
  renew,
  compact,
  handoff,
  fork,
  rewind,
];
