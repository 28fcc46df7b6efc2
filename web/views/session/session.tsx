// A session that is open: what it is (head), what was said (transcript), what to say (composer), and what is known of it (panel).

import { useEffect } from "preact/hooks";
import { Button } from "../../parts/button.tsx";
import { Loading, Trouble } from "../../parts/empty.tsx";
import { useAsked } from "../../state/asking.ts";
import { useKeys } from "../../state/keys.ts";
import { place } from "../../state/place.ts";
import { useRow } from "../../state/rows.ts";
import { call } from "../../wire/call.ts";
import type { Row, Status } from "../../wire/events.ts";
import { lacking } from "../../wire/scope.ts";
import { act } from "../deeds.tsx";
import { askFork } from "../forking.ts";
import { Composer } from "./composer.tsx";
import { deedsOfEntry } from "./entry-deeds.tsx";
import { Head } from "./head.tsx";
import { Missing } from "./missing.tsx";
import { isOver, isPanelOpen, setPanel, showTab } from "./panel-state.ts";
import { Panel } from "./panel.tsx";
import { Pending } from "./pending.tsx";
import { useRefreshed } from "./refreshed.ts";
import { Transcript } from "./transcript.tsx";
import { endsForGood } from "./transcript/ended.tsx";
import { counted } from "./waiting.ts";
import "./session.css";
import "./panel.css";

export function Session() {
  const { of } = place.value;
  return of === null ? null : <Open key={of} sessionKey={of} />;
}

function Open({ sessionKey }: { readonly sessionKey: string }) {
  const known = useRow(sessionKey);
  const {
    value: status,
    fault,
    again,
  } = useAsked((signal) => call("status", { sessionKey }, signal), [sessionKey]);
  useRefreshed(sessionKey, again);
  const row = known ?? status;
  const isGone = fault !== null && (fault.code === "not_found" || fault.code === "bad_input");
  if (isGone)
    return (
      <Missing
        sessionKey={sessionKey}
        isKey={fault.code === "not_found"}
        wasThere={status !== null}
        again={again}
      />
    );
  if (row === null && fault !== null) return <Trouble fault={fault} again={again} />;
  if (row === null) return <Loading what="the session" />;
  return <There sessionKey={sessionKey} row={row} status={status} again={again} />;
}

interface ThereParts {
  readonly sessionKey: string;
  readonly row: Row;
  readonly status: Status | null;
  readonly again: () => void;
}

function There({ sessionKey, row, status, again }: ThereParts) {
  const { seq } = place.value.query;
  useEffect(again, [counted.value]); // A letter that only waits changes nothing else of a session: its figures would lag.
  useKeys("Session", [
    { key: "p", about: "show or hide the panel", run: () => setPanel(!isPanelOpen.value) },
    { key: "t", about: "trace of the last turn", run: () => showTab("trace", { turn: "" }) },
    { key: "c", about: "context", run: () => showTab("context") },
    { key: ".", about: "pause it, or continue", run: () => act(row, "pause") },
    { key: "f", about: "fork it …", run: () => act(row, "fork") },
    { key: "e", about: "export", run: () => document.querySelector<HTMLElement>(".export button")?.click() },
  ]);
  // What comes after the newest shows the newest, however large it is.
  const at = seq !== undefined && /^\d+$/.test(seq) ? Math.min(Number(seq), Number.MAX_SAFE_INTEGER) : null;
  const hasEnded = row.state === "ended" && endsForGood(sessionKey);
  return (
    <div class={`session-view${isPanelOpen.value ? " with-panel" : ""}`}>
      <Head row={row} status={status} isBehind={isOver.value} />
      <div class="talk" inert={isOver.value}>
        <div class="said">
          <Transcript
            sessionKey={sessionKey}
            at={at}
            pins={status?.settings.pins ?? NO_PINS}
            deeds={(entry) => deedsOfEntry({ row, status, again }, entry)}
          />
        </div>
        <Pending sessionKey={sessionKey} mayWrite={!hasEnded && lacking("operate") === undefined} />
        {hasEnded ? (
          <Over row={row} />
        ) : (
          <Composer sessionKey={sessionKey} row={row} status={status} placeholder={invitation(row)} />
        )}
      </div>
      {isPanelOpen.value && <Panel sessionKey={sessionKey} status={status} />}
    </div>
  );
}

const NO_PINS: readonly string[] = []; // that are known of

function invitation({ state, entries }: Row): string {
  if (state === "ended") return "It has ended; a message begins it again";
  if (state === "paused") return "It is paused: a message waits until it goes on";
  return entries === 0
    ? "Say what you want done (Enter sends, / for commands)"
    : "Message (Enter sends, / for commands)";
}

function Over({ row }: { readonly row: Row }) {
  return (
    <div class="over-note" role="status">
      <p>This session has ended, and takes no more messages. A fork knows what it knew, and goes on.</p>
      <Button icon="fork" unless={lacking("operate")} onClick={() => void askFork(row)}>
        Fork it…
      </Button>
    </div>
  );
}
