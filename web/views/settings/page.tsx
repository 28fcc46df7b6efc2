// The page itself: how it looks, what it is a page of, and which keys it takes.

import { Button } from "../../parts/button.tsx";
import { useAsked } from "../../state/asking.ts";
import { press } from "../../state/keys.ts";
import { setTheme, theme, THEMES, type Theme } from "../../state/theme.ts";

const WORDS: Readonly<Record<Theme, string>> = {
  system: "As the machine is set",
  light: "Light",
  dark: "Dark",
};

export function ThisPage() {
  const { value: version, fault } = useAsked(versionOf, []);
  return (
    <>
      <section class="card">
        <fieldset class="themes">
          <legend>Colours</legend>
          {THEMES.map((each) => (
            <label key={each}>
              <input
                type="radio"
                name="theme"
                checked={theme.value === each}
                onChange={() => setTheme(each)}
              />
              {WORDS[each]}
            </label>
          ))}
        </fieldset>
      </section>
      <section class="card">
        <header class="card-head">
          <h2>Keys</h2>
          <Button onClick={() => press("?")}>Show the keys</Button>
        </header>
        <p class="hint">
          Everything can be done without a mouse. <kbd>?</kbd> shows the keys of wherever you are.
        </p>
      </section>
      <section class="card">
        <header class="card-head">
          <h2>The daemon</h2>
        </header>
        <p>
          {version === null ? (fault === null ? "…" : "It does not answer.") : `sessiond ${version}`}{" "}
          <span class="soft">at {location.origin}</span>
        </p>
      </section>
    </>
  );
}

/** Anybody may ask this. */
async function versionOf(signal: AbortSignal): Promise<string> {
  const said = (await (await fetch("/healthz", { signal })).json()) as { readonly version: string };
  return said.version;
}
