// A session hands its work over: where things stand is written to a file in the workspace, and a fresh session begins with it.
// The old one stays as it is. A crash on the way leaves at most the file, and the wish is fulfilled again from the start: the
// file has the same name then, and the session is opened once.

import { materialOf } from "../context/material.ts";
import { summaryText } from "../context/summary.ts";
import type { Letter } from "../mail/letter.ts";
import { wishedIn } from "../mail/wish.ts";
import type { SessionKey } from "../routing/key.ts";
import type { Change } from "../store/store.ts";
import type { Body } from "../transcript/entry.ts";
import { HANDOFF, type Paid } from "../transcript/fold.ts";
import { chargeOf, pinnedBytes, shownOf, summaryOf, type Compacting } from "./compacting.ts";
import type { Place, TurnParts } from "./parts.ts";
import { tasksIn } from "./tasks.ts";

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
interface HandedOff extends Paid {
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
  const material = materialOf(entries, { at: entries.length, isInsideTurn: false }, shownOf(place));
  const { focus } = wished;
  const summary = await summaryOf(parts, place, { ...compacting, focus, savedBytes: Infinity }, material);
  const { pinned, asked } = material;
  const tasks = tasksIn(entries, held.row.transcript.copied);
  const { sections } = summary;
  const said = summaryText({ sections, pinned, asked, tasks, pinnedBytesMax: pinnedBytes(measured) });
  const at = new Date(parts.world.nowMs()).toISOString();
  const path = `handoff/${wished.transcript}.md`;
  const text = `# Handoff of ${held.key}, ${at}\n\n${said}\n`;
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
  const data: HandedOff = { path, key, usage: summary.usage };
  const note: Body = { type: "custom", customType: HANDOFF, data };
  const letter = letterOf(`cause:begin:${transcript}`, wordsFor(held.key, { path, text }, wished.message));
  await held.commit({
    take: [order.id],
    entries: [note],
    charge: chargeOf(summary),
    others: [open, { do: "post", to: [key], letter }],
  });
  return path;
}

function wordsFor(
  from: string,
  { path, text }: { readonly path: string; readonly text: string },
  message: string | null,
): string {
  const next = message ?? "Read it, and say in a sentence or two what comes next.";
  return `This session goes on where ${from} stopped. Its state is in the file ${path} of your workspace:\n\n${text}\n${next}`;
}

function letterOf(id: string, text: string): Letter {
  return {
    id,
    from: { kind: "internal_system", cause: "handoff" },
    class: "interactive",
    mode: "followup",
    content: [{ type: "text", text }],
    replyTo: null,
    origin: null,
  };
}
