// What is done at times, without anybody asking: jobs and heartbeats.

import { useRef } from "preact/hooks";
import { oneLine } from "../../../src/base/harmless.ts";
import { soonestFirst } from "../../../src/calls/cron-words.ts";
import { Button } from "../../parts/button.tsx";
import { Empty, Loading, Trouble } from "../../parts/empty.tsx";
import { SearchField } from "../../parts/search-field.tsx";
import { unless } from "../../parts/toast.tsx";
import { place, replace } from "../../state/place.ts";
import { usePolled } from "../../state/polled.ts";
import { useKeys } from "../../state/keys.ts";
import { timedOnes, type JobRow, type TimedOnes } from "../../wire/jobs.ts";
import { lacking } from "../../wire/scope.ts";
import { add } from "./deeds.tsx";
import { HeartbeatPage } from "./heartbeat.tsx";
import { JobPage } from "./job.tsx";
import { HeartbeatLine, JobLine } from "./lines.tsx";
import { Timeline } from "./timeline.tsx";
import { chosenFor, givenBy } from "./when.ts";
import "./schedule.css";

const EVERY_MS = 5_000;
/** More lines than that are for a filter. */
const LINES_MAX = 200;
const HEARTBEAT = "heartbeat:";

export function Schedule() {
  const { of } = place.value;
  if (of === null) return <All />;
  return of.startsWith(HEARTBEAT) ? (
    <HeartbeatPage key={of} agent={of.slice(HEARTBEAT.length)} />
  ) : (
    <JobPage key={of} id={of} />
  );
}

function All() {
  const asked = usePolled(timedOnes, [], EVERY_MS);
  const { value, fault, again } = asked;
  useKeys("Schedule", [
    { key: "n", about: "a new job", run: () => unless(lacking("operate"), () => void add(again)) },
  ]);
  const text = place.value.query["text"] ?? "";
  return (
    <div class="view schedule-view">
      <header>
        <h1>Schedule</h1>
        <SearchField
          class="push filter"
          label="Filter jobs"
          placeholder="Filter"
          value={text}
          onText={(typed) => replace({ ...place.value.query, text: typed })}
        />
        <Button icon="plus" look="main" unless={lacking("operate")} onClick={() => void add(again)}>
          New job…
        </Button>
      </header>
      <div class="body">
        {value === null && fault === null && <Loading what="jobs" />}
        {value === null && fault !== null && <Trouble fault={fault} again={again} />}
        {value !== null && (
          <div class="inner schedule">
            {value.jobs.length === 0 && <First again={again} />}
            <Lists {...value} text={text} again={again} />
          </div>
        )}
      </div>
    </div>
  );
}

const EXAMPLE = {
  ...givenBy(chosenFor("0 9 * * 1-5")),
  name: "morning",
  message: "What is in the calendar today?",
};

function First({ again }: { readonly again: () => void }) {
  return (
    <Empty title="No jobs yet">
      <p>
        A job is a message that an agent is given at times: a report every morning, a look at a queue every
        quarter of an hour, a reminder in twenty minutes.
      </p>
      <p>
        <Button unless={lacking("operate")} onClick={() => void add(again, EXAMPLE)}>
          Begin with an example…
        </Button>
      </p>
      <p>
        From a shell:
        <br />
        <code>sessiond cron add "0 9 * * 1-5" "what is in the calendar today?"</code>
      </p>
    </Empty>
  );
}

interface Found extends TimedOnes {
  readonly text: string;
  readonly again: () => void;
}

function Lists({ jobs, heartbeats, text, again }: Found) {
  const inOrder = useOrder(jobs);
  const sought = oneLine(text).toLowerCase();
  const has = (...words: readonly string[]): boolean => words.join("\n").toLowerCase().includes(sought);
  const found = inOrder.filter(({ id, name, message, when, target, agent }) =>
    has(id, name, message, when, target, agent),
  );
  const beats = heartbeats.filter(({ agent }) => has("heartbeat", agent));
  const isNone = found.length + beats.length === 0;
  return (
    <>
      {found.length + beats.length > 0 && <Timeline jobs={found} heartbeats={beats} />}
      {isNone && jobs.length > 0 && <Empty title="No job is like that">Nothing has “{text}” in it.</Empty>}
      {!isNone && (
        <table class="table jobs" aria-label="Jobs and heartbeats">
          <thead>
            <tr>
              <th scope="col">Name</th>
              <th scope="col">When</th>
              <th scope="col">Next</th>
              <th scope="col">Last</th>
              <th scope="col">Runs in</th>
              <th scope="col">
                <span class="hidden">What can be done</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {found.slice(0, LINES_MAX).map((job) => (
              <JobLine key={job.id} job={job} again={again} />
            ))}
            {beats.map((beat) => (
              <HeartbeatLine key={`${HEARTBEAT}${beat.agent}`} beat={beat} again={again} />
            ))}
          </tbody>
        </table>
      )}
      {found.length > LINES_MAX && <p class="soft">{found.length - LINES_MAX} more: filter to see them.</p>}
    </>
  );
}

/** Soonest first, as it was when they came: what is being read stays where it is. Who is new comes first. */
function useOrder(jobs: readonly JobRow[]): readonly JobRow[] {
  const ranks = useRef<ReadonlyMap<string, number>>(new Map());
  if (jobs.some(({ id }) => !ranks.current.has(id)))
    ranks.current = new Map(soonestFirst(jobs).map(({ id }, at) => [id, at]));
  return jobs.toSorted((a, b) => (ranks.current.get(a.id) ?? 0) - (ranks.current.get(b.id) ?? 0));
}
