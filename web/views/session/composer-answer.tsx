// What a command came to: a quiet card above the composer. It is nobody's message, and is gone when the page is.

import type { Signal } from "@preact/signals";
import { Button } from "../../parts/button.tsx";
import { Plain } from "../../parts/text.tsx";
import { hrefOf } from "../../state/place.ts";
import { call, faultOf } from "../../wire/call.ts";
import { draftOf, redraft } from "./draft.ts";
import { post } from "./outbox.ts";

export interface Answer {
  readonly to: string; //              what was typed
  readonly is: "done" | "refused" | "no command";
  readonly text: string;
  readonly sessionKey: string | null; // where it goes on; null: here
}

/** What was typed goes when it was obeyed, if nothing else was typed meanwhile. */
export async function obeyed(sessionKey: string, text: string): Promise<Answer> {
  try {
    const done = await call("command", { sessionKey, text });
    if (!done.isCommand)
      return {
        to: text,
        is: "no command",
        text: `${text} is no command. Type / to see which there are; two slashes at the beginning stand for one.`,
        sessionKey: null,
      };
    if (draftOf(sessionKey).value.text.trim() === text) redraft(sessionKey, { text: "" });
    return { to: text, is: "done", text: done.text, sessionKey: done.sessionKey };
  } catch (error) {
    const { message, todo } = faultOf(error);
    return { to: text, is: "refused", text: `${message}. ${todo}`, sessionKey: null };
  }
}

export function AnswerCard({
  answer,
  sessionKey,
}: {
  readonly answer: Signal<Answer | null>;
  readonly sessionKey: string;
}) {
  const given = answer.value;
  const close = (): void => void (answer.value = null);
  return (
    <div role="status" class="answer-place">
      {given !== null && (
        <section class={`answer ${given.is === "done" ? "" : "bad"}`} aria-label={`Answer to ${given.to}`}>
          <header>
            <code>
              <Plain text={given.to} />
            </code>
            <Button icon="close" look="quiet" label="Dismiss the answer" onClick={close} />
          </header>
          <pre>
            <Plain text={given.text} />
          </pre>
          {given.sessionKey !== null && given.sessionKey !== sessionKey && (
            <a href={hrefOf("session", given.sessionKey)}>Open {given.sessionKey}</a>
          )}
          {given.is === "no command" && (
            <Button
              icon="send"
              onClick={() => {
                const { pictures, mode, model, text } = draftOf(sessionKey).value;
                post({ sessionKey, text: given.to, pictures, mode, model, reads: mode ?? "steer" });
                if (text.trim() === given.to) redraft(sessionKey, { text: "" });
                close();
              }}
            >
              Send it as a message
            </Button>
          )}
        </section>
      )}
    </div>
  );
}
