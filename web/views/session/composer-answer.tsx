// What a command came to: a quiet card above the composer. It is nobody's message, and is gone when the page is.

import type { Signal } from "@preact/signals";
import { Button } from "../../parts/button.tsx";
import { Plain } from "../../parts/text.tsx";
import { hrefOf } from "../../state/place.ts";

export interface Answer {
  readonly to: string; //              what was typed
  readonly is: "done" | "refused" | "no command";
  readonly text: string;
  readonly sessionKey: string | null; // where it goes on; null: here
}

export function AnswerCard({
  answer,
  sessionKey,
  send,
}: {
  readonly answer: Signal<Answer | null>;
  readonly sessionKey: string;
  /** False: it cannot be sent, and why was told. */
  readonly send: (text: string) => boolean;
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
                if (send(given.to)) close();
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
