// What `sessiond status` says of a session, and its limits as bars.

import type { ComponentChildren } from "preact";
import { count, duration, many, money, percent, whole } from "../../../src/base/figures.ts";
import { oneLine } from "../../../src/base/harmless.ts";
import { Loading } from "../../parts/empty.tsx";
import { Gauge } from "../../parts/state.tsx";
import { Ago } from "../../parts/text.tsx";
import { hrefOf } from "../../state/place.ts";
import type { Status } from "../../wire/events.ts";
import { worded } from "./worded.ts";

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
    ["Why", worded(status.why)],
    ["Mail", status.waitingLetters === 0 ? null : `${many(status.waitingLetters, "letter")} waiting`],
    ["Parent", status.parent === null ? null : <KeyLink sessionKey={status.parent} />],
    ["Class", status.class],
    ["Model", <ModelWords key="model" status={status} />],
    [
      "Context",
      <Share key="context" label="Context" part={context.tokens} of={context.window} words={count} />,
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

function KeyLink({ sessionKey }: { readonly sessionKey: string }) {
  return (
    <a class="mono" href={hrefOf("session", sessionKey)}>
      {sessionKey}
    </a>
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
  readonly part: number;
  readonly of: number;
  readonly words: (n: number) => string;
}

function Share({ label, part, of, words }: ShareParts) {
  return (
    <span class="share">
      <Gauge part={part} of={of} label={label} />
      <span class="soft">
        {words(part)} of {words(of)}
      </span>
    </span>
  );
}

function Limits({ status: { settings, tree } }: { readonly status: Status }) {
  const { limits } = settings;
  if (limits === null) return <span class="soft">as its agent is configured</span>;
  return (
    <ul class="limits">
      {limits.tokens !== null && (
        <li>
          Tokens <Share label="Tokens" part={readOf(tree) + tree.output} of={limits.tokens} words={count} />
        </li>
      )}
      {limits.cost !== null && (
        <li>
          Cost <Share label="Cost" part={tree.cost} of={limits.cost} words={money} />
        </li>
      )}
      {limits.stepsPerTurn !== null && <li>{whole(limits.stepsPerTurn)} steps a turn</li>}
      {limits.turnSeconds !== null && <li>{duration(limits.turnSeconds * 1_000)} a turn</li>}
    </ul>
  );
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
