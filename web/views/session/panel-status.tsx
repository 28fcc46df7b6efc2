// What `sessiond status` says of a session, and its limits as bars.

import type { ComponentChildren } from "preact";
import { count, duration, many, money, percent } from "../../../src/base/figures.ts";
import { oneLine } from "../../../src/base/harmless.ts";
import { Loading } from "../../parts/empty.tsx";
import { Gauge } from "../../parts/state.tsx";
import { Ago } from "../../parts/text.tsx";
import type { Status } from "../../wire/events.ts";
import { Who, whoIs } from "../who.tsx";
import { whyParts } from "./worded.ts";

export function StatusPanel({ status }: { readonly status: Status | null }) {
  if (status === null) return <Loading what="the status" />;
  return (
    <dl class="about-session">
      {factsOf(status)
        .filter(([, value]) => value !== null && value !== "")
        .map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
    </dl>
  );
}

type Fact = readonly [name: string, value: ComponentChildren];

function factsOf(status: Status): readonly Fact[] {
  const { usage, tree, context, settings } = status;
  return [
    ["Now", <Why key="why" why={status.why} />],
    ["Mail", status.waitingLetters === 0 ? null : `${many(status.waitingLetters, "letter")} waiting`],
    ["Parent", status.parent === null ? null : <Who sessionKey={status.parent} />],
    ["Class", status.class],
    ["Model", <ModelWords key="model" status={status} />],
    [
      "Context",
      <Share key="context" label="Context" part={context.tokens || null} of={context.window} words={count} />,
    ],
    ["Usage", <UsageWords key="usage" usage={usage} />],
    ["With children", isSame(usage, tree) ? null : <UsageWords key="tree" usage={tree} />],
    ["Limits", <Limits key="limits" status={status} />],
    ["Settings", settingWords(settings)],
    ["Programs", status.exec === "off" ? "off" : "run, not sandboxed"],
    ["Route", status.route === null ? null : `${status.route.channel} → ${status.route.to}`],
    ["Origin", originWords(status.origin)],
    ["Last turn", lastTurnWords(status.lastTurn)],
    ["Born", <Ago key="born" at={status.bornAt} />],
    ["History", <History key="history" status={status} />],
  ];
}

/** As the transcript's last line has it; who is named can be gone to. */
function Why({ why }: { readonly why: string }) {
  return (
    <>
      {whyParts(why).map(({ words, sessionKey }, at) =>
        sessionKey === null ? words : <Who key={at} sessionKey={sessionKey} />,
      )}
    </>
  );
}

function ModelWords({ status }: { readonly status: Status }) {
  const { model, modelFrom, thinking, fallback } = status;
  return (
    <>
      {model}
      <br />
      <span class="soft">
        {modelFrom === "session" ? "set for this session" : "as its agent is configured"}
        {thinking !== "off" && `, thinking ${thinking}`}
        {fallback !== null && `; the last answer is by ${fallback.spoke}`}
      </span>
    </>
  );
}

type Usage = Status["usage"];

function readOf({ input, cacheRead, cacheWrite }: Usage): number {
  return input + cacheRead + cacheWrite;
}

function isSame(own: Usage, tree: Usage): boolean {
  return own.steps === tree.steps && own.cost === tree.cost;
}

function UsageWords({ usage }: { readonly usage: Usage }) {
  const read = readOf(usage);
  return (
    <>
      {count(read + usage.output)} tokens · {money(usage.cost)}
      <br />
      <span class="soft">
        {count(read)} in, {percent(usage.cacheRead, read)} cached, {count(usage.output)} out
        <br />
        {many(usage.steps, "step")} · {many(usage.toolCalls, "tool call")}
        {usage.toolCpuMs > 0 && ` · ${duration(usage.toolCpuMs)} cpu`}
      </span>
    </>
  );
}

interface ShareParts {
  readonly label: string;
  readonly part: number | null; // null: nobody has counted, or not since it went back
  readonly of: number;
  readonly words: (n: number) => string;
}

function Share({ label, part, of, words }: ShareParts) {
  return (
    <span class="share">
      <Gauge part={part} of={of} label={label} />
      <span class="soft">
        {part === null ? `of ${words(of)}, known with the next answer` : `${words(part)} of ${words(of)}`}
      </span>
    </span>
  );
}

type Limits = Status["limits"];

/** Those in force, whoever set them: what they are of is seen at once. */
function Limits({ status: { limits, tree } }: { readonly status: Status }) {
  const { stepsPerTurn, turnSeconds, ofSession, above } = limits;
  const used = { tokens: readOf(tree) + tree.output, cost: tree.cost };
  return (
    <ul class="limits">
      <Budget most={limits} used={used} />
      {stepsPerTurn !== null && <li>{many(stepsPerTurn, "step")} a turn</li>}
      {turnSeconds !== null && <li>{duration(turnSeconds * 1_000)} a turn</li>}
      <li class="soft">{fromWords(ofSession)}</li>
      {above.map(({ sessionKey, used: theirs, ...most }) => (
        <li key={sessionKey} class="above">
          <span class="soft">All together with </span>
          <Who sessionKey={sessionKey} />
          <ul>
            <Budget most={most} used={theirs} of={whoIs(sessionKey)} />
          </ul>
        </li>
      ))}
    </ul>
  );
}

interface BudgetParts {
  readonly most: Pick<Limits, "tokens" | "cost">;
  readonly used: Limits["above"][number]["used"];
  readonly of?: string; // whose; without it, its own
}

function Budget({ most, used, of }: BudgetParts) {
  const label = (what: string): string => (of === undefined ? what : `${what} of ${of}`);
  return (
    <>
      {most.tokens !== null && (
        <li>
          <Share label={label("Tokens")} part={used.tokens} of={most.tokens} words={count} />
        </li>
      )}
      {most.cost !== null && (
        <li>
          <Share label={label("Cost")} part={used.cost} of={most.cost} words={money} />
        </li>
      )}
    </>
  );
}

const LIMIT_NAMES: Readonly<Record<Limits["ofSession"][number], string>> = {
  stepsPerTurn: "steps",
  turnSeconds: "time",
  tokens: "tokens",
  cost: "cost",
};

function fromWords(ofSession: Limits["ofSession"]): string {
  const own = ofSession.map((name) => LIMIT_NAMES[name]).join(", ");
  if (own === "") return "as its agent is configured";
  return ofSession.length === 4 ? "set for this session" : `${own} set for this session`;
}

function settingWords({ nice, pinned, pins, queueMode, sendPolicy, verbose }: Status["settings"]): string {
  return [
    ...(nice === 0 ? [] : [`nice ${nice}`]),
    ...(pinned ? ["pinned"] : []),
    ...(pins.length === 0 ? [] : [`${many(pins.length, "entry", "entries")} pinned`]),
    ...(queueMode === null ? [] : [`queue ${queueMode}`]),
    ...(sendPolicy === null ? [] : [`send policy ${sendPolicy}`]),
    ...(verbose === null ? [] : [`verbose ${verbose}`]),
  ].join(" · ");
}

function originWords(origin: Status["origin"]): string | null {
  if (origin === null) return null;
  return [origin.channel, origin.account, origin.peer, origin.thread, origin.subject]
    .filter((part): part is string => typeof part === "string" && part !== "")
    .map(oneLine)
    .join(" · ");
}

function lastTurnWords(last: Status["lastTurn"]): ComponentChildren {
  if (last === null) return null;
  return (
    <>
      {last.outcome}
      {last.reason !== null && ` (${oneLine(last.reason)})`}, <Ago at={last.endedAt} />
    </>
  );
}

function History({ status }: { readonly status: Status }) {
  return (
    <>
      {many(status.entries, "entry", "entries")}
      <br />
      <span class="soft mono">{status.transcript}</span>
    </>
  );
}
