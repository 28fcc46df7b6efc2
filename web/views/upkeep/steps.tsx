// The steps of a plan, as many as there are: more of them are asked for when the end comes near.

import { useRef, useState } from "preact/hooks";
import type { Fault } from "../../../src/base/fault.ts";
import { bytes, many, whole } from "../../../src/base/figures.ts";
import { oneLine } from "../../../src/base/harmless.ts";
import { Trouble } from "../../parts/empty.tsx";
import { shortKey } from "../../parts/text.tsx";
import { Virtual } from "../../parts/virtual.tsx";
import { hrefOf } from "../../state/place.ts";
import { call, faultOf } from "../../wire/call.ts";
import { VERBS, whyWords, type Plan, type Step } from "./words.ts";

const LINE = 52;
const LINES_SEEN = 8;
/** So many lines before the end. */
const AHEAD = 50;

export function Steps({ plan, again }: { readonly plan: Plan; readonly again: () => void }) {
  const [loaded, setLoaded] = useState({ steps: plan.steps, next: plan.next });
  const [fault, setFault] = useState<Fault | null>(null);
  const isAsking = useRef(false);
  const { steps, next } = loaded;
  const more = async (): Promise<void> => {
    if (next === null || isAsking.current || fault !== null) return;
    isAsking.current = true;
    try {
      const page = await call("upkeepPlan", { cursor: next });
      setLoaded({ steps: [...steps, ...page.steps], next: page.next });
    } catch (error) {
      setFault(faultOf(error)); // The plan was kept for a minute: then another is made, by who wants it.
    }
    isAsking.current = false;
  };
  const all = steps.length + (next === null ? 0 : plan.more - (steps.length - plan.steps.length));
  return (
    <>
      <h2>
        Steps <span class="soft">{whole(all)}</span>
      </h2>
      <div
        class="steps card"
        role="table"
        aria-label="Steps"
        aria-rowcount={all}
        style={{ height: `${Math.min(steps.length, LINES_SEEN) * LINE + 2}px` }}
      >
        <Virtual
          count={steps.length}
          height={LINE}
          role="rowgroup"
          label="Steps"
          keyOf={(at) => keyOf(steps[at])}
          line={(at) => <Line key={at} step={steps[at]} />}
          onSeen={(_first, last) => {
            if (last > steps.length - AHEAD) void more();
          }}
        />
      </div>
      {fault !== null && <Trouble fault={fault} again={again} />}
    </>
  );
}

function keyOf(step: Step | undefined): string {
  return step === undefined ? "" : `${step.do} ${step.sessionKey ?? ""} ${step.archive ?? ""}`;
}

function Line({ step }: { readonly step: Step | undefined }) {
  if (step === undefined) return null;
  const { do: what, sessionKey, blobs } = step;
  return (
    <div class="step" role="row" style={{ height: `${LINE}px` }}>
      <span role="cell" class={what === "purge" ? "verb bad" : "verb"}>
        {VERBS[what]}
      </span>
      <span role="cell" class="of">
        {sessionKey === null && many(blobs ?? 0, "blob")}
        {sessionKey !== null && <Of step={step} sessionKey={sessionKey} />}
        <small>{whyWords(step)}</small>
      </span>
      <span role="cell" class="size">
        {bytes(step.bytes)}
      </span>
    </div>
  );
}

/** An archive is no session that one could go to. */
function Of({ step, sessionKey }: { readonly step: Step; readonly sessionKey: string }) {
  const title = oneLine(step.title);
  const name = title === "" ? shortKey(sessionKey) : title;
  const key = title !== "" && <span class="mono soft">{shortKey(sessionKey)}</span>;
  if (step.archive !== null)
    return (
      <span class="key" title={`archive ${step.archive} of ${sessionKey}`}>
        archive of {name} {key}
      </span>
    );
  return (
    <span class="key">
      <a href={hrefOf("session", sessionKey)} title={sessionKey}>
        {name}
      </a>{" "}
      {key}
    </span>
  );
}
