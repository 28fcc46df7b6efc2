// A session hands its work over: where things stand is written to a file in the workspace, and a fresh session begins with it.
// The old one stays as it is. A crash on the way leaves at most the file, and the wish is fulfilled again from the start: the
// file has the same name then, and the session is opened once.

import { Fault } from "../base/fault.ts";
import { withoutFlushes } from "../context/flush.ts";
import { materialOf } from "../context/material.ts";
import { summaryText } from "../context/summary.ts";
import type { Letter } from "../mail/letter.ts";
import { wishedIn } from "../mail/wish.ts";
import type { SessionKey } from "../routing/key.ts";
import type { Provenance } from "../routing/provenance.ts";
import type { Change } from "../store/change.ts";
import type { Body } from "../transcript/entry.ts";
import { pinnedBytes, shownOf, summaryOf, type Compacting } from "./compacting.ts";
import type { Place, TurnParts } from "./parts.ts";
import { tasksIn, type Task } from "./tasks.ts";
import { openTurn } from "./where.ts";

/** Writes a file of a workspace, whole or not at all; resolves when it is durable. */
export type WriteFile = (
  workspace: string,
  file: {
    readonly path: string;
    readonly text: string;
    readonly cause: string;
    readonly signal: AbortSignal;
  },
) => Promise<void>;

/** What the note says. */
interface HandedOff {
  readonly path: string;
  readonly key: SessionKey;
}

/** The path of the file, in the workspace. */
export async function handOff(parts: TurnParts, place: Place, compacting: Compacting): Promise<string> {
  const { held, agent } = place;
  const { order, measured, question } = compacting;
  if (order === null) throw new Error("nobody asked for it");
  const wished = wishedIn(order, "handoff");
  const { entries } = measured;
  const shown = withoutFlushes(entries);
  const all = { at: shown.length, isInsideTurn: openTurn(entries) !== null };
  const material = materialOf(shown, all, shownOf(place));
  const { focus } = wished;
  const summary = await summaryOf(parts, place, { ...compacting, focus, savedBytes: Infinity }, material);
  const { sections, truncated } = summary;
  if (truncated !== null)
    throw new Fault("bad_input", `no summary could be made: ${truncated}. Nothing was written`);
  const { pinned, asked } = material;
  const said = summaryText({ sections, pinned, asked, tasks: [], pinnedBytesMax: pinnedBytes(measured) });
  const roster = rosterOf(held.key, tasksIn(entries, held.row.transcript.copied));
  const at = new Date(parts.world.nowMs()).toISOString();
  const path = `handoff/${wished.transcript}.md`;
  const text = `# Handoff of ${held.key}, ${at}\n\n${said}\n${roster}`;
  await parts.writeFile(agent.workspace, { path, text, cause: order.id, signal: question.signal });
  const { key, transcript, settings } = wished;
  const open: Change = {
    do: "open",
    key,
    transcript,
    cwd: agent.workspace,
    parent: null,
    settings,
    copy: null,
    ifExists: "refuse",
  };
  const data: HandedOff = { path, key };
  const note: Body = { type: "custom", customType: "sessiond/handoff", data };
  const state = `I stopped here, and you go on. Where things stand is in the file ${path} of your workspace:\n\n${text}`;
  const source: Provenance = { kind: "inter_session", source: held.key, tool: "handoff" };
  const next = wished.message ?? "Read it, and say in a sentence or two what comes next.";
  const from = wished.message === null ? OURS : PERSON; // Only people make this wish.
  await held.commit({
    take: [order.id],
    entries: [note],
    others: [
      open,
      { do: "post", to: [key], letter: letterOf(`cause:begin:${transcript}`, source, state) },
      { do: "post", to: [key], letter: letterOf(`cause:begin:${transcript}:next`, from, next) },
    ],
  });
  return path;
}

const PERSON: Provenance = { kind: "external_user", channel: null, peer: null };
const OURS: Provenance = { kind: "internal_system", cause: "handoff" };

/** The fresh session hears nothing of them. */
function rosterOf(key: SessionKey, tasks: readonly Task[]): string {
  if (tasks.length === 0) return "";
  const lines = tasks.map(({ key: child }) => `- ${child}`);
  return ["", "## Children in flight", "", `They report to ${key}.`, ...lines, ""].join("\n");
}

/** Both are of the first turn: what others wrote is theirs, and what is to be done is whoever's who asked for it. */
function letterOf(id: string, from: Provenance, text: string): Letter {
  return {
    id,
    from,
    class: "interactive",
    mode: "steer",
    content: [{ type: "text", text }],
    replyTo: null,
    origin: null,
  };
}
