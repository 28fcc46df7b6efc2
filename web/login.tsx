// Who may? A token says so. It is asked for here when the address brought none, or one that is not taken any more.

import { useEffect, useId, useRef, useState } from "preact/hooks";
import { clean } from "../src/base/harmless.ts";
import { Button } from "./parts/button.tsx";
import { refusal, signIn, tokenOf } from "./wire/token.ts";

export function Login() {
  const [text, setText] = useState("");
  const [isMissing, setMissing] = useState(false);
  const id = useId();
  const field = useRef<HTMLInputElement>(null);
  const wrong = isMissing ? "Nothing is typed yet." : refusal.value === null ? null : sentence(refusal.value);
  useEffect(() => field.current?.focus(), [wrong]);
  return (
    <main class="login">
      <form
        noValidate
        onSubmit={(event: SubmitEvent) => {
          event.preventDefault();
          const token = tokenOf(text);
          setMissing(token === "");
          if (token !== "") signIn(token);
        }}
      >
        <img src="/favicon.svg" alt="" width="48" height="48" />
        <h1>sessiond</h1>
        <div class="field">
          <label htmlFor={id}>Token</label>
          <input
            ref={field}
            id={id}
            type="password"
            name="token"
            autocomplete="off"
            aria-invalid={wrong !== null}
            aria-describedby={`${id}-wrong ${id}-hint`}
            value={text}
            onInput={(event: Event) => {
              setText((event.currentTarget as HTMLInputElement).value);
              setMissing(false);
            }}
          />
          <div id={`${id}-wrong`} role="alert">
            {wrong !== null && <p class="refused">{wrong}</p>}
          </div>
          <small id={`${id}-hint`}>
            Or the whole link that has it. The daemon prints one when it starts, and{" "}
            <code>npx sessiond page</code> prints it again; whoever has an admin token can make you one in the
            settings.
          </small>
        </div>
        <Button type="submit" look="main">
          Sign in
        </Button>
      </form>
    </main>
  );
}

/** The daemon's words begin small: they stand in the middle of others elsewhere. */
function sentence(words: string): string {
  return clean(`${words.charAt(0).toUpperCase()}${words.slice(1)}.`);
}
