// The head of a session that is open: who it is and how it is, on one or two lines, and what can be done to it.

import { count, money, whole } from "../../../src/base/figures.ts";
import { Button } from "../../parts/button.tsx";
import { copied } from "../../parts/clipboard.ts";
import { Menu } from "../../parts/menu.tsx";
import { Gauge, State } from "../../parts/state.tsx";
import { shortKey, Title } from "../../parts/text.tsx";
import type { Row, Status } from "../../wire/events.ts";
import { deedsOf } from "../deeds.tsx";
import { exportAs, exporting } from "./export.ts";
import { isPanelOpen, setPanel } from "./panel-state.ts";

interface HeadParts {
  readonly row: Row;
  readonly status: Status | null;
  readonly isBehind: boolean; // something stands before it: nobody can use it
}

export function Head({ row, status, isBehind }: HeadParts) {
  const { sessionKey, model, cost, tokens } = row;
  const context = row.contextTokens ?? status?.context.tokens ?? null;
  return (
    <header class="head" inert={isBehind}>
      <div class="who">
        <h1>
          <Title text={nameOf(row, status)} />
        </h1>
        <div class="meta">
          <State row={row} />
          <button
            type="button"
            class="copy-key mono"
            title="Copy the key"
            aria-label={`Copy the key ${sessionKey}`}
            onClick={() => void copied(sessionKey)}
          >
            {sessionKey}
          </button>
          <span class="model">{model}</span>
          <Gauge part={context} of={row.windowTokens} label="Context" />
          <span class="cost" title={`${whole(tokens)} tokens`}>
            {count(tokens)} tokens · {money(cost)}
          </span>
        </div>
      </div>
      <div class="deeds">
        <span class="export">
          <Menu
            label="Export"
            icon="download"
            deeds={[
              { name: "As JSONL (its transcript)", run: () => void exportAs(sessionKey, "jsonl") },
              { name: "As Markdown (to read)", run: () => void exportAs(sessionKey, "markdown") },
            ]}
          />
        </span>
        <Menu label="What to do with this session" deeds={deedsOf(row)} />
        <Button
          icon="panel"
          look="quiet"
          label={isPanelOpen.value ? "Hide the panel (p)" : "Show the panel (p)"}
          isOn={isPanelOpen.value}
          onClick={() => setPanel(!isPanelOpen.value)}
        />
      </div>
      <Progress sessionKey={sessionKey} />
    </header>
  );
}

/** A conversation that never ends is not about the first words of it: it has the name of who is talked to. */
function nameOf({ sessionKey, title, kind, agent }: Row, status: Status | null): string {
  const isLabelled = (status?.settings.label ?? null) !== null;
  if (kind === "main" && !isLabelled) return agent;
  return title === "" ? shortKey(sessionKey) : title;
}

function Progress({ sessionKey }: { readonly sessionKey: string }) {
  const running = exporting.value;
  if (running?.sessionKey !== sessionKey) return null;
  return (
    <p class="progress" role="status">
      Exporting: {whole(running.entries)}
      {running.of > 0 && ` of ${whole(running.of)}`} entries …
      <Button look="quiet" onClick={running.cancel}>
        Cancel
      </Button>
    </p>
  );
}
