// What can be done with one entry of a transcript.

import { rewoundWords } from "../../../src/calls/commands/words.ts";
import { itemOf } from "../../../src/calls/told.ts";
import { textOf, type Block, type Entry, type Message } from "../../../src/transcript/entry.ts";
import { copied } from "../../parts/clipboard.ts";
import { ask } from "../../parts/dialog.tsx";
import type { Deed } from "../../parts/menu.tsx";
import { tell, tried } from "../../parts/toast.tsx";
import { go, hrefOf, replace, place } from "../../state/place.ts";
import { Fault } from "../../../src/base/fault.ts";
import { call } from "../../wire/call.ts";
import type { Status } from "../../wire/events.ts";
import { putBack } from "./draft.ts";
import { showTab } from "./panel-state.ts";
import { turnAt } from "./turns.ts";

export interface Of {
  readonly sessionKey: string;
  readonly status: Status | null; // null: nobody knows yet what is pinned
  readonly again: () => void; //      what is pinned may have changed
}

export function deedsOfEntry(of: Of, entry: Entry): readonly Deed[] {
  const { sessionKey } = of;
  const text = wordsOf(entry);
  const link = `${location.origin}/${hrefOf("session", sessionKey, { seq: String(entry.seq) })}`;
  return [
    ...(text === "" ? [] : [{ name: "Copy text", icon: "copy", run: () => void copied(text) } as const]),
    { name: "Copy link", icon: "link", run: () => void copied(link) },
    { name: "Fork from here", icon: "fork", run: () => void forked(sessionKey, entry.seq) },
    { name: "Rewind to here …", icon: "rewind", run: () => void rewound(of, entry) },
    ...editing(of, entry, text),
    ...pinning(of, entry),
    { name: "Trace of this turn", icon: "overview", run: () => void traced(sessionKey, entry.seq) },
  ];
}

/** Without what stands for its pictures. */
function wordsOf(entry: Entry): string {
  if (entry.type !== "message" || !Array.isArray(entry.message.content)) return textOf(entry);
  const isPicture = (block: unknown): boolean =>
    typeof block === "object" && block !== null && "mimeType" in block;
  const content = (entry.message.content as readonly Block[]).filter((block) => !isPicture(block));
  return textOf({ ...entry, message: { ...entry.message, content } as Message });
}

/** Without an entry: from the newest. */
export async function forked(sessionKey: string, seq?: number): Promise<void> {
  const done = await tried(call("fork", { sessionKey, ...(seq === undefined ? {} : { seq }) }));
  if (done === null) return;
  tell(`This is a fork of ${done.from}: it knows what that knew at entry ${done.throughSeq}.`);
  go("session", done.sessionKey);
}

/** By a key alone nothing is made. */
export async function askFork(sessionKey: string): Promise<void> {
  await ask({
    title: "Fork this session",
    text: "A new session begins with what this one knows now, and goes its own way. This one is not changed.",
    fields: [{ name: "label", label: "A name for people", hint: "May be empty." }],
    verb: "Fork",
    run: async ({ label = "" }) => {
      const done = await call("fork", {
        sessionKey,
        ...(label.trim() === "" ? {} : { label: label.trim() }),
      });
      go("session", done.sessionKey);
    },
  });
}

/** What is not done is told where it was asked. */
async function goneBack(to: {
  readonly sessionKey: string;
  readonly seq?: number;
  readonly entry?: string;
}): Promise<string> {
  const done = await call("rewind", to);
  if (done.outcome === "done" || done.outcome === "unanswered") return rewoundWords(done);
  throw new Fault("busy", rewoundWords(done));
}

async function rewound({ sessionKey, status }: Of, { seq }: Entry): Promise<void> {
  const last = status?.entries ?? 0;
  const after = last > seq ? `what came after it (up to #${last})` : "what came after it";
  await ask({
    title: `Rewind to #${seq}`,
    text: `The conversation goes on from entry #${seq}: ${after} leaves the context, and the model forgets it. It stays in the file, and can be gone back to by its number.`,
    verb: "Rewind",
    run: async () => tell(`It ${await goneBack({ sessionKey, seq })}.`),
  });
}

function editing(of: Of, entry: Entry, text: string): readonly Deed[] {
  const item = itemOf(entry);
  if (item.what !== "letter" || !item.isPerson) return [];
  return [{ name: "Edit and resend …", icon: "edit", run: () => void edited(of, entry, text) }];
}

async function edited({ sessionKey }: Of, { seq, parentId }: Entry, text: string): Promise<void> {
  if (parentId === null) return tell("It is the first entry: /new begins a new conversation.", true);
  const isDone = await ask({
    title: `Edit #${seq} and send it again`,
    text: `The conversation goes back to before #${seq}: the message and what came after it leave the context. They stay in the file. Its words come into the field below; pictures have to be attached again.`,
    verb: "Go back and edit",
    run: async () => void (await goneBack({ sessionKey, entry: parentId })),
  });
  if (!isDone) return;
  putBack(sessionKey, text);
  document.querySelector<HTMLElement>(".composer textarea")?.focus();
}

function pinning({ sessionKey, status, again }: Of, entry: Entry): readonly Deed[] {
  if (entry.type !== "message") return [];
  const isPinned = status?.settings.pins.includes(entry.id) === true;
  const run = (): void =>
    void tried(
      call("pin", { sessionKey, entry: entry.id, pinned: !isPinned }),
      isPinned ? "Unpinned." : "Pinned: it stays whole in every context.",
    ).then(again);
  return [{ name: isPinned ? "Unpin" : "Pin", icon: "pin", run }];
}

async function traced(sessionKey: string, seq: number): Promise<void> {
  const turn = await tried(turnAt(sessionKey, seq));
  if (turn === null) return tell("No turn began before this entry, or it is very long.", true);
  replace({ ...place.value.query, turn });
  showTab("trace");
}
