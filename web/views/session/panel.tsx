// Beside the transcript: what the session is, what fills its context, its children, and where the time of a turn went.

import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import { Button } from "../../parts/button.tsx";
import { useKeys } from "../../state/keys.ts";
import type { Status } from "../../wire/events.ts";
import { ContextPanel } from "./context.tsx";
import { ChildrenPanel } from "./panel-children.tsx";
import { isOver, setPanel, tab, TABS, turnTo, type Tab } from "./panel-state.ts";
import { StatusPanel } from "./panel-status.tsx";
import { TracePanel } from "./trace.tsx";

const NAMES: Readonly<Record<Tab, string>> = {
  status: "Status",
  context: "Context",
  children: "Children",
  trace: "Trace",
};

export function Panel({
  sessionKey,
  status,
}: {
  readonly sessionKey: string;
  readonly status: Status | null;
}) {
  const shown = tab.value;
  const box = useRef<HTMLElement>(null);
  const over = isOver.value;
  // Before the browser draws: then it takes the focus from what cannot be used any more, and nobody knows where it was.
  useLayoutEffect(() => {
    if (!over) return;
    const before = document.activeElement as HTMLElement | null;
    box.current?.querySelector<HTMLElement>("[role=tab][aria-selected=true]")?.focus();
    // What it stood before can be used again only after this.
    return () => void requestAnimationFrame(() => goBack(before));
  }, [over]);
  useKeys("Panel", over ? [{ key: "Escape", about: "close the panel", run: () => setPanel(false) }] : []);
  return (
    <>
      {over && (
        <button type="button" class="veil" aria-label="Close the panel" onClick={() => setPanel(false)} />
      )}
      <aside class={`panel ${shown}`} aria-label="About this session" ref={box}>
        <div class="tabs">
          <div role="tablist" aria-label="About this session">
            {TABS.map((each) => (
              <button
                key={each}
                type="button"
                role="tab"
                id={`tab-${each}`}
                aria-selected={each === shown}
                aria-controls="panel-body"
                tabIndex={each === shown ? 0 : -1}
                onKeyDown={turned}
                onClick={() => turnTo(each)}
              >
                {NAMES[each]}
              </button>
            ))}
          </div>
          <Button icon="close" look="quiet" label="Hide the panel" onClick={() => setPanel(false)} />
        </div>
        <div id="panel-body" role="tabpanel" aria-labelledby={`tab-${shown}`} class="panel-body" tabIndex={0}>
          {bodyOf(shown, sessionKey, status)}
        </div>
      </aside>
    </>
  );
}

/** Who came by a link was nowhere before: then they read on in what the panel stood before, as far as it is there already. */
function goBack(before: HTMLElement | null): void {
  if (before !== document.body) before?.focus();
  if (document.activeElement !== document.body) return;
  const said = document.querySelector<HTMLElement>(".transcript .scroll");
  (said ?? document.querySelector<HTMLElement>("#view"))?.focus();
}

function bodyOf(shown: Tab, sessionKey: string, status: Status | null): ComponentChildren {
  switch (shown) {
    case "status":
      return <StatusPanel status={status} />;
    case "context":
      return <ContextPanel sessionKey={sessionKey} />;
    case "children":
      return <ChildrenPanel sessionKey={sessionKey} />;
    case "trace":
      return <TracePanel sessionKey={sessionKey} />;
  }
}

/** Arrows go from one to the next, as tabs do everywhere. */
function turned(event: KeyboardEvent): void {
  const at = TABS.indexOf(tab.value);
  const to = { ArrowRight: at + 1, ArrowLeft: at - 1 + TABS.length, Home: 0, End: TABS.length - 1 }[
    event.key
  ];
  if (to === undefined) return;
  event.preventDefault();
  turnTo(TABS[to % TABS.length] ?? "status");
  requestAnimationFrame(() => document.getElementById(`tab-${tab.value}`)?.focus());
}
