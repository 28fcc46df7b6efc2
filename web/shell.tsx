// What stands around every view: the rail, the view itself, and what may come before it.

import type { ComponentType } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { oneLine } from "../src/base/harmless.ts";
import { Button } from "./parts/button.tsx";
import { Questions } from "./parts/dialog.tsx";
import { Icon, type IconName } from "./parts/icons.tsx";
import { Toasts } from "./parts/toast.tsx";
import { Help } from "./help.tsx";
import { useKeys } from "./state/keys.ts";
import { go, hrefOf, place, type View } from "./state/place.ts";
import { cycleTheme, theme } from "./state/theme.ts";
import { bearer } from "./wire/scope.ts";
import { connection, connections } from "./wire/socket.ts";
import { views } from "./views/views.tsx";

const RAIL: readonly (readonly [view: Exclude<View, "session">, name: string, key: string])[] = [
  ["processes", "Processes", "p"],
  ["overview", "Overview", "o"],
  ["schedule", "Schedule", "c"],
  ["search", "Search", "s"],
  ["memory", "Memory", "m"],
  ["upkeep", "Upkeep", "u"],
  ["settings", "Settings", "t"],
];

export function Shell() {
  const { view, of } = place.value;
  const [isHelping, setHelping] = useState(false);
  useKeys("Everywhere", [
    { key: "?", about: "this help", run: () => setHelping(true) },
    { key: "/", about: "search, or filter what is listed", run: () => toSearch() },
    { key: "g h", about: "the main session", run: () => go("session", "agent:main:main") },
    ...RAIL.map(([to, name, key]) => ({ key: `g ${key}`, about: name, run: () => go(to) })),
  ]);
  useArrival(view, of);
  const Shown: ComponentType = views[view];
  return (
    <div class="shell">
      <a class="skip" href="#view" onClick={(event: MouseEvent) => skip(event)}>
        Skip to the view
      </a>
      <Rail view={view} help={() => setHelping(true)} />
      <Lines />
      <main id="view" tabIndex={-1} key={view} aria-label={nameOf(view)}>
        <Shown />
      </main>
      {isHelping && <Help onClose={() => setHelping(false)} />}
      <Questions />
      <Toasts />
    </div>
  );
}

/** Said by the title, and by the focus: where it was lost because what had it is gone, it is in the view. */
function useArrival(view: View, of: string | null): void {
  const isFirst = useRef(true);
  useEffect(() => {
    document.title = `${of === null ? nameOf(view) : oneLine(of)} · sessiond`;
    if (!isFirst.current && document.activeElement === document.body) toView();
    isFirst.current = false;
  }, [view, of]);
}

function toView(): void {
  document.querySelector<HTMLElement>("#view")?.focus();
}

function nameOf(view: View): string {
  return RAIL.find(([each]) => each === view)?.[1] ?? "Session";
}

/** The address stays what it is: it names a place. */
function skip(event: MouseEvent): void {
  event.preventDefault();
  toView();
}

/** A view that lists has a field for it; else there is a view for it. */
function toSearch(): void {
  const field = document.querySelector<HTMLInputElement>("#view input[type=search]");
  if (field === null) return go("search");
  field.focus();
  field.select();
}

function Rail({ view, help }: { readonly view: View; readonly help: () => void }) {
  return (
    <nav class="rail" aria-label="Views">
      <a class="mark" href={hrefOf("session", "agent:main:main")} title="The main session (g h)">
        <img src="/favicon.svg" alt="" width="24" height="24" />
        <span>sessiond</span>
      </a>
      <ul>
        {RAIL.map(([each, name, key]) => (
          <li key={each}>
            <a
              href={hrefOf(each)}
              title={`${name} (g ${key})`}
              {...(each === view || (view === "session" && each === "processes")
                ? { "aria-current": "page" as const }
                : {})}
            >
              <Icon name={each as IconName} />
              <span>{name}</span>
            </a>
          </li>
        ))}
      </ul>
      <div class="end">
        <Button icon="sun" look="quiet" label={`Theme: ${theme.value}`} onClick={cycleTheme} />
        <button
          type="button"
          class="button quiet bare"
          aria-label="Help: keys (?)"
          title="Help: keys (?)"
          onClick={help}
        >
          ?
        </button>
      </div>
    </nav>
  );
}

/** What holds for every view. Their places are there before them: so who does not see them is told when they come. */
function Lines() {
  return (
    <div class="lines">
      <div role="status">
        <Away />
      </div>
      <div role="status">
        <Looking />
      </div>
    </div>
  );
}

/** Said only when it was there before: a page that opens is connecting anyway. */
function Away() {
  if (connection.value !== "away" || connections.value === 0) return null;
  return (
    <p class="away">
      The daemon is away. What you see is what was there last; this page goes on by itself when it is back.
    </p>
  );
}

/** Who may only look is told so here, once, and not by every button that is refused. */
function Looking() {
  const { value } = bearer;
  if (value?.scope !== "read") return null;
  return (
    <p>
      <b>Read only.</b> The token <code>{oneLine(value.name)}</code> may look at everything, and change
      nothing. <a href={hrefOf("settings", null, { part: "tokens" })}>How to get one that may more</a>
    </p>
  );
}
