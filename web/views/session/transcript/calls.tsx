// Calls of tools: one line each, until somebody opens it. A child that was given a task is a card.

import { duration } from "../../../../src/base/figures.ts";
import { cut, oneLine } from "../../../../src/base/harmless.ts";
import { isBlobName, type Entry } from "../../../../src/transcript/entry.ts";
import { Icon } from "../../../parts/icons.tsx";
import { Dot } from "../../../parts/state.tsx";
import { Child } from "./child.tsx";
import { Blocks, blocksIn, Fold, Kept, Lines, textIn } from "./content.tsx";
import { Given } from "./given.tsx";
import type { Called, Result } from "./rows.ts";

/** Characters of a line: the style cuts it where its room ends. */
const LINE_CHARS_MAX = 240;
/** Of what went wrong: a sentence. */
const ERROR_CHARS_MAX = 300;

interface CallParts {
  readonly called: Called;
  readonly entry: Entry;
  readonly sessionKey: string;
}

export function Call({ called, entry, sessionKey }: CallParts) {
  const { call, result, state } = called;
  if (result !== null && result.item.spawned !== null)
    return <Child called={called} spawned={result.item.spawned} entry={entry} sessionKey={sessionKey} />;
  const label = (
    <>
      <Mark state={state} />
      <b>{oneLine(call.name).slice(0, 60)}</b>
      <span class="about">{oneLine(call.about.slice(0, LINE_CHARS_MAX))}</span>
      <span class="how">{howOf(called)}</span>
    </>
  );
  return (
    <>
      <Fold look={`call ${state}`} label={label} {...(result === null ? {} : { seq: result.entry.seq })}>
        {() => (
          <>
            <Given entry={entry} id={call.id} given={call.given} sessionKey={sessionKey} />
            {result !== null && <Outcome result={result} sessionKey={sessionKey} />}
          </>
        )}
      </Fold>
      {state === "failed" && (
        <p class="failure">{cut(oneLine((result?.item.text ?? "").slice(0, 2_000)), ERROR_CHARS_MAX)}</p>
      )}
    </>
  );
}

function Mark({ state }: { readonly state: Called["state"] }) {
  if (state === "running") return <Dot is="running">{""}</Dot>;
  if (state === "done") return <Icon name="check" />;
  return state === "failed" ? <Icon name="close" /> : <Icon name="right" />;
}

function howOf({ state, tookMs }: Called): string {
  if (tookMs !== null) return state === "failed" ? `failed · ${duration(tookMs)}` : duration(tookMs);
  return { running: "running", unanswered: "no result", below: "", done: "", failed: "" }[state];
}

/** What it gave back. */
function Outcome({ result, sessionKey }: { readonly result: Result; readonly sessionKey: string }) {
  const { entry, item } = result;
  const content = entry.type === "message" ? blocksIn(entry.message.content) : [];
  if (content.length === 0) return <p class="soft">It gave nothing back.</p>;
  return (
    <div class={item.isError ? "outcome bad" : "outcome"}>
      {content.map((block, at) => {
        if (block.type !== "text") return <Blocks key={at} blocks={[block]} sessionKey={sessionKey} />;
        const isPicture = textIn((block as { readonly mimeType?: unknown }).mimeType) !== "";
        if (isPicture) return <Blocks key={at} blocks={[block]} sessionKey={sessionKey} />;
        const lines = <Lines text={textIn(block.text)} />;
        if (!isBlobName(block.blob)) return <div key={at}>{lines}</div>;
        return <Kept key={at} blob={block.blob} sessionKey={sessionKey} head={lines} />;
      })}
    </div>
  );
}

/** A result whose call is not there: it was made further up. */
export function Alone({ result, sessionKey }: { readonly result: Result; readonly sessionKey: string }) {
  const { item } = result;
  const label = (
    <>
      <Icon name={item.isError ? "close" : "check"} />
      <b>{oneLine(item.name).slice(0, 60)}</b>
      <span class="about">{oneLine(item.text.slice(0, LINE_CHARS_MAX))}</span>
      <span class="how">{item.isError ? "failed" : "result"}</span>
    </>
  );
  return (
    <Fold look={`call ${item.isError ? "failed" : "done"}`} label={label} seq={item.seq}>
      {() => <Outcome result={result} sessionKey={sessionKey} />}
    </Fold>
  );
}
