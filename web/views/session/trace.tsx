// Where the time and the tokens of a turn went. It is a table: bars show at a glance what its figures say.

import { useEffect } from "preact/hooks";
import { count, duration, many, money } from "../../../src/base/figures.ts";
import { oneLine } from "../../../src/base/harmless.ts";
import { clock } from "../../parts/clock.ts";
import { Empty, Loading, Trouble } from "../../parts/empty.tsx";
import { Dot } from "../../parts/state.tsx";
import { shortKey } from "../../parts/text.tsx";
import { useAsked } from "../../state/asking.ts";
import { nowMs } from "../../state/now.ts";
import { hrefOf, place, replace } from "../../state/place.ts";
import { call } from "../../wire/call.ts";
import { hrefBeside } from "./panel-state.ts";
import { useRefreshed } from "./refreshed.ts";
import { ticksOf, waterfallOf, type Trace, type TraceLine } from "./trace-lines.ts";
import { turnsIn, type Turn } from "./turns.ts";
import { worded } from "./worded.ts";
import "./trace.css";

/** Who looks at a turn that runs sees it grow. */
const POLL_MS = 1_000;

export function TracePanel({ sessionKey }: { readonly sessionKey: string }) {
  const { turn: asked = "" } = place.value.query;
  const turn = asked === "" ? null : asked;
  const { value, fault, again } = useAsked(
    (signal) => call("trace", { sessionKey, ...(turn === null ? {} : { turn }) }, signal),
    [sessionKey, turn],
  );
  const isRunning = value !== null && value.outcome === null;
  useRefreshed(sessionKey, again);
  useEffect(() => {
    if (!isRunning) return;
    const timer = setInterval(again, POLL_MS);
    return () => clearInterval(timer);
  }, [isRunning]);
  const { value: turns, again: listAgain } = useAsked((signal) => turnsIn(sessionKey, signal), [sessionKey]);
  useEffect(() => {
    if (turn === null && value !== null) listAgain(); // A new one has begun, or this is the first.
  }, [turn === null ? value?.turn : null]);
  if (value === null && fault?.code === "not_found" && turn === null)
    return (
      <Empty title="No turn yet">A message to this session begins one; here is how it went, then.</Empty>
    );
  return (
    <div class="trace">
      <TurnPicker turns={turns ?? []} shown={value?.turn ?? turn} isLast={turn === null} />
      {fault !== null && <Trouble fault={fault} again={again} />}
      {value === null && fault === null && <Loading what="the trace" />}
      {value !== null && <Traced trace={value} />}
    </div>
  );
}

interface TurnPickerParts {
  readonly turns: readonly Turn[];
  readonly shown: string | null;
  readonly isLast: boolean;
}

function TurnPicker({ turns, shown, isLast }: TurnPickerParts) {
  const choose = (event: Event): void => {
    const { turn: _before, ...query } = place.value.query;
    const { value } = event.currentTarget as HTMLSelectElement;
    replace(value === "" ? query : { ...query, turn: value });
  };
  const isListed = isLast || turns.some(({ turn }) => turn === shown);
  return (
    <label class="turn">
      <span aria-hidden="true">Turn</span>
      <select aria-label="Turn" value={isLast ? "" : (shown ?? "")} onChange={choose}>
        <option value="">The last</option>
        {!isListed && shown !== null && <option value={shown}>{shown.slice(-12)}</option>}
        {turns.map(({ turn, at, text }) => (
          <option key={turn} value={turn}>
            {clock(at, "seconds")} {text}
          </option>
        ))}
      </select>
    </label>
  );
}

function Traced({ trace }: { readonly trace: Trace }) {
  const isRunning = trace.outcome === null;
  const { lines, spanMs } = waterfallOf(trace, isRunning ? nowMs.value : 0);
  return (
    <>
      <p class="outcome">
        <Dot is={lookOf(trace.outcome)}>
          {isRunning ? worded(trace.now ?? "goes on") : trace.outcome}
          {trace.reason !== null && `: ${oneLine(trace.reason)}`}
        </Dot>
        <span class="soft">{aboutTurn(trace)}</span>
      </p>
      {trace.isCut && <p class="hint">Its beginning was left out: it is very long.</p>}
      <table class="waterfall" aria-label="Steps and tool calls of the turn">
        <thead>
          <tr>
            <th scope="col">What</th>
            <th scope="col" class="when">
              <span class="hidden">When</span>
              <Axis spanMs={spanMs} />
            </th>
            <th scope="col" class="figure">
              Took
            </th>
            <th scope="col" class="figure">
              Tokens
            </th>
            <th scope="col" class="figure cost">
              Cost
            </th>
          </tr>
        </thead>
        <tbody>
          {lines.map((line) => (
            <LineRow key={line.key} line={line} spanMs={spanMs} sessionKey={trace.sessionKey} />
          ))}
        </tbody>
        <tfoot>
          <Totals trace={trace} />
        </tfoot>
      </table>
      <p class="hint">
        A step is all the time from what the model was shown to its whole answer: also the wait for a slot,
        and for its first word.
      </p>
    </>
  );
}

/** Whoever went back wanted that: nothing is wrong with it. */
function lookOf(outcome: string | null): string {
  if (outcome === null) return "running";
  return outcome === "done" ? "good" : outcome === "rewound" ? "idle" : "bad";
}

function aboutTurn({ totals, class: urgency, resumes }: Trace): string {
  return [
    ...(totals.ms === null ? [] : [duration(totals.ms)]),
    ...(urgency === null ? [] : [urgency]),
    ...(resumes === 0 ? [] : [`gone on with ${many(resumes, "time")}`]),
  ].join(" · ");
}

function Axis({ spanMs }: { readonly spanMs: number }) {
  return (
    <span class="axis" aria-hidden="true">
      {ticksOf(spanMs).map((ms) => (
        <span key={ms} class={ms / spanMs > 0.6 ? "late" : ""} style={{ left: `${(ms / spanMs) * 100}%` }}>
          {ms === 0 ? "0" : duration(ms)}
        </span>
      ))}
    </span>
  );
}

interface LineParts {
  readonly line: TraceLine;
  readonly spanMs: number;
  readonly sessionKey: string;
}

function LineRow({ line, spanMs, sessionKey }: LineParts) {
  const { fromMs, toMs, is, isOpen, isBad, tokens, cost, about } = line;
  const tookMs = toMs - fromMs;
  return (
    <tr
      class={`of-${is}${isBad ? " is-bad" : ""}${isOpen ? " is-open" : ""}${line.child === null ? "" : " is-long"}`}
    >
      <th scope="row" title={oneLine(about)}>
        <Name line={line} sessionKey={sessionKey} />
      </th>
      <td class="when">
        <span class="hidden">from {duration(fromMs)}</span>
        <span class="track" aria-hidden="true">
          <span
            class="bar"
            style={{ left: `${(fromMs / spanMs) * 100}%`, width: `${(tookMs / spanMs) * 100}%` }}
          />
        </span>
      </td>
      <td class="figure">
        {duration(tookMs)}
        {isOpen && " …"}
      </td>
      <td class="figure">{tokens === null ? "" : count(tokens)}</td>
      <td class="figure cost">{cost === null ? "" : money(cost)}</td>
    </tr>
  );
}

function Name({ line: { name, seq, child, isBad }, sessionKey }: Pick<LineParts, "line" | "sessionKey">) {
  const words = worded(name);
  return (
    <>
      {seq === null ? words : <a href={hrefBeside(sessionKey, seq)}>{words}</a>}
      {isBad && <span class="failed"> failed</span>}
      {child !== null && (
        <>
          {" "}
          <a href={hrefOf("session", child)}>{shortKey(child)}</a>
        </>
      )}
    </>
  );
}

function Totals({ trace: { totals } }: { readonly trace: Trace }) {
  const { usage } = totals;
  const failed = totals.failedTools === 0 ? "" : ` (${totals.failedTools} failed)`;
  return (
    <tr>
      <th scope="row">
        {many(totals.steps, "step")}, {many(totals.tools, "tool call")}
        {failed}
      </th>
      <td class="when soft">{duration(totals.modelMs)} in steps</td>
      <td class="figure">{totals.ms === null ? "" : duration(totals.ms)}</td>
      <td class="figure">{count(usage.input + usage.output + usage.cacheRead + usage.cacheWrite)}</td>
      <td class="figure cost">{money(totals.cost)}</td>
    </tr>
  );
}
