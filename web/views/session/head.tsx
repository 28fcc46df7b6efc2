// The head of a session that is open: who it is and how it is, on one or two lines, and what can be done to it.

import { count, counted, many, money } from "../../../src/base/figures.ts";
import { Button } from "../../parts/button.tsx";
import { copied } from "../../parts/clipboard.ts";
import { Menu, type Deed } from "../../parts/menu.tsx";
import { Gauge, State } from "../../parts/state.tsx";
import type { Row, Status } from "../../wire/events.ts";
import { deedsOf, type Act } from "../deeds.tsx";
import { exportAs, FORMATS, Progress } from "../exporting.tsx";
import { calledOf } from "../named.ts";
import { draftOf } from "./draft.ts";
import { isPanelOpen, setPanel } from "./panel-state.ts";

interface HeadParts {
  readonly row: Row;
  readonly status: Status | null;
  readonly isBehind: boolean; // something stands before it: nobody can use it
}

export function Head({ row, status, isBehind }: HeadParts) {
  const { sessionKey, model, cost, tokens } = row;
  const context = row.contextTokens ?? (status?.context.tokens || null); // 0: nobody has counted.
  const chosen = draftOf(sessionKey).value.model;
  return (
    <header class="head" inert={isBehind}>
      <div class="who">
        <h1>{calledOf(row).name}</h1>
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
          <span class="model">{chosen === null ? model : `${chosen} from the next message on`}</span>
          <Gauge
            part={context}
            of={row.windowTokens}
            label="Context"
            what={`${count(row.windowTokens)} tokens`}
          />
          <span class="cost" title={many(tokens, "token")}>
            {counted(tokens, "token")} · {money(cost)}
          </span>
        </div>
      </div>
      <div class="deeds">
        <span class="export">
          <Menu
            label="Export"
            icon="download"
            deeds={FORMATS.map(([format, name]) => ({
              name,
              run: () => void exportAs(sessionKey, format),
            }))}
          />
        </span>
        <Menu label="What to do with this session" deeds={() => deedsHere(row)} />
        <Button
          icon="panel"
          look="quiet"
          label={isPanelOpen.value ? "Hide the panel (p)" : "Show the panel (p)"}
          isOn={isPanelOpen.value}
          onClick={() => setPanel(!isPanelOpen.value)}
        />
      </div>
      <Progress beside={sessionKey} />
    </header>
  );
}

/** The keys of the view that do the same. */
const KEYS: Readonly<Partial<Record<Act, string>>> = { pause: ".", fork: "f", export: "e" };

/** It is open already. */
function deedsHere(row: Row): readonly Deed[] {
  return deedsOf(row, KEYS).filter(({ act }) => act !== "open");
}
