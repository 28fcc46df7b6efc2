// What keeps the disk bounded: the plan before it is done, doing it, and what was put out of the way.

import { useEffect, useRef, useState } from "preact/hooks";
import { bytes, many, whole } from "../../../src/base/figures.ts";
import { ask } from "../../parts/dialog.tsx";
import { Button } from "../../parts/button.tsx";
import { Empty, Loading, Trouble } from "../../parts/empty.tsx";
import { Ago } from "../../parts/text.tsx";
import { tried, warn } from "../../parts/toast.tsx";
import { useAsked } from "../../state/asking.ts";
import { stillHere } from "../../state/place.ts";
import { call } from "../../wire/call.ts";
import { lacking } from "../../wire/scope.ts";
import { apply, applying, isUnderWay } from "./applying.ts";
import { Archives } from "./archives.tsx";
import { Steps } from "./steps.tsx";
import { planWords, reportWords, stepsOf, type Plan } from "./words.ts";
import "./upkeep.css";

/** Steps that are asked for at once. */
const PAGE_STEPS = 500;

export function Upkeep() {
  const plan = useAsked(async (signal) => await call("upkeepPlan", { limit: PAGE_STEPS }, signal), []);
  const { value, fault, again } = plan;
  const isBusy = isUnderWay();
  const wasBusy = useRef(isBusy);
  useEffect(() => {
    if (wasBusy.current && !isBusy) again();
    wasBusy.current = isBusy;
  }, [isBusy]);
  const [isLooking, setLooking] = useState(false);
  const start = async (): Promise<void> => {
    setLooking(true);
    const isHere = stillHere();
    const newest = await tried(call("upkeepPlan", { limit: 0 }));
    setLooking(false);
    if (newest === null) return;
    if (JSON.stringify(newest.totals) !== JSON.stringify(value?.totals)) again();
    await applied(newest, isHere);
  };
  return (
    <div class="view">
      <header>
        <h1>Upkeep</h1>
        <div class="push deeds">
          <Button icon="refresh" look="quiet" label="Look again" onClick={again} />
          {value !== null && stepsOf(value.totals) > 0 && (
            <Button
              look="main"
              isDisabled={isBusy || isLooking}
              unless={lacking("admin")}
              onClick={() => void start()}
            >
              {value.totals.purge > 0 ? "Apply…" : "Apply"}
            </Button>
          )}
        </div>
      </header>
      <div class="body">
        <div class="inner upkeep">
          <Progress again={() => void start()} />
          {value === null && fault === null && <Loading what="the plan" />}
          {fault !== null && <Trouble fault={fault} again={again} />}
          {value !== null && <Planned plan={value} again={again} />}
          <Archives isBusy={isBusy} after={again} />
        </div>
      </div>
    </div>
  );
}

/**
 * Only what is erased for good is asked about, as of now: a plan that somebody looked at yesterday knows nothing of today's. What comes
 * to be due while the question stands is not erased: then nothing is done, and the plan is shown as it is by then.
 */
async function applied({ totals, erases }: Plan, isHere: () => boolean): Promise<void> {
  if (stepsOf(totals) === 0) return warn("Nothing is to be done any more.");
  const isAgreed =
    totals.purge === 0 ||
    (await ask({
      title: "Erase archives for good?",
      text: `This would ${planWords(totals)}. The ${totals.purge === 1 ? "archive that is" : `${whole(totals.purge)} archives that are`} erased cannot be brought back.`,
      verb: `Erase ${many(totals.purge, "archive")}, and do the rest`,
      isDangerous: true,
      isHere,
      run: async () => {},
    }));
  if (isAgreed) await apply(erases);
}

function Planned({ plan, again }: { readonly plan: Plan; readonly again: () => void }) {
  const { totals, usedBytes, leftBytes, overBytes, mode, madeAt } = plan;
  const steps = stepsOf(totals);
  return (
    <section aria-label="Plan">
      {steps === 0 ? (
        <Empty title="Nothing is to be done">
          <p>
            {bytes(usedBytes)} are used. Upkeep watches for sessions that nobody has used for long, sub-agents
            and runs that ended, transcripts that grow large, archives that are old, blobs that nobody names,
            and the disk's budget. The rules are under <code>upkeep</code> in the configuration.
          </p>
        </Empty>
      ) : (
        <>
          <p class="lead">
            A run now would {planWords(totals)}.{" "}
            <span class="soft">
              Looked <Ago at={madeAt} />.
            </span>
          </p>
          <Tiles plan={plan} />
        </>
      )}
      {overBytes > 0 && (
        <p class="note">
          {bytes(overBytes)} above upkeep.diskMiB stay: they are of sessions that are protected, blobs that
          are named, or archives of today. Unpin or remove some, or allow more.
        </p>
      )}
      <p class="soft mode">
        {mode === "warn"
          ? "Mode warn: sessiond looks every so often and says what it would do. It is done when somebody applies it here."
          : "Mode enforce: sessiond does this by itself, every so often. Apply does it now."}
        {steps > 0 &&
          leftBytes !== usedBytes &&
          ` ${bytes(usedBytes)} are used now, about ${bytes(leftBytes)} then.`}
      </p>
      {steps > 0 && <Steps key={madeAt} plan={plan} again={again} />}
    </section>
  );
}

const TILES = [
  ["archive", "session to archive", "sessions to archive"],
  ["purge", "archive to erase for good", "archives to erase for good"],
  ["rotate", "session to go on in a new file", "sessions to go on in a new file"],
  ["pack", "archive to pack", "archives to pack"],
  ["collect", "blob to remove", "blobs to remove"],
] as const;

function Tiles({ plan: { totals } }: { readonly plan: Plan }) {
  return (
    <ul class="counts">
      {TILES.filter(([each]) => totals[each] > 0).map(([each, one, several]) => (
        <li key={each} class={`card${each === "purge" ? " bad" : ""}`}>
          <strong>{whole(totals[each])}</strong>
          <span>{totals[each] === 1 ? one : several}</span>
        </li>
      ))}
    </ul>
  );
}

function Progress({ again }: { readonly again: () => void }) {
  const now = applying.value;
  if (now === null) return null;
  const { run, fault } = now;
  if (fault !== null) return <Trouble fault={fault} {...(run === null ? {} : { again })} />;
  if (run?.isDone === true && run.report !== null)
    return (
      <div class="note good" role="status">
        {reportWords(run.report).map((line) => (
          <p key={line}>{line}</p>
        ))}
      </div>
    );
  const { done, of, bytes: size } = run?.progress ?? { done: 0, of: 0, bytes: 0 };
  const isLooking = run === null || run.planned === null;
  const words = isLooking
    ? "Looking at what there is …"
    : `${whole(done)} of ${many(of, "step")}, ${bytes(size)}`;
  return (
    <div class="progress" role="status">
      <label>
        <span>{words}</span>
        {isLooking || of === 0 ? <progress /> : <progress value={done} max={of} />}
      </label>
    </div>
  );
}
