// What the session has not read yet: letters that wait in its mailbox, whoever sent them, and messages of this tab that wait for a
// connection. A letter that this tab has sent is one line, not two.

import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { many } from "../../../src/base/figures.ts";
import { Button } from "../../parts/button.tsx";
import { Dot } from "../../parts/state.tsx";
import { Ago, Plain, Title } from "../../parts/text.tsx";
import { tell, warn } from "../../parts/toast.tsx";
import { useRow } from "../../state/rows.ts";
import type { Row } from "../../wire/events.ts";
import { lacking } from "../../wire/scope.ts";
import { Who } from "../who.tsx";
import { shown } from "./attaching.ts";
import { putBack, type Mode } from "./draft.ts";
import { again, drop, isOurs, outgoing, restored, seen, type Outgoing } from "./outbox.ts";
import { isOf, useWaiting, wasRead, type Letter } from "./waiting.ts";
import "./pending.css";

/** The transcript tells of every letter that it shows: it is pending no more. */
export function arrived(mailId: string): void {
  seen(mailId);
  wasRead(mailId);
}

const WAITS: Readonly<Record<Mode, string>> = {
  steer: "read before the next step",
  followup: "read after this turn",
  collect: "read after this turn, together with what else comes",
  interrupt: "stops what runs, and is read then",
};

/** When a letter is read; null: at once, as soon as anybody looks. */
function whenRead(state: Row["state"] | null, mode: Mode | null): string | null {
  if (state === "paused") return "read when the session goes on";
  if (state === null || state === "idle" || state === "ended") return null;
  return mode === null ? "obeyed before anything else is read" : WAITS[mode];
}

interface PendingParts {
  readonly sessionKey: string;
  /** There is a composer, into which words may come back. */
  readonly mayWrite: boolean;
}

/** Stands below the transcript. */
export function Pending({ sessionKey, mayWrite }: PendingParts) {
  const state = useRow(sessionKey)?.state ?? null;
  const { letters, hasMore, look } = useWaiting(sessionKey, state === null || isQuiet(state));
  const messages = outgoing.value.filter((each) => each.sessionKey === sessionKey);
  const sent = messages.filter((each) => each.state === "waiting").map(({ id }) => id);
  useEffect(() => {
    if (sent.length > 0) look();
  }, [sent.join(" ")]);
  const list = useRef<HTMLUListElement>(null);
  const newest = messages.at(-1)?.id;
  useLayoutEffect(() => {
    if (newest !== undefined) list.current?.scrollTo({ top: list.current.scrollHeight }); // Who sends something sees it.
  }, [newest]);
  const waiting = letters.map((letter) => ({ letter, own: messages.find((each) => isOf(letter, each)) }));
  const others = waiting.filter(({ own }) => own === undefined);
  return (
    <>
      <p class="hidden" role="status">
        {others.length > 0 && `${hasMore ? "More than " : ""}${many(others.length, "letter")} waiting`}
      </p>
      {(others.length > 0 || messages.length > 0) && (
        <ul class="pending" ref={list} aria-label="Messages on their way">
          {waiting.map(({ letter, own }) =>
            own === undefined ? (
              <Waits key={letter.id} letter={letter} state={state} />
            ) : (
              <Sent key={own.id} message={own} state={state} mayWrite={mayWrite} />
            ),
          )}
          {hasMore && <li class="more">More letters wait behind these.</li>}
          {messages
            .filter((each) => !waiting.some(({ own }) => own === each))
            .map((message) => (
              <Sent key={message.id} message={message} state={state} mayWrite={mayWrite} />
            ))}
        </ul>
      )}
    </>
  );
}

function isQuiet(state: Row["state"]): boolean {
  return state === "idle" || state === "ended";
}

function Words({ text, pictures }: { readonly text: string; readonly pictures: number }) {
  return (
    <p class="words">
      <Plain text={text} />
      {pictures > 0 && <span class="soft"> [{many(pictures, "picture")}]</span>}
    </p>
  );
}

// ── Of others ───────────────────────────────────────────────────────────────────────────────────────────────

const KINDS: Readonly<Record<Letter["kind"], string>> = {
  message: "Message",
  task: "Task",
  report: "Report",
  answer: "Answer",
  beat: "Heartbeat",
  notice: "Notice",
  order: "Order",
};

/** More than two lines show, as a rule. */
const LONG_CHARS = 240;

function Waits({ letter, state }: { readonly letter: Letter; readonly state: Row["state"] | null }) {
  const { kind, mode, text, chars, pictures, postedAt } = letter;
  // A report enters a turn that runs, and interrupts nothing.
  const when = whenRead(state, kind === "report" ? "steer" : mode);
  const how = kind === "message" || kind === "answer" ? mode : null; // That of others is nobody's choice.
  return (
    <li class="of-others">
      <Words text={text} pictures={pictures} />
      <div class="standing">
        <Dot is="waiting">
          <span>
            {KINDS[kind]} from <From letter={letter} />
          </span>
        </Dot>
        <span>
          {[how, when ?? "in the mailbox"].filter((part) => part !== null).join(": ")} · <Ago at={postedAt} />
          {chars > LONG_CHARS && ` · ${many(chars, "character")}`}
        </span>
      </div>
    </li>
  );
}

function From({ letter: { by, from } }: { readonly letter: Letter }) {
  if (by !== "session") return <Title text={from} />;
  return <Who sessionKey={from} />;
}

// ── Of this tab ─────────────────────────────────────────────────────────────────────────────────────────────

interface SentParts extends Pick<PendingParts, "mayWrite"> {
  readonly message: Outgoing;
  readonly state: Row["state"] | null;
}

function Sent(parts: SentParts) {
  const { message } = parts;
  return (
    <li class={`is-${message.state}`}>
      <Words text={message.text} pictures={message.pictures.length} />
      <Standing {...parts} />
    </li>
  );
}

function takeBack(message: Outgoing): void {
  putBack(message.sessionKey, message.text, message.pictures.map(shown));
  drop(message);
  if (message.state === "sending")
    warn("It may have arrived all the same: nobody has said that it did not. Look before you send it again.");
}

/** Nobody has it but this tab: so it can be had back for a while. */
function discard(message: Outgoing): void {
  drop(message);
  const arrived = message.state === "sending" ? " It may have arrived all the same." : "";
  tell(`The message was discarded.${arrived}`, false, { name: "Undo", run: () => restored(message) });
}

function Discard({ message }: Pick<SentParts, "message">) {
  return (
    <Button look="quiet" icon="trash" onClick={() => discard(message)}>
      Discard
    </Button>
  );
}

function Standing({ message, state, mayWrite }: SentParts) {
  const { why, reads } = message;
  if (message.state === "refused" && isOurs(message))
    return (
      <div class="standing" role="alert">
        <Dot is="bad">Not sent: {why}</Dot>
        <Button look="quiet" icon="refresh" unless={lacking("operate")} onClick={() => again(message)}>
          Send again
        </Button>
        {mayWrite && (
          <Button look="quiet" icon="edit" onClick={() => takeBack(message)}>
            Edit
          </Button>
        )}
        <Discard message={message} />
      </div>
    );
  if (message.state === "waiting") {
    const when = whenRead(state, reads);
    return (
      <div class="standing" role="status">
        <Dot is="waiting">{when === null ? "In the mailbox" : `In the mailbox: ${when}`}</Dot>
      </div>
    );
  }
  const words = !isOurs(message)
    ? "Not sent by this token: it was written under another."
    : why === null
      ? "Sending …"
      : `Not sent yet: ${why}. It is tried again by itself.`;
  return (
    <div class="standing" role="status">
      <Dot is={why === null && isOurs(message) ? "idle" : "warn"}>{words}</Dot>
      {mayWrite ? (
        <Button look="quiet" icon="edit" onClick={() => takeBack(message)}>
          Take back
        </Button>
      ) : (
        <Discard message={message} />
      )}
    </div>
  );
}
