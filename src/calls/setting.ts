// What people set about a session: settings, pins, and the wish that it pauses or goes on.

import type { z } from "zod";
import { Fault } from "../base/fault.ts";
import { shown } from "../base/fits.ts";
import { limitsOf } from "../children/spawn.ts";
import { PINS_MAX } from "../limits.ts";
import { parseKey } from "../routing/key.ts";
import type { Session, Settings, Signal } from "../sessions/session.ts";
import type { Caller, Done, System } from "./call.ts";
import { reached } from "./reach.ts";
import type { accepted } from "./schemas.ts";
import type { pinInput, setInput, settled } from "./setting-shapes.ts";

type Given = { readonly [Name in keyof Settings]?: Settings[Name] | undefined };
type Settled = z.input<typeof settled>;

/** `version` is what the setter saw; null: whatever it is. A model is kept by its id: aliases may change meaning. */
export function setting(
  system: System,
  session: Session,
  given: Given,
  version: number | null,
): Done<Settled> & { readonly settings: Settings } {
  const named = Object.entries(given).filter(([, value]) => value !== undefined);
  if (named.length === 0) throw new Fault("bad_input", "set: name at least one setting");
  const { model, ...others } = Object.fromEntries(named) as Partial<Settings>;
  const changed: Partial<Settings> =
    model === undefined
      ? others
      : { ...others, model: model === null ? null : system.catalog.find(model).id };
  const settings = { ...session.settings, ...changed };
  return {
    settings,
    changes: [{ do: "set", key: session.key, version, settings: changed }],
    output: () => ({ sessionKey: session.key, settings }),
  };
}

/** As people give it: limits that they do not name are as the agent's configuration says. */
export async function set(
  system: System,
  caller: Caller,
  { sessionKey, version, limits, ...given }: z.output<typeof setInput>,
): Promise<Done<Settled>> {
  const session = await reached(system, caller, parseKey(sessionKey));
  const changed = limits === undefined ? given : { ...given, limits: limits && limitsOf(limits) };
  return setting(system, session, changed, version ?? null);
}

/** With the version it saw: two who pin at once must not lose one another's pin. */
export async function pin(
  system: System,
  caller: Caller,
  input: z.output<typeof pinInput>,
): Promise<Done<Settled>> {
  const session = await reached(system, caller, parseKey(input.sessionKey));
  const { entry, seq, pinned } = input;
  if ((entry === undefined) === (seq === undefined))
    throw new Fault("bad_input", "pin: name the entry by its id or by its seq");
  const named = seq ?? entry ?? "";
  const id = pinned ? await pinnable(system, session, named) : await idOf(system, session, named);
  const others = session.settings.pins.filter((each) => each !== id);
  if (pinned && others.length >= PINS_MAX)
    throw new Fault("bad_input", `${PINS_MAX} entries are pinned already; unpin one first`);
  const pins = pinned ? [...others, id] : others;
  return setting(system, session, { pins }, session.settingsVersion);
}

/** The id of a message in the context, which is named by its seq or its id. */
async function pinnable(system: System, session: Session, named: number | string): Promise<string> {
  for await (const entry of system.store.entries(session.transcript.id, { from: "context" })) {
    if (entry.type === "gap" || (entry.id !== named && entry.seq !== named)) continue;
    if (entry.type === "message") return entry.id;
    throw new Fault(
      "bad_input",
      `entry ${shown(named)} of ${session.key} is neither a message nor a tool's result (${entry.type})`,
    );
  }
  throw new Fault("not_found", `${session.key} has no entry ${shown(named)} in its context`, {
    todo: "pin what `log` shows after the last summary",
  });
}

/** Also of one that has left the context since it was pinned. */
async function idOf(
  { store }: System,
  { key, transcript }: Session,
  named: number | string,
): Promise<string> {
  if (typeof named === "string") return named;
  if (named <= transcript.lastSeq)
    for await (const entry of store.entries(transcript.id, { since: named })) {
      if (entry.type === "gap") continue;
      if (entry.seq !== named) break;
      return entry.id;
    }
  throw new Fault("not_found", `${key} has no entry ${named}`, { todo: "`log` shows the numbers" });
}

export async function signal(
  system: System,
  caller: Caller,
  sessionKey: string,
  wish: Signal,
): Promise<Done<z.input<typeof accepted>>> {
  const { key, state, signal: before } = await reached(system, caller, parseKey(sessionKey));
  if (state.kind === "ended") throw new Fault("ended", `${key} has ended`);
  const output = (): z.input<typeof accepted> => ({ sessionKey: key, accepted: before !== wish });
  return { changes: [{ do: "signal", key, signal: wish }], output };
}
