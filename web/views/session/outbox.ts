// Outbox
//
// Messages of this page that their session has not taken yet. Each has an id that was made here, so it may be sent again when
// nobody knows whether it arrived, and is there once.
//
//   Owns:      what was sent and not yet seen in a transcript, over a reload too.
//   Does not:  show it (pending.tsx), or know what is being written (draft.ts).
//
// Invariants
//   O1. A message leaves only when it was seen in the session, when its mailbox has it no more, or when somebody takes it back.
//   O2. Messages of one session are sent one after the other, in the order in which they were written.
//   O3. A message is sent by the token that it was written under: to the daemon the same words by another are another message.

import { signal } from "@preact/signals";
import { requestId } from "../../state/request.ts";
import { unsent } from "../../state/unsent.ts";
import { faultOf, call } from "../../wire/call.ts";
import { connections } from "../../wire/socket.ts";
import { markOf, token } from "../../wire/token.ts";
import { hidden } from "./attaching.ts";
import type { Mode, Picture } from "./draft.ts";

export interface Outgoing {
  readonly id: string;
  readonly order: number; //       of writing
  readonly by: string; //          the mark of its token (O3)
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

const KEPT_AS = "sessiond.outbox.";
const unkept = new Set<string>(); // A browser keeps a few megabytes, or nothing.

export const outgoing = signal<readonly Outgoing[]>(kept());

const AGAIN_MS = 2_000;
/** Pictures of a message take a while over a slow line; who is silent for longer is asked again. */
const PATIENCE_MS = 120_000;

const busy = new Set<string>();
const underWay = new Map<string, AbortController>();

token.subscribe(() => {
  for (const key of new Set(outgoing.value.map(({ sessionKey }) => sessionKey))) void pump(key);
});

/** O3. */
export function isOurs({ by }: Outgoing): boolean {
  return by === markOf(token.value);
}

export function post(
  message: Pick<Outgoing, "sessionKey" | "text" | "pictures" | "mode" | "model" | "reads">,
): void {
  const made = { id: requestId(), order: 1 + (outgoing.value.at(-1)?.order ?? 0) };
  const state = { by: markOf(token.value), state: "sending", why: null } as const;
  hold([...outgoing.value, { ...message, ...made, ...state, pictures: message.pictures.map(hidden) }]);
  void pump(message.sessionKey);
}

/** Of one that was refused: what was wrong may be mended by now. It is still the same message. */
export function again({ id, sessionKey }: Outgoing): void {
  change(id, { state: "sending", why: null });
  void pump(sessionKey);
}

export function drop({ id }: Outgoing): void {
  underWay.get(id)?.abort(); // What is written next does not wait for it.
  hold(outgoing.value.filter((each) => each.id !== id));
}

/** One that was dropped is there again, in its place. */
export function restored(message: Outgoing): void {
  const others = outgoing.value.filter(({ id }) => id !== message.id);
  hold([...others, message].toSorted((one, other) => one.order - other.order));
  void pump(message.sessionKey);
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
    const next = outgoing.value.find(
      (each) => each.sessionKey === sessionKey && each.state === "sending" && isOurs(each),
    );
    if (next === undefined) break;
    await attempt(next);
  }
  busy.delete(sessionKey);
}

async function attempt({ id, sessionKey, text, pictures, mode, model }: Outgoing): Promise<void> {
  const over = new AbortController();
  underWay.set(id, over);
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
      AbortSignal.any([over.signal, AbortSignal.timeout(PATIENCE_MS)]),
    );
    change(id, { state: "waiting", why: null });
  } catch (error) {
    if (over.signal.aborted) return;
    const late = error instanceof DOMException;
    const fault = faultOf(error);
    if (!late && !fault.retry && fault.code !== "unauthorized")
      return change(id, { state: "refused", why: `${fault.message}. ${fault.todo}` });
    change(id, { why: late ? "the daemon does not answer" : fault.message });
    await anotherChance();
  } finally {
    underWay.delete(id);
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
  const before = new Map(outgoing.value.map((each) => [each.id, each]));
  outgoing.value = messages;
  unsent.value = messages.filter(({ state }) => state !== "waiting").length;
  if (token.value === null) return; // Who signs out leaves nothing here.
  for (const message of messages) {
    if (before.get(message.id)?.state !== message.state) keep(message);
    before.delete(message.id);
  }
  for (const id of before.keys()) unkeep(id);
}

function unkeep(id: string): void {
  unkept.delete(id);
  try {
    sessionStorage.removeItem(KEPT_AS + id);
  } catch {
    return; // It is not there.
  }
}

function keep(message: Outgoing): void {
  unkeep(message.id); // What is there stays there when what takes its place does not fit.
  try {
    sessionStorage.setItem(KEPT_AS + message.id, JSON.stringify(message));
  } catch {
    unkept.add(message.id);
  }
}

addEventListener("beforeunload", (event) => {
  const isLost = outgoing.value.some(({ id, state }) => state !== "waiting" && unkept.has(id));
  if (isLost && token.value !== null) event.preventDefault();
});

function kept(): readonly Outgoing[] {
  try {
    const names = Object.keys(sessionStorage).filter((each) => each.startsWith(KEPT_AS));
    const messages = names.flatMap((each) => seenAgain(sessionStorage.getItem(each)));
    unsent.value = messages.length;
    return messages.toSorted((one, other) => one.order - other.order);
  } catch {
    return [];
  }
}

/** What was in the mailbox is asked for once more: it may be read by now, and then its session shows it. Nothing: it is no message. */
function seenAgain(json: string | null): readonly Outgoing[] {
  try {
    const message = JSON.parse(json ?? "") as Outgoing;
    if (typeof message.text !== "string" || !Array.isArray(message.pictures)) return [];
    return [{ ...message, state: message.state === "refused" ? "refused" : "sending" }];
  } catch {
    return [];
  }
}
