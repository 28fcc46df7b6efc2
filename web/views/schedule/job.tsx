// One job: what, when, for whom, and how it went.

import { useEffect, useState } from "preact/hooks";
import { counted, duration, many, money } from "../../../src/base/figures.ts";
import { countsText, noteText, outcomeText } from "../../../src/calls/cron-words.ts";
import type { Output } from "../../../src/calls/door.ts";
import { Button } from "../../parts/button.tsx";
import { Loading, Trouble } from "../../parts/empty.tsx";
import { Dot } from "../../parts/state.tsx";
import { Ago, Plain, shortKey } from "../../parts/text.tsx";
import { unless } from "../../parts/toast.tsx";
import { nowMs } from "../../state/now.ts";
import { hrefOf } from "../../state/place.ts";
import { usePolled } from "../../state/polled.ts";
import { useKeys } from "../../state/keys.ts";
import { call } from "../../wire/call.ts";
import { lacking } from "../../wire/scope.ts";
import { edit, nameOf, remove, runNow, setEnabled, whyOver } from "./deeds.tsx";
import type { Job } from "../../wire/jobs.ts";
import { exactly } from "./exactly.ts";
import { Where } from "./lines.tsx";
import { byYourClock, dotOf, inWords, whenWords } from "./words.ts";

type Run = Output<"jobRuns">["runs"][number];

/** While a run goes on somebody waits for its end. */
const EVERY_MS = { running: 1_000, waiting: 5_000 } as const;
const RUNS_SHOWN = 50;

export function JobPage({ id }: { readonly id: string }) {
  const [isRunning, setRunning] = useState(false);
  const look = async (signal: AbortSignal) => {
    const [job, { runs }] = await Promise.all([
      call("job", { job: id }, signal),
      call("jobRuns", { job: id, limit: RUNS_SHOWN }, signal),
    ]);
    return { job, runs };
  };
  const { value, fault, again } = usePolled(look, [id], isRunning ? EVERY_MS.running : EVERY_MS.waiting);
  const runs = value?.runs ?? [];
  useEffect(() => setRunning(runs[0]?.outcome === null), [value]);
  if (value === null || fault?.code === "not_found")
    return (
      <div class="view schedule-view">
        <header>
          <Crumb />
        </header>
        <div class="body">
          {fault === null ? <Loading what="the job" /> : <Trouble fault={fault} again={again} />}
        </div>
      </div>
    );
  return <Shown job={value.job} runs={runs} again={again} />;
}

export function Crumb() {
  return (
    <a class="crumb" href={hrefOf("schedule")}>
      Schedule
    </a>
  );
}

interface ShownParts {
  readonly job: Job;
  readonly runs: readonly Run[];
  readonly again: () => void;
}

function Shown({ job, runs, again }: ShownParts) {
  const { state, enabled } = job;
  const why = lacking("operate");
  useKeys("Job", [
    { key: "r", about: "run it now", run: () => unless(why, () => void runNow(job, again)) },
    { key: "e", about: "edit it", run: () => unless(why, () => void edit(job, again)) },
  ]);
  return (
    <div class="view schedule-view">
      <header>
        <Crumb />
        <h1>{nameOf(job)}</h1>
        <Dot is={DOTS[state]}>{state}</Dot>
        <div class="push deeds">
          <Button icon="play" look="main" unless={why} onClick={() => void runNow(job, again)}>
            Run now
          </Button>
          <Button unless={why ?? whyOver(job)} onClick={() => void setEnabled(job, again)}>
            {enabled ? "Disable" : "Enable"}
          </Button>
          <Button unless={why} onClick={() => void edit(job, again)}>
            Edit…
          </Button>
          <Button unless={why} onClick={() => void remove(job, again)}>
            Remove…
          </Button>
        </div>
      </header>
      <div class="body">
        <div class="inner schedule">
          {job.why !== null && (
            <p class="note" role="status">
              Disabled by sessiond: {job.why}. See its runs, mend it, then enable it.
            </p>
          )}
          <pre class="message">
            <Plain text={job.message} />
          </pre>
          <Settings job={job} />
          <Runs runs={runs} />
        </div>
      </div>
    </div>
  );
}

const DOTS: Readonly<Record<Job["state"], string>> = {
  waiting: "idle",
  running: "running",
  disabled: "paused",
  over: "ended",
};

function Settings({ job }: { readonly job: Job }) {
  const isFresh = job.target === "fresh";
  return (
    <dl class="facts">
      <Fact name="When">
        {whenWords(job.when)}
        {job.cron !== null && whenWords(job.when) !== job.when && <span class="soft"> · {job.cron}</span>}
      </Fact>
      <Fact name="Next">
        {job.next === null
          ? "never"
          : `${inWords(job.next, nowMs.value)} · ${job.times.map(exactly).join(" · ")}${byYourClock(job.timezone, job.times)}`}
      </Fact>
      <Fact name="Agent">{job.agent}</Fact>
      <Fact name="Runs in">
        {isFresh ? `a new session each time, kept for ${job.keep}` : <Where target={job.target} />}
      </Fact>
      <Fact name="Answer to">
        <Where target={job.delivery} />
      </Fact>
      {isFresh && (
        <Fact name="Model">
          {job.model ?? "the agent's own"}
          {job.thinking !== null && `, thinking ${job.thinking}`}
        </Fact>
      )}
      {isFresh && <Fact name="Limits">{limitsText(job.limits)}</Fact>}
      <Fact name="May take">{job.timeout}</Fact>
      <Fact name="Missed">
        {MISSED[job.missed]}
        {job.missed === "skip" && `; not missed up to ${job.grace} late`}
      </Fact>
      {job.stagger !== "0s" && <Fact name="Stagger">up to {job.stagger}</Fact>}
      <Fact name="Failures">
        {job.failures === 0 ? "none" : `${job.failures} in a row`};{" "}
        {job.failuresMax === 0 ? "never disabled for it" : `disabled after ${job.failuresMax} in a row`}
      </Fact>
      <Fact name="So far">{countsText(job.counts)}</Fact>
      <Fact name="Added">
        <Ago at={job.madeAt} /> by {job.madeBy === null ? "a person" : <Where target={job.madeBy} />}
      </Fact>
      <Fact name="Id">
        <code>{job.id}</code>
      </Fact>
    </dl>
  );
}

const MISSED: Readonly<Record<Job["missed"], string>> = {
  coalesce: "one run stands for all that were missed",
  run: "each is made up for",
  skip: "what was missed is skipped",
};

export function Fact({
  name,
  children,
}: {
  readonly name: string;
  readonly children: preact.ComponentChildren;
}) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

function limitsText(limits: Job["limits"]): string {
  const { stepsPerTurn = null, tokens = null, cost = null } = limits ?? {};
  const words = [
    ...(stepsPerTurn === null ? [] : [many(stepsPerTurn, "step")]),
    ...(tokens === null ? [] : [counted(tokens, "token")]),
    ...(cost === null ? [] : [money(cost)]),
  ];
  return words.length === 0 ? "the agent's own" : words.join(" · ");
}

function Runs({ runs }: { readonly runs: readonly Run[] }) {
  return (
    <section aria-labelledby="runs">
      <h2 id="runs">Runs</h2>
      {runs.length === 0 ? (
        <p class="soft">None yet.</p>
      ) : (
        <table class="table runs">
          <thead>
            <tr>
              <th scope="col">When</th>
              <th scope="col">Outcome</th>
              <th scope="col" class="figure">
                Took
              </th>
              <th scope="col">What came of it</th>
              <th scope="col">Session</th>
            </tr>
          </thead>
          <tbody>
            {runs.map((run) => (
              <RunLine key={run.id} run={run} />
            ))}
          </tbody>
        </table>
      )}
    </section>
  );
}

function RunLine({ run }: { readonly run: Run }) {
  const { startedAt, asked, durationMs, outcome, sessionKey } = run;
  return (
    <tr>
      <td>
        <Ago at={startedAt} />
        {asked && <small class="about">asked for</small>}
      </td>
      <td>
        <Dot is={dotOf(outcome)}>{outcomeText(run)}</Dot>
      </td>
      <td class="figure">
        {durationMs === null ? <span class="soft">{outcome === null ? "" : "–"}</span> : duration(durationMs)}
      </td>
      <td class="came">
        <Plain text={noteText(run)} />
      </td>
      <td>
        {sessionKey !== null && (
          <a href={hrefOf("session", sessionKey)} title={sessionKey}>
            {shortKey(sessionKey)}
          </a>
        )}
      </td>
    </tr>
  );
}
