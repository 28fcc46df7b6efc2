// What can be done with one entry of a transcript.

import { rewoundWords } from "../../../src/calls/commands/words.ts";
import { itemOf } from "../../../src/calls/told.ts";
import { textOf, type Block, type Entry, type Message } from "../../../src/transcript/entry.ts";
import { copied } from "../../parts/clipboard.ts";
import { ask } from "../../parts/dialog.tsx";
import type { Deed } from "../../parts/menu.tsx";
import { tell, tried } from "../../parts/toast.tsx";
import { hrefOf, stillHere } from "../../state/place.ts";
import { Fault } from "../../../src/base/fault.ts";
import { call } from "../../wire/call.ts";
import type { Line, Row, Status } from "../../wire/events.ts";
import { lacking } from "../../wire/scope.ts";
import { askFork } from "../forking.ts";
import { putBack } from "./draft.ts";
import { showTab } from "./panel-state.ts";
import { KEYS } from "./transcript/entry-keys.ts";
import { nameOfEntry } from "./transcript/naming.ts";
import { isRewind, leftBy, RETURN } from "./transcript/rows.ts";
import { turnAt } from "./turns.ts";

export interface Of {
  readonly row: Row;
  readonly status: Status | null; // null: nobody knows yet what is pinned
  readonly again: () => void; //      what is pinned may have changed
}

export function deedsOfEntry(of: Of, entry: Entry): readonly Deed[] {
  const { row } = of;
  const { sessionKey } = row;
  const text = wordsOf(entry);
  const link = `${location.origin}/${hrefOf("session", sessionKey, { seq: String(entry.seq) })}`;
  const deeds: readonly Deed[] = [
    ...(text === ""
      ? []
      : [{ name: "Copy text", icon: "copy", key: KEYS.copy, run: () => void copied(text) } as const]),
    { name: "Copy link", icon: "link", key: KEYS.link, run: () => void copied(link) },
    {
      name: "Trace of this turn",
      icon: "overview",
      key: KEYS.trace,
      run: () => void traced(sessionKey, entry.seq),
    },
  ];
  const changes: readonly Deed[] = [
    ...returning(sessionKey, entry),
    {
      name: "Fork from here …",
      icon: "fork",
      key: KEYS.fork,
      run: () => void askFork(row, { seq: entry.seq, name: named(entry) }),
    },
    {
      name: "Rewind to here …",
      icon: "rewind",
      key: KEYS.rewind,
      run: () => void rewound(sessionKey, entry),
    },
    ...editing(sessionKey, entry, text),
    ...pinning(of, entry),
  ];
  return [...deeds, ...changes.map((deed) => ({ ...deed, unless: lacking("operate") }))];
}

/** Without what stands for its pictures. */
function wordsOf(entry: Entry): string {
  if (entry.type !== "message" || !Array.isArray(entry.message.content)) return textOf(entry);
  const isPicture = (block: unknown): boolean =>
    typeof block === "object" && block !== null && "mimeType" in block;
  const content = (entry.message.content as readonly Block[]).filter((block) => !isPicture(block));
  return textOf({ ...entry, message: { ...entry.message, content } as Message });
}

function named(entry: Entry): string {
  return nameOfEntry(entry, Date.now());
}

// ── Going back ──────────────────────────────────────────────────────────────────────────────────────────────

const KEPT = "Nothing is deleted: in its place a line says that it went back, and returns to what was left.";

/** What is not done is told where it was asked. False: it is done when the session comes to it, and that is told. */
async function goneBack(to: {
  readonly sessionKey: string;
  readonly seq?: number;
  readonly entry?: string;
}): Promise<boolean> {
  const done = await call("rewind", to);
  if (done.outcome === "done") return true;
  if (done.outcome !== "unanswered") throw new Fault("busy", rewoundWords(done));
  tell(`It ${rewoundWords(done)}.`);
  return false;
}

async function rewound(sessionKey: string, entry: Entry): Promise<void> {
  const name = named(entry);
  await ask({
    title: `Rewind to ${name}`,
    text: `The conversation goes on from there. What came after it is left behind: the model forgets it, and it is not shown here any more. ${KEPT}`,
    verb: "Rewind",
    run: async () => {
      if (!(await goneBack({ sessionKey, seq: entry.seq }))) return;
      const left = await lastLeft(sessionKey).catch(() => null);
      tell(`It goes on from ${name}.`, false, left === null ? null : undoing(sessionKey, left));
    },
  });
}

function undoing(sessionKey: string, left: Left): { readonly name: string; readonly run: () => void } {
  return { name: "Undo", run: () => void undone(sessionKey, left) };
}

/** What was said since would be left behind without a word: then it is asked. */
async function undone(sessionKey: string, { at, last }: Left): Promise<void> {
  const isHere = stillHere();
  const page = await tried(call("entries", { sessionKey, last: 1 }));
  if (page === null) return;
  if (page.lastSeq === at) return void tried(returned(sessionKey, last));
  await askReturn(sessionKey, last, { since: "the conversation went back", isHere });
}

async function returned(sessionKey: string, seq: number): Promise<void> {
  if (await goneBack({ sessionKey, seq })) tell("What was left behind is there again.");
}

/** What a rewind left behind. */
interface Left {
  readonly at: number; //   the line that says that it went back
  readonly last: number; // of what was left
}

/** By the newest rewind; null: that left nothing, or is not among the newest. */
async function lastLeft(sessionKey: string): Promise<Left | null> {
  const page = await call("entries", { sessionKey, last: 5 });
  const lines = page.entries as unknown as readonly Line[];
  const note = lines.findLast(isRewind);
  const last = note === undefined ? null : leftBy(note);
  return note === undefined || last === null ? null : { at: note.seq, last };
}

/** Of the line that says that it went back. */
function returning(sessionKey: string, entry: Entry): readonly Deed[] {
  const left = leftBy(entry);
  if (left === null) return [];
  const run = (): void => void askReturn(sessionKey, left, { since: "this line" });
  return [{ name: RETURN, icon: "rewind", run }];
}

interface Since {
  readonly since: string; // as one says it after "What came after"
  readonly isHere?: () => boolean;
}

async function askReturn(sessionKey: string, left: number, { since, ...late }: Since): Promise<void> {
  await ask({
    title: "Return to what was left behind",
    text: `The conversation goes on from where it was before it went back. What came after ${since} is left behind in turn. ${KEPT}`,
    verb: "Return",
    ...late,
    run: () => returned(sessionKey, left),
  });
}

function editing(sessionKey: string, entry: Entry, text: string): readonly Deed[] {
  const item = itemOf(entry);
  if (item.what !== "letter" || !item.isPerson) return [];
  return [
    {
      name: "Edit and resend …",
      icon: "edit",
      key: KEYS.edit,
      run: () => void edited(sessionKey, entry, text),
    },
  ];
}

async function edited(sessionKey: string, entry: Entry, text: string): Promise<void> {
  const isHere = stillHere();
  const { parentId } = entry;
  if (parentId === null) return tell("It is the first entry: /new begins a new conversation.", true);
  const isDone = await ask({
    title: `Edit ${named(entry)} and send it again`,
    text: `The conversation goes back to before it: the message and what came after it are left behind. ${KEPT} Its words come into the field below; pictures have to be attached again.`,
    verb: "Go back and edit",
    run: async () => void (await goneBack({ sessionKey, entry: parentId })),
  });
  if (!isDone) return;
  putBack(sessionKey, text);
  if (!isHere()) return tell("It went back: the words are in the field of that session.");
  document.querySelector<HTMLElement>(".composer textarea")?.focus();
}

// ── What else ───────────────────────────────────────────────────────────────────────────────────────────────

function pinning({ row: { sessionKey }, status, again }: Of, entry: Entry): readonly Deed[] {
  if (entry.type !== "message") return [];
  const isPinned = status?.settings.pins.includes(entry.id) === true;
  const run = (): void =>
    void tried(
      call("pin", { sessionKey, entry: entry.id, pinned: !isPinned }),
      isPinned ? "Unpinned." : "Pinned: it stays whole in every context.",
    ).then(again);
  return [{ name: isPinned ? "Unpin" : "Pin", icon: "pin", key: KEYS.pin, run }];
}

async function traced(sessionKey: string, seq: number): Promise<void> {
  const isHere = stillHere();
  const turn = await tried(turnAt(sessionKey, seq));
  if (!isHere()) return;
  if (turn === null) return tell("No turn began before this entry, or it is very long.", true);
  showTab("trace", { turn });
}
