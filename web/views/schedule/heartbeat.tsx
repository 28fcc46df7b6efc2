// One heartbeat: what an agent looks after by itself.

import { many } from "../../../src/base/figures.ts";
import { Button } from "../../parts/button.tsx";
import { Loading, Trouble } from "../../parts/empty.tsx";
import { Dot } from "../../parts/state.tsx";
import { Ago, Plain } from "../../parts/text.tsx";
import { nowMs } from "../../state/now.ts";
import { usePolled } from "../../state/polled.ts";
import { call } from "../../wire/call.ts";
import { lacking } from "../../wire/scope.ts";
import { beatNow } from "./deeds.tsx";
import { Crumb, Fact } from "./job.tsx";
import type { Heartbeat } from "../../wire/jobs.ts";
import { exactly } from "./exactly.ts";
import { TASKS, Where } from "./lines.tsx";
import { beatWords, dotOf, inWords, minutesText, whenWords } from "./words.ts";

const EVERY_MS = 3_000;

export function HeartbeatPage({ agent }: { readonly agent: string }) {
  const { value, fault, again } = usePolled(
    async (signal) => (await call("heartbeats", { agent }, signal)).heartbeats[0] ?? null,
    [agent],
    EVERY_MS,
  );
  return (
    <div class="view schedule-view">
      <header>
        <Crumb />
        <h1>heartbeat of {agent}</h1>
        {value !== null && <Dot is={value.state}>{value.state}</Dot>}
        <div class="push deeds">
          {value !== null && value.everyMinutes > 0 && (
            <Button
              icon="play"
              look="main"
              unless={lacking("operate")}
              onClick={() => void beatNow(agent, again)}
            >
              Beat now
            </Button>
          )}
        </div>
      </header>
      <div class="body">
        {value === null && fault === null && <Loading what="the heartbeat" />}
        {value === null && fault !== null && <Trouble fault={fault} again={again} />}
        {value !== null && (
          <div class="inner schedule">
            <Facts beat={value} />
          </div>
        )}
      </div>
    </div>
  );
}

function Facts({ beat }: { readonly beat: Heartbeat }) {
  const { agent, everyMinutes, hours, model, to, task, nextAt, last, failures, trouble, alert } = beat;
  return (
    <dl class="facts">
      <Fact name="Task">{TASKS[task]}</Fact>
      <Fact name="Every">
        {everyMinutes === 0
          ? `never: set agents.${agent}.heartbeat.everyMinutes in the configuration`
          : whenWords(`every ${minutesText(everyMinutes)}`).replace("every ", "")}
      </Fact>
      <Fact name="Hours">{hours === null ? "all day" : `${hours.from}–${hours.to} (${hours.timezone})`}</Fact>
      <Fact name="Next">
        {nextAt === null ? "never" : `${inWords(nextAt, nowMs.value)} · ${exactly(nextAt)}`}
      </Fact>
      <Fact name="Last">
        {last === null ? (
          "none yet"
        ) : (
          <Dot is={dotOf(last.outcome)}>
            {beatWords(last.outcome)}
            <Ago at={last.at} />
          </Dot>
        )}
      </Fact>
      <Fact name="Failures">
        {failures === 0 ? "none" : `${many(failures, "time")} in a row`}
        {trouble !== null && (
          <>
            : <Plain text={trouble} />
          </>
        )}
      </Fact>
      <Fact name="Alert">
        {alert === null ? (
          "none"
        ) : (
          <>
            <Plain text={alert.text} />{" "}
            <span class="soft">
              (<Ago at={alert.at} />
              {alert.isOver && ", over"})
            </span>
          </>
        )}
      </Fact>
      <Fact name="Alerts go to">{to}</Fact>
      <Fact name="Model">{model ?? "the agent's own"}</Fact>
      <Fact name="Runs in">
        <Where target={`agent:${agent}:heartbeat`} />
      </Fact>
    </dl>
  );
}
