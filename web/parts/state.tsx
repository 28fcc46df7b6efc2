// A state is a small dot with a word; a share is a small bar with a figure. Colour is never the only carrier.

import { age, percent } from "../../src/base/figures.ts";
import { BAD_ENDS } from "../../src/calls/words.ts";
import { since } from "../state/now.ts";
import type { Row } from "../wire/events.ts";

type Shown = Pick<Row, "state" | "step" | "since" | "outcome" | "pausing">;

const ENDED: Readonly<Record<NonNullable<Row["outcome"]>, string>> = {
  done: "ended",
  failed: "failed",
  killed: "killed",
  timeout: "timed out",
  limit: "at its limit",
  interrupted: "interrupted",
};

/** What it does, or how it ended, in a word or three. */
function stateWords({ state, step, since: from, outcome, pausing }: Shown): string {
  if (pausing) return step === null ? "pausing" : `pausing, step ${step}`;
  if (state === "running") return step === null ? "running" : `running step ${step}`;
  if (state === "ended" && outcome !== null) return ENDED[outcome];
  const isTimed = (state === "queued" || state === "waiting" || state === "paused") && from !== null;
  return isTimed ? `${state} ${age(since(from))}` : state;
}

export function State({ row }: { readonly row: Shown }) {
  return (
    <span class={`state ${BAD_ENDS.has(row.outcome) ? "bad" : row.state}`}>
      <span class="dot" aria-hidden="true" />
      {stateWords(row)}
    </span>
  );
}

/** A dot and words of one's own. */
export function Dot({ is, children }: { readonly is: string; readonly children: preact.ComponentChildren }) {
  return (
    <span class={`state ${is}`}>
      <span class="dot" aria-hidden="true" />
      {children}
    </span>
  );
}

/** How much of a whole is used; nothing, where the whole is not known. */
export function Gauge({
  part,
  of,
  label,
  what,
}: {
  readonly part: number | null;
  readonly of: number;
  readonly label: string;
  readonly what?: string; // the whole, in words
}) {
  if (part === null || of <= 0)
    return (
      <span class="gauge none" role="img" aria-label={`${label}: not known`}>
        –
      </span>
    );
  const share = Math.min(1, part / of);
  const words = `${percent(part, of)}${what === undefined ? "" : ` of ${what}`}`;
  return (
    <span
      class={`gauge${share > 0.85 ? " high" : ""}`}
      role="img"
      aria-label={`${label}: ${words}`}
      title={words}
    >
      <span class="bar" aria-hidden="true">
        <span class="fill" style={{ width: `${share * 100}%` }} />
      </span>
      <span aria-hidden="true">{percent(part, of)}</span>
    </span>
  );
}
