// What stands below the figures: who has slots and who waits, programs that run, and what went wrong.

import { whole } from "../../../src/base/figures.ts";
import { Ago, Plain, shortKey } from "../../parts/text.tsx";
import { hrefOf } from "../../state/place.ts";
import type { Overview } from "../../wire/events.ts";

const CLASSES = [
  ["interactive", "People"],
  ["delegated", "Sub-agents"],
  ["scheduled", "Jobs"],
  ["background", "Background"],
] as const;

interface Shown {
  readonly now: Overview;
}

export function Load({ now: { slots, processes } }: Shown) {
  return (
    <section class="card" aria-labelledby="load">
      <h2 id="load">Slots and queue</h2>
      <table class="table load">
        <thead>
          <tr>
            <th rowSpan={2} scope="col">
              For
            </th>
            <th colSpan={2} scope="colgroup" class="figure">
              Model calls
            </th>
            <th colSpan={2} scope="colgroup" class="figure">
              Programs
            </th>
          </tr>
          <tr>
            {["run", "wait", "run", "wait"].map((word, at) => (
              <th key={at} scope="col" class="figure">
                {word}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {CLASSES.map(([each, name]) => (
            <tr key={each}>
              <th scope="row">{name}</th>
              {[slots.inUse, slots.waiting, processes.inUse, processes.waiting].map((counts, at) => (
                <td key={at} class={`figure${counts[each] === 0 ? " soft" : ""}`}>
                  {whole(counts[each])}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

export function Programs({ now: { programs } }: Shown) {
  return (
    <section class="card" aria-labelledby="programs">
      <h2 id="programs">Programs that run now</h2>
      {programs.length === 0 ? (
        <p class="soft none">None.</p>
      ) : (
        <table class="table">
          <thead>
            <tr>
              <th scope="col">Process</th>
              <th scope="col">Session</th>
              <th scope="col" class="figure">
                Since
              </th>
            </tr>
          </thead>
          <tbody>
            {programs.map(({ pid, sessionKey, startedAt }) => (
              <tr key={pid}>
                <td>{pid}</td>
                <td>
                  {sessionKey === null ? (
                    <span class="soft">the daemon's own</span>
                  ) : (
                    <SessionLink sessionKey={sessionKey} />
                  )}
                </td>
                <td class="figure">
                  <Ago at={startedAt} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </section>
  );
}

export function Failures({ now: { failures } }: Shown) {
  return (
    <section class="card" aria-labelledby="failures">
      <h2 id="failures">Recent failures</h2>
      {failures.length === 0 ? (
        <p class="soft none">Nothing failed since the start.</p>
      ) : (
        <table class="table failures">
          <thead>
            <tr>
              <th scope="col">What</th>
              <th scope="col">Where</th>
              <th scope="col">Why</th>
              <th scope="col" class="figure">
                When
              </th>
            </tr>
          </thead>
          <tbody>
            {failures.map((failure, at) => (
              <FailureRow key={`${failure.at} ${failures.length - at}`} failure={failure} />
            ))}
          </tbody>
        </table>
      )}
    </section>
  );
}

function FailureRow({ failure }: { readonly failure: Overview["failures"][number] }) {
  const { at, what, outcome, sessionKey, job, reason, seq } = failure;
  return (
    <tr>
      <td>
        {job === null ? what : <a href={hrefOf("schedule", job)}>{what}</a>} {outcome}
      </td>
      <td>
        {sessionKey === null ? (
          <span class="soft">–</span>
        ) : (
          <SessionLink sessionKey={sessionKey} seq={seq} />
        )}
      </td>
      <td class="why">{reason === "" ? <span class="soft">nobody said</span> : <Plain text={reason} />}</td>
      <td class="figure">
        <Ago at={at} />
      </td>
    </tr>
  );
}

interface LinkParts {
  readonly sessionKey: string;
  readonly seq?: number | null; // null: to where it ends
}

function SessionLink({ sessionKey, seq = null }: LinkParts) {
  return (
    <a href={hrefOf("session", sessionKey, seq === null ? {} : { seq: String(seq) })} title={sessionKey}>
      {shortKey(sessionKey)}
    </a>
  );
}
