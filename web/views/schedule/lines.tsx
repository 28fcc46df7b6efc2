// A job and a heartbeat, each in a line.

import { whole } from "../../../src/base/figures.ts";
import { oneLine } from "../../../src/base/harmless.ts";
import { Button } from "../../parts/button.tsx";
import { Menu } from "../../parts/menu.tsx";
import { Dot } from "../../parts/state.tsx";
import { Ago, shortKey, Title } from "../../parts/text.tsx";
import { nowMs } from "../../state/now.ts";
import { hrefOf } from "../../state/place.ts";
import type { Heartbeat, JobRow } from "../../wire/jobs.ts";
import { lacking } from "../../wire/scope.ts";
import { beatNow, deedsOf, nameOf } from "./deeds.tsx";
import { exactly } from "./exactly.ts";
import { beatWords, dotOf, inWords, minutesText, whenWords } from "./words.ts";

export function JobLine({ job, again }: { readonly job: JobRow; readonly again: () => void }) {
  const { id, name, message, when, next, last, target, failures } = job;
  return (
    <tr>
      <td class="name">
        <a href={hrefOf("schedule", id)}>{nameOf(job)}</a>
        {name !== "" && (
          <small class="about">
            <Title text={message} />
          </small>
        )}
      </td>
      <td title={when}>{whenWords(when)}</td>
      <td>
        <Next of={job} next={next} />
      </td>
      <td>
        <Last of={last && { outcome: last.outcome ?? "goes on", at: last.endedAt }} failures={failures} />
      </td>
      <td>
        <Where target={target} />
      </td>
      <td class="deeds">
        <Menu label={`What can be done to ${nameOf(job)}`} deeds={() => deedsOf(job, again)} />
      </td>
    </tr>
  );
}

interface Ended {
  readonly of: { readonly outcome: string; readonly at: string | null } | null; // null: none yet
  readonly failures: number; // in a row
}

function Last({ of, failures }: Ended) {
  if (of === null) return <span class="soft">no run yet</span>;
  return (
    <>
      <Dot is={dotOf(of.outcome)}>{beatWords(of.outcome)}</Dot>
      <small class="about">
        {of.at !== null && <Ago at={of.at} />}
        {failures > 1 && `, ${whole(failures)} in a row`}
      </small>
    </>
  );
}

/** When it is due; of what is not, why. */
function Next({ of, next }: { readonly of: Pick<JobRow, "state" | "why">; readonly next: string | null }) {
  if (of.state === "running") return <Dot is="running">runs now</Dot>;
  if (next === null)
    return (
      <>
        <Dot is={of.why === null ? "ended" : "bad"}>{of.state}</Dot>
        {of.why !== null && (
          <small class="about" title={oneLine(of.why)}>
            {oneLine(of.why)}
          </small>
        )}
      </>
    );
  return <At time={next} />;
}

function At({ time }: { readonly time: string }) {
  return (
    <>
      <time dateTime={time}>{inWords(time, nowMs.value)}</time>
      <small class="about">{exactly(time)}</small>
    </>
  );
}

export function Where({ target }: { readonly target: string }) {
  if (!target.startsWith("agent:")) return <>{PLACES[target] ?? target}</>;
  return (
    <a href={hrefOf("session", target)} title={target}>
      {shortKey(target)}
    </a>
  );
}

/** Places that are no session, as people say them. */
const PLACES: Readonly<Record<string, string>> = {
  fresh: "a new session",
  none: "nobody",
  route: "whoever wrote last",
};

export function HeartbeatLine({ beat, again }: { readonly beat: Heartbeat; readonly again: () => void }) {
  const { agent, everyMinutes, nextAt, last, failures, state, task, hours } = beat;
  return (
    <tr>
      <td class="name">
        <a href={hrefOf("schedule", `heartbeat:${agent}`)}>heartbeat of {agent}</a>
        <small class="about">{TASKS[task]}</small>
      </td>
      <td>
        {everyMinutes === 0 ? "never" : whenWords(`every ${minutesText(everyMinutes)}`)}
        {hours !== null && <small class="about">{`${hours.from}–${hours.to} ${hours.timezone}`}</small>}
      </td>
      <td>
        {state === "paused" && <Dot is="paused">paused</Dot>}
        {state === "running" && <Dot is="running">beats now</Dot>}
        {state === "idle" && (nextAt === null ? <Dot is="ended">never</Dot> : <At time={nextAt} />)}
      </td>
      <td>
        <Last of={last} failures={failures} />
      </td>
      <td>
        <Where target={`agent:${agent}:heartbeat`} />
      </td>
      <td class="deeds">
        {everyMinutes > 0 && (
          <Button
            icon="play"
            look="quiet"
            label={`Beat now: ${agent}`}
            unless={lacking("operate")}
            onClick={() => void beatNow(agent, again)}
          />
        )}
      </td>
    </tr>
  );
}

export const TASKS: Readonly<Record<Heartbeat["task"], string>> = {
  there: "looks after its HEARTBEAT.md",
  none: "HEARTBEAT.md asks for nothing, so nobody is asked",
  unreadable: "HEARTBEAT.md cannot be read",
};
