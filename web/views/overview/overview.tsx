// How the daemon is: what needs somebody, how much it does, what went wrong lately.

import { useEffect, useState } from "preact/hooks";
import { Loading, Trouble } from "../../parts/empty.tsx";
import { Dot } from "../../parts/state.tsx";
import { Ago } from "../../parts/text.tsx";
import { nowMs } from "../../state/now.ts";
import { hrefOf } from "../../state/place.ts";
import { usePolled } from "../../state/polled.ts";
import type { Overview as Seen } from "../../wire/events.ts";
import { timedOnes } from "../../wire/jobs.ts";
import { Failures, Load, Programs } from "./details.tsx";
import { ask, useFeed } from "./feed.ts";
import { illsIn } from "./health.ts";
import { lateness, type Point } from "./ring.ts";
import { Tiles } from "./tiles.tsx";
import "./overview.css";

/** Jobs and heartbeats change seldom. */
const SELDOM_MS = 15_000;

export function Overview() {
  const { now, fault, ring } = useFeed();
  return (
    <div class="view">
      <header>
        <h1>Overview</h1>
      </header>
      <div class="body">
        {now === null && fault === null && <Loading what="the overview" />}
        {now === null && fault !== null && <Trouble fault={fault} again={() => void ask()} />}
        {now !== null && (
          <div class="inner overview">
            <Health now={now} ring={ring} />
            <Tiles now={now} ring={ring} />
            <div class="pair">
              <Load now={now} />
              <Programs now={now} />
            </div>
            <Failures now={now} />
          </div>
        )}
      </div>
    </div>
  );
}

function Health({ now, ring }: { readonly now: Seen; readonly ring: readonly Point[] }) {
  const timed = usePolled(timedOnes, [], SELDOM_MS).value ?? { jobs: [], heartbeats: [] };
  const ills = illsIn({ now, lateMs: lateness(ring), ...timed, nowMs: nowMs.value });
  return (
    <section class="card health" aria-labelledby="health">
      <h2 id="health" class="hidden">
        Health
      </h2>
      <ul>
        {ills.map(({ is, what, words, todo, to }) => (
          <li key={`${what} ${words}`}>
            <Dot is={is}>
              <strong>{to === null ? what : <a href={hrefOf(...to)}>{what}</a>}</strong>
            </Dot>
            <span>
              {words}. <span class="soft">{todo}</span>
            </span>
          </li>
        ))}
        <li>
          <Dot is={ills.length === 0 ? "good" : "idle"}>
            <strong>{ills.length === 0 ? "All is well" : "Daemon"}</strong>
          </Dot>
          <Daemon since={now.totals.since} />
        </li>
      </ul>
    </section>
  );
}

/** Its version is told to anybody who asks whether it is there. */
function Daemon({ since: startedAt }: { readonly since: string }) {
  const [version, setVersion] = useState<string | null>(null);
  useEffect(() => {
    const over = new AbortController();
    fetch("/healthz", { signal: over.signal })
      .then(async (answer) => setVersion(((await answer.json()) as { readonly version: string }).version))
      .catch(() => {}); // It is away: then the page says so, and this is asked for again with the next start.
    return () => over.abort();
  }, [startedAt]);
  return (
    <span>
      sessiond {version ?? ""}, started <Ago at={startedAt} />
    </span>
  );
}
