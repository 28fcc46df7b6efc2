// Outbox
//
// Messages of this page that their session has not taken yet. Each has an id that was made here, so it may be sent again when
// nobody knows whether it arrived, and is there once.
//
//   Owns:      what was sent and not yet seen in a transcript, over a reload too.
//   Does not:  show it (pending.tsx), or know what is being written (draft.ts).
//
// Invariants
//   O1. A message leaves only when it was seen in the session, or when somebody takes it back after a refusal.
//   O2. Messages of one session are sent one after the other, in the order in which they were written.

import { signal } from "@preact/signals";
import { faultOf, call } from "../../wire/call.ts";
import { connections } from "../../wire/socket.ts";
import type { Mode, Picture } from "./draft.ts";

export interface Outgoing {
  readonly id: string;
  readonly sessionKey: string;
  readonly text: string;
  readonly pictures: readonly Picture[];
  readonly mode: Mode | null; //   null: as the session is set
  readonly model: string | null; // null: the one it has
  readonly reads: Mode; //         how it is read, for people, as far as is known
  /** sending: nobody has said that it is durable. waiting: it is in the mailbox. refused: it is not there, and will not be. */
  readonly state: "sending" | "waiting" | "refused";
  readonly why: string | null; //  why it is refused, or takes longer; null: nothing is wrong
}

const KEPT_AS = "sessiond.outbox";
/** Of pictures: more than that no browser keeps, and to try costs time. */
const KEPT_CHARS_MAX = 4_000_000;

export const outgoing = signal<readonly Outgoing[]>(kept());

const AGAIN_MS = 2_000;
/** Pictures of a message take a while over a slow line; who is silent for longer is asked again. */
const PATIENCE_MS = 120_000;

const busy = new Set<string>();

for (const key of new Set(outgoing.value.map(({ sessionKey }) => sessionKey))) void pump(key);

export function post(
  message: Pick<Outgoing, "sessionKey" | "text" | "pictures" | "mode" | "model" | "reads">,
): void {
  hold([...outgoing.value, { ...message, id: crypto.randomUUID(), state: "sending", why: null }]);
  void pump(message.sessionKey);
}

/** Of one that was refused: what was wrong may be mended by now. It is still the same message. */
export function again({ id, sessionKey }: Outgoing): void {
  change(id, { state: "sending", why: null });
  void pump(sessionKey);
}

export function drop({ id }: Outgoing): void {
  hold(outgoing.value.filter((each) => each.id !== id));
}

/** The daemon's id of a letter ends with ours. It may be seen before the daemon's answer to `send` is here. */
export function seen(mailId: string): void {
  if (outgoing.value.length === 0) return;
  const left = outgoing.value.filter(({ id }) => !mailId.endsWith(`:${id}`));
  if (left.length < outgoing.value.length) hold(left);
}

async function pump(sessionKey: string): Promise<void> {
  if (busy.has(sessionKey)) return;
  busy.add(sessionKey); // O2
  for (;;) {
    const next = outgoing.value.find((each) => each.sessionKey === sessionKey && each.state === "sending");
    if (next === undefined) break;
    await attempt(next);
  }
  busy.delete(sessionKey);
}

async function attempt({ id, sessionKey, text, pictures, mode, model }: Outgoing): Promise<void> {
  try {
    await call(
      "send",
      {
        ...{ sessionKey, id, message: text },
        ...(pictures.length === 0
          ? {}
          : { images: pictures.map(({ data, mimeType }) => ({ data, mimeType })) }),
        ...(mode === null ? {} : { mode }),
        ...(model === null ? {} : { model }),
      },
      AbortSignal.timeout(PATIENCE_MS),
    );
    change(id, { state: "waiting", why: null });
  } catch (error) {
    const late = error instanceof DOMException;
    const fault = faultOf(error);
    if (!late && !fault.retry && fault.code !== "unauthorized")
      return change(id, { state: "refused", why: `${fault.message}. ${fault.todo}` });
    change(id, { why: late ? "the daemon does not answer" : fault.message });
    await anotherChance();
  }
}

/** When the daemon is back, or after a while: what was refused for now may be taken then. */
function anotherChance(): Promise<void> {
  const before = connections.value;
  return new Promise((resolve) => {
    const over = (): void => {
      stop();
      clearTimeout(timer);
      resolve();
    };
    const timer = setTimeout(over, AGAIN_MS);
    const stop = connections.subscribe((now) => {
      if (now !== before) queueMicrotask(over);
    });
  });
}

function change(id: string, changes: Partial<Outgoing>): void {
  hold(outgoing.value.map((each) => (each.id === id ? { ...each, ...changes } : each)));
}

// ── Over a reload ───────────────────────────────────────────────────────────────────────────────────────────

function hold(messages: readonly Outgoing[]): void {
  outgoing.value = messages;
  try {
    if (messages.length === 0 || sizeOf(messages) > KEPT_CHARS_MAX) sessionStorage.removeItem(KEPT_AS);
    else sessionStorage.setItem(KEPT_AS, JSON.stringify(messages));
  } catch {
    return; // A browser keeps a few megabytes, or nothing: then they are there until the page is closed.
  }
}

function sizeOf(messages: readonly Outgoing[]): number {
  return messages.flatMap(({ pictures }) => pictures).reduce((sum, { data }) => sum + data.length, 0);
}

function kept(): readonly Outgoing[] {
  try {
    const read = JSON.parse(sessionStorage.getItem(KEPT_AS) ?? "[]") as readonly Outgoing[];
    return Array.isArray(read) ? read.map(seenAgain) : [];
  } catch {
    return [];
  }
}

/** What was in the mailbox is asked for once more: it may be read by now, and then its session shows it. */
function seenAgain(message: Outgoing): Outgoing {
  const pictures = message.pictures.map((each) => ({
    ...each,
    url: `data:${each.mimeType};base64,${each.data}`,
  }));
  return { ...message, pictures, state: message.state === "refused" ? "refused" : "sending" };
}
