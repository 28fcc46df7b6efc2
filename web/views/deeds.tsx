// What can be done to a session, wherever it is shown. What destroys something asks first, and names what it destroys; the rest is
// done at once, or asks only for what it needs to know. What the daemon refuses is told in its words.

import type { Input } from "../../src/calls/door.ts";
import { ask, type Field } from "../parts/dialog.tsx";
import { shortKey } from "../parts/key.ts";
import type { Deed } from "../parts/menu.tsx";
import { tell, tried, warn } from "../parts/toast.tsx";
import { go, stillHere } from "../state/place.ts";
import { idsByContent } from "../state/request.ts";
import { call } from "../wire/call.ts";
import type { Row } from "../wire/events.ts";
import { modelChoices, type Models } from "../wire/models.ts";
import { lacking } from "../wire/scope.ts";
import { beginAnew } from "./anew.tsx";
import { archive, kill, remove } from "./ending.tsx";
import { askExport } from "./exporting.tsx";
import { askFork } from "./forking.ts";
import { nameOf } from "./named.ts";

/** What a deed is, whatever it is called at the moment. */
export type Act =
  | "open"
  | "steer"
  | "pause"
  | "abort"
  | "spawn"
  | "fork"
  | "export"
  | "label"
  | "nice"
  | "pin"
  | "reset"
  | "archive"
  | "kill"
  | "remove";

export type NamedDeed = Deed & { readonly act: Act };

/** Which keys do the same where the menu is. */
export type ActKeys = Readonly<Partial<Record<Act, string>>>;

const MAIN_STAYS = "An agent's main session always stays: pause it, or begin anew";
const EMPTY = "Nothing was said in it yet";

/** Those that only look come with any token; every other needs one that may. */
const LOOKS: ReadonlySet<Act> = new Set<Act>(["open", "export"]);

export function deedsOf(row: Row, keys: ActKeys = {}): readonly NamedDeed[] {
  const may = lacking("operate");
  return [...talkDeeds(row), ...keepDeeds(row), ...endDeeds(row)].map((deed) => {
    const key = keys[deed.act];
    const unless = (LOOKS.has(deed.act) ? undefined : may) ?? deed.unless;
    return { ...deed, unless, ...(key === undefined ? {} : { key }) };
  });
}

function hasEnded({ state }: Row): string | undefined {
  return state === "ended" ? "It has ended" : undefined;
}

function talkDeeds(row: Row): readonly NamedDeed[] {
  const { sessionKey, state, pausing } = row;
  const isAtWork = state === "running" || state === "queued" || state === "waiting";
  const unless = hasEnded(row);
  return [
    { act: "open", name: "Open", icon: "right", run: () => go("session", sessionKey) },
    {
      act: "steer",
      name: isAtWork ? "Steer…" : "Send a message…",
      icon: "send",
      unless,
      run: () => void (isAtWork ? steer(row) : write(row)),
    },
    state === "paused" || pausing
      ? { act: "pause", name: "Continue", icon: "play", run: () => void signal("cont", row) }
      : { act: "pause", name: "Pause", icon: "pause", unless, run: () => void signal("stop", row) },
    {
      act: "abort",
      name: "Stop the turn",
      icon: "stop",
      unless: isAtWork ? undefined : "No turn runs in it",
      run: () => void signal("abort", row),
    },
    { act: "spawn", name: "Spawn a child…", icon: "plus", unless, run: () => void spawn(row) },
  ];
}

function keepDeeds(row: Row): readonly NamedDeed[] {
  const isEmpty = row.entries === 0 ? EMPTY : undefined;
  return [
    { act: "fork", name: "Fork…", icon: "fork", unless: isEmpty, run: () => void askFork(row) },
    { act: "export", name: "Export…", icon: "download", unless: isEmpty, run: () => void askExport(row) },
    { act: "label", name: "Label…", icon: "edit", run: () => void label(row) },
    { act: "nice", name: "Nice…", icon: "settings", unless: hasEnded(row), run: () => void nice(row) },
    { act: "pin", name: row.pinned ? "Unpin" : "Pin", icon: "pin", run: () => void pin(row) },
  ];
}

function endDeeds(row: Row): readonly NamedDeed[] {
  const stays = row.kind === "main" ? MAIN_STAYS : undefined;
  return [
    {
      act: "reset",
      name: "Begin anew…",
      icon: "refresh",
      unless: row.entries === 0 ? EMPTY : hasEnded(row),
      run: () => void beginAnew(row),
    },
    { act: "archive", name: "Archive", icon: "upkeep", unless: stays, run: () => void archive(row) },
    {
      act: "kill",
      name: "Kill…",
      icon: "close",
      isDangerous: true,
      unless: stays ?? hasEnded(row),
      run: () => void kill(row),
    },
    {
      act: "remove",
      name: "Remove…",
      icon: "trash",
      isDangerous: true,
      unless: stays,
      run: () => void remove(row),
    },
  ];
}

/** By a key instead of a menu: why it cannot be done is told. */
export function act(row: Row, which: Act): void {
  const deed = deedsOf(row).find((each) => each.act === which);
  if (deed?.unless === undefined) deed?.run();
  else warn(`${nameOf(row)}: ${deed.unless}.`);
}

// ── Saying something to it ──────────────────────────────────────────────────────────────────────────────────

const MESSAGE: Field = { name: "message", label: "Message", kind: "lines", isNeeded: true };

async function steer(row: Row): Promise<void> {
  const { sessionKey } = row;
  const isDone = await ask({
    title: `Steer ${nameOf(row)}`,
    text: "It reads this before its next step.",
    fields: [MESSAGE],
    verb: "Steer",
    run: ({ message = "" }) => call("steer", { sessionKey, message }),
  });
  if (isDone) tell(`${nameOf(row)} reads it before its next step`);
}

async function write(row: Row): Promise<void> {
  const { sessionKey } = row;
  const idOf = idsByContent();
  const isDone = await ask({
    title: `Send to ${nameOf(row)}`,
    fields: [MESSAGE],
    verb: "Send",
    run: ({ message = "" }) => call("send", { sessionKey, message, id: idOf(message) }),
  });
  if (isDone) tell(`Sent to ${nameOf(row)}`);
}

// ── Children ────────────────────────────────────────────────────────────────────────────────────────────────

/** `above` null: of main, which need not hear of its end. */
export async function spawn(above: Row | null): Promise<void> {
  const parent = above?.sessionKey ?? null;
  const isHere = stillHere();
  const models = await call("models", {}).catch(() => null); // Without them nothing can be chosen, and nothing else is lost.
  const idOf = idsByContent();
  let name = "";
  const isDone = await ask({
    title: above === null ? "Spawn a sub-agent" : `Spawn a child of ${nameOf(above)}`,
    text: above === null ? "Below main." : `${nameOf(above)} is told what became of it.`,
    fields: spawnFields(models),
    verb: "Spawn",
    isHere,
    run: async (given) => {
      const task = taskIn(given, parent);
      const { sessionKey } = await call("spawn", { ...task, id: idOf(JSON.stringify(task)) });
      name = task.name ?? shortKey(sessionKey);
    },
  });
  if (isDone) tell(`Spawned ${name}`);
}

function spawnFields(models: Models | null): readonly Field[] {
  return [
    {
      name: "task",
      label: "Task",
      kind: "lines",
      isNeeded: true,
      hint: "All that it needs to know: it is shown nothing else, unless its context is a fork.",
    },
    {
      name: "name",
      label: "Name",
      named: ["exists"],
      hint: "A child with a name stays, and can be given more. Without one it ends after its task.",
    },
    {
      name: "model",
      label: "Model",
      kind: "choice",
      choices: [["", "As its agent has it"], ...modelChoices(models)],
    },
    {
      name: "context",
      label: "Context",
      kind: "choice",
      choices: [
        ["isolated", "Isolated: it knows its task only"],
        ["fork", "Fork: it knows what its parent knows"],
      ],
      value: "isolated",
      usual: "isolated",
      isMore: true,
    },
    {
      name: "cost",
      label: "Limit, in US dollars",
      named: ["limits"],
      kind: "number",
      hint: "Of it and all below it together. Empty: none of its own.",
      isMore: true,
    },
  ];
}

function taskIn(given: Readonly<Record<string, string>>, parent: string | null): Input<"spawn"> {
  const { task = "", name = "", model = "", context = "", cost = "" } = given;
  return {
    task,
    context: context === "fork" ? "fork" : "isolated",
    ...(name.trim() === "" ? {} : { name: name.trim() }),
    ...(model === "" ? {} : { model }),
    ...(cost === "" ? {} : { limits: { cost: Number(cost) } }),
    ...(parent === null ? {} : { parent }),
  };
}

// ── Signals and settings ────────────────────────────────────────────────────────────────────────────────────

const DONE = {
  stop: "pauses after its step; nothing is lost",
  cont: "goes on",
  abort: "was told to end its turn",
} as const;
const NOT = { stop: "was paused already", cont: "was not paused", abort: "had no turn to stop" } as const;

async function signal(which: keyof typeof DONE, row: Row): Promise<void> {
  const said = await tried(call(which, { sessionKey: row.sessionKey }));
  if (said?.accepted === true) tell(`${nameOf(row)} ${DONE[which]}`);
  else if (said !== null) warn(`${nameOf(row)} ${NOT[which]}`);
}

/** What it is set to now is asked for first: a row does not know. */
async function label(row: Row): Promise<void> {
  const { sessionKey } = row;
  const isHere = stillHere();
  const status = await tried(call("status", { sessionKey }));
  if (status === null) return;
  await ask({
    title: `Label ${nameOf(row)}`,
    fields: [
      {
        name: "label",
        label: "Label",
        value: status.settings.label ?? "",
        hint: "A name for people. Empty: its first words are its title.",
      },
    ],
    verb: "Label",
    isHere,
    run: (given) => {
      const words = (given["label"] ?? "").trim();
      return call("set", { sessionKey, label: words === "" ? null : words });
    },
  });
}

async function nice(row: Row): Promise<void> {
  const { sessionKey } = row;
  const isHere = stillHere();
  const status = await tried(call("status", { sessionKey }));
  if (status === null) return;
  await ask({
    title: `Nice ${nameOf(row)}`,
    fields: [
      {
        name: "nice",
        label: "Nice",
        kind: "number",
        value: String(status.settings.nice),
        hint: "From -20 (it goes first) to 19 (it goes last), among those that wait in its class.",
        isNeeded: true,
      },
    ],
    verb: "Set",
    isHere,
    run: (given) => call("set", { sessionKey, nice: Number(given["nice"]) }),
  });
}

async function pin(row: Row): Promise<void> {
  const pinned = !row.pinned;
  const words = pinned ? "is pinned: upkeep never takes it" : "is not pinned any more";
  await tried(call("set", { sessionKey: row.sessionKey, pinned }), `${nameOf(row)} ${words}`);
}
