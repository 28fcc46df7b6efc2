// Who may? A token says so. It is asked for here when the address brought none, or one that is not taken any more.

import { useEffect, useRef, useState } from "preact/hooks";
import { Button } from "./parts/button.tsx";
import { FieldLine } from "./parts/field.tsx";
import { refusal, signIn, tokenOf } from "./wire/token.ts";

const HINT = (
  <>
    Or the whole link that has it. The daemon prints one when it starts, and <code>npx sessiond page</code>{" "}
    prints it again; whoever has an admin token can make you one in the settings.
  </>
);

export function Login() {
  const [text, setText] = useState("");
  const [isMissing, setMissing] = useState(false);
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
        <FieldLine
          refused={wrong ?? undefined}
          field={{
            name: "token",
            label: "Token",
            hint: HINT,
            show: (line) => (
              <input
                {...line}
                ref={field}
                type="password"
                autocomplete="off"
                value={text}
                onInput={(event: Event) => {
                  setText((event.currentTarget as HTMLInputElement).value);
                  setMissing(false);
                }}
              />
            ),
          }}
        />
        <Button type="submit" look="main">
          Sign in
        </Button>
      </form>
    </main>
  );
}

/** The daemon's words begin small: they stand in the middle of others elsewhere. */
function sentence(words: string): string {
  return `${words.charAt(0).toUpperCase()}${words.slice(1)}.`;
}
