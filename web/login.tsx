// Who may? A token says so. It is asked for here when the address brought none, or one that is not taken any more.

import { useState } from "preact/hooks";
import { Button } from "./parts/button.tsx";
import { refusal, signIn } from "./wire/token.ts";

export function Login() {
  const [text, setText] = useState("");
  return (
    <main class="login">
      <form
        onSubmit={(event: SubmitEvent) => {
          event.preventDefault();
          if (text.trim() !== "") signIn(text.trim());
        }}
      >
        <img src="/favicon.svg" alt="" width="48" height="48" />
        <h1>sessiond</h1>
        <label class="field">
          <span>Token</span>
          <input
            type="password"
            name="token"
            autocomplete="off"
            autofocus
            value={text}
            onInput={(event: Event) => setText((event.currentTarget as HTMLInputElement).value)}
          />
          <small>
            The daemon prints a link with it when it starts; <code>npx sessiond page</code> prints it again.
            It is also the file <code>token</code> in the daemon's home.
          </small>
        </label>
        {refusal.value !== null && (
          <p class="refused" role="alert">
            {refusal.value}
          </p>
        )}
        <Button type="submit" look="main">
          Sign in
        </Button>
      </form>
    </main>
  );
}
