// Messages that were sent and that the session has not taken yet: they wait in its mailbox, or for a connection.

import { useEffect } from "preact/hooks";
import { many } from "../../../src/base/figures.ts";
import { Button } from "../../parts/button.tsx";
import { Dot } from "../../parts/state.tsx";
import { Plain } from "../../parts/text.tsx";
import { tell } from "../../parts/toast.tsx";
import { useRow } from "../../state/rows.ts";
import { call } from "../../wire/call.ts";
import { shown } from "./attaching.ts";
import { putBack, type Mode } from "./draft.ts";
import { again, drop, isOurs, outgoing, seen, type Outgoing } from "./outbox.ts";

/** The transcript tells of every letter that it shows: it is pending no more. */
export function arrived(mailId: string): void {
  seen(mailId);
}

const WAITS: Readonly<Record<Mode, string>> = {
  steer: "read before the next step",
  followup: "read after this turn",
  collect: "read after this turn, together with what else comes",
  interrupt: "stops what runs, and is read then",
};

/** Stands below the transcript. */
export function Pending({ sessionKey }: { readonly sessionKey: string }) {
  const row = useRow(sessionKey);
  const messages = outgoing.value.filter((each) => each.sessionKey === sessionKey);
  const waiting = messages.filter(({ state }) => state === "waiting").map(({ id }) => id);
  const isQuiet = row !== null && (row.state === "idle" || row.state === "ended");
  useEffect(() => {
    if (isQuiet && waiting.length > 0) void settle(sessionKey, waiting);
  }, [isQuiet, row?.updatedAt, waiting.join(" ")]);
  if (messages.length === 0) return null;
  return (
    <ul class="pending" aria-label="Messages on their way">
      {messages.map((message) => (
        <li key={message.id} class={`is-${message.state}`}>
          <p class="words">
            <Plain text={message.text} />
            {message.pictures.length > 0 && (
              <span class="soft"> [{many(message.pictures.length, "picture")}]</span>
            )}
          </p>
          <Standing message={message} isQuiet={isQuiet} />
        </li>
      ))}
    </ul>
  );
}

/** A session that is at rest with an empty mailbox has read it, wherever in its transcript that is. */
async function settle(sessionKey: string, ids: readonly string[]): Promise<void> {
  const status = await call("status", { sessionKey }).catch(() => null);
  if (status === null || status.waitingLetters > 0) return;
  if (status.state !== "idle" && status.state !== "ended") return;
  for (const message of outgoing.value)
    if (ids.includes(message.id) && message.state === "waiting") drop(message);
}

function takeBack(message: Outgoing): void {
  putBack(message.sessionKey, message.text, message.pictures.map(shown));
  drop(message);
  if (message.state === "sending")
    tell("It may have arrived all the same: nobody has said that it did not. Look before you send it again.");
}

function Standing({ message, isQuiet }: { readonly message: Outgoing; readonly isQuiet: boolean }) {
  const { state, why, reads } = message;
  if (state === "refused" && isOurs(message))
    return (
      <div class="standing" role="alert">
        <Dot is="bad">Not sent: {why}</Dot>
        <Button look="quiet" icon="refresh" onClick={() => again(message)}>
          Try again
        </Button>
        <Button look="quiet" icon="edit" onClick={() => takeBack(message)}>
          Edit
        </Button>
      </div>
    );
  if (state === "waiting")
    return (
      <div class="standing" role="status">
        <Dot is="waiting">{isQuiet ? "In the mailbox" : `In the mailbox: ${WAITS[reads]}`}</Dot>
      </div>
    );
  const words = !isOurs(message)
    ? "Not sent by this token: it was written under another."
    : why === null
      ? "Sending …"
      : `Not sent yet: ${why}. It is tried again by itself.`;
  return (
    <div class="standing" role="status">
      <Dot is={why === null && isOurs(message) ? "idle" : "warn"}>{words}</Dot>
      <Button look="quiet" icon="edit" onClick={() => takeBack(message)}>
        Take back
      </Button>
    </div>
  );
}
