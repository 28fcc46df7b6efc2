// What keeps the disk bounded, as people see it: what a run would do, and a run.

import { z } from "zod";
import { Fault } from "../base/fault.ts";
import { unlessAborted, unlessLate } from "../base/waiting.ts";
import { TITLE_CHARS_MAX } from "../limits.ts";
import { shownTitle } from "../store/rules.ts";
import type { Store } from "../store/store.ts";
import type { Step } from "../upkeep/plan.ts";
import type { Run } from "../upkeep/rounds.ts";
import { call, just, type Caller, type Done, type System } from "./call.ts";
import { PLAN_STEPS_MAX, TITLES_AT_ONCE, UPKEEP_WAIT_SECONDS_MAX } from "./limits.ts";
import { brief, iso } from "./views.ts";

const bytes = z.int().describe("Bytes.");

const totals = z.strictObject({
  purge: z.int().describe("Archives that are erased for good."),
  archive: z.int().describe("Sessions that are put out of the way, and packed."),
  rotate: z.int().describe("Sessions whose history goes on in a new file."),
  pack: z.int().describe("Archives that are packed."),
  collect: z.int().describe("Blobs that nobody names."),
});

const step = z.strictObject({
  do: z.enum(["purge", "archive", "rotate", "pack", "collect"]),
  sessionKey: z.string().nullable().describe("null: it is about blobs."),
  title: z
    .string()
    .describe("The session's label, or the first words that a person wrote; empty: it has none, or is gone."),
  archive: z.string().nullable().describe("null: it is about no archive."),
  why: z.string().nullable().describe("Which rule of the policy; null: there is but one."),
  bytes,
  blobs: z.int().nullable(),
});

const planInput = z.strictObject({
  limit: z.int().min(0).max(PLAN_STEPS_MAX).default(PLAN_STEPS_MAX).describe("How many steps are told."),
  cursor: z
    .string()
    .optional()
    .describe(
      "`next` of the page before: more of the same plan. It is kept for a minute, until another is made.",
    ),
});
const planOutput = z.strictObject({
  mode: z.enum(["warn", "enforce"]),
  madeAt: z.string().describe("One that took long to make is told again to whoever asks soon after."),
  totals,
  erases: z
    .string()
    .nullable()
    .describe(
      "What the archives that it erases are called together. Pass it to `upkeep` as `agreed`; null: none is erased.",
    ),
  usedBytes: bytes.describe("On the disk now: transcripts, archives and blobs."),
  leftBytes: bytes.describe("About what is left of it afterwards."),
  overBytes: bytes.describe(
    "Above upkeep.diskMiB, of what is protected, named or of today: nothing frees it.",
  ),
  steps: z.array(step).describe("In the order in which they are done."),
  more: z.int().describe("How many steps come after these."),
  next: z.string().nullable().describe("The cursor of the next page; null: there is none."),
});

/** More than what a plan calls it. */
const AGREED_CHARS_MAX = 100;

const runInput = z.strictObject({
  run: z.string().optional().describe("Wait for this one, which was begun before."),
  agreed: z
    .string()
    .max(AGREED_CHARS_MAX)
    .nullable()
    .optional()
    .describe(
      "`erases` of the plan that you agreed to, also null: refused (`conflict`), and nothing is done, if other archives would be " +
        "erased than those, also if fewer. Without it, whatever is due is done. A run that is under way is told as it is.",
    ),
  waitSeconds: z
    .int()
    .min(0)
    .max(UPKEEP_WAIT_SECONDS_MAX)
    .default(20)
    .describe("How long to wait for its end. It goes on when nobody waits."),
});
const runOutput = z.strictObject({
  run: z.string(),
  startedAt: z.string(),
  isDone: z.boolean(),
  planned: totals.nullable().describe("null: it still looks at what there is."),
  progress: z.strictObject({ done: z.int().describe("Steps."), of: z.int(), bytes }),
  report: z
    .strictObject({
      archived: z.int(),
      purged: z.int(),
      rotated: z.int().describe("That were asked to: each does it when its turn is over."),
      packed: z.int(),
      packedBytes: bytes.describe("Before they were packed."),
      collected: z.int(),
      freedBytes: bytes.describe("Of archives and blobs that were erased."),
      skipped: z.int().describe("It changed meanwhile, and was left alone."),
      failed: z.int().describe("The log says why."),
      stopped: z.enum(["disk_full", "closed"]).nullable().describe("null: all of it was tried."),
    })
    .nullable()
    .describe("null: it is under way."),
});

async function plan(
  { upkeep, config, store }: System,
  _caller: Caller,
  { limit, cursor }: z.output<typeof planInput>,
  signal: AbortSignal,
): Promise<Done<z.input<typeof planOutput>>> {
  const [id, from] = cursor === undefined ? [null, 0] : placeIn(cursor);
  const shown = id === null ? await unlessAborted(upkeep.show(), signal) : upkeep.shown(id);
  if (shown === null)
    throw new Fault(
      "cursor_expired",
      "this plan is not kept any more: a newer one was made, or it is too old",
      {
        todo: "ask for the plan anew, without a cursor",
      },
    );
  const { steps, totals: planned, over: overBytes, ...used } = shown.plan;
  const told = await toldOf(store, steps.slice(from, from + limit), signal);
  const more = Math.max(0, steps.length - from - told.length);
  const next = more > 0 ? `${shown.id}.${from + told.length}` : null;
  const { mode } = config.upkeep;
  const madeAt = iso(shown.madeAtMs);
  return just({ mode, madeAt, totals: planned, ...used, overBytes, steps: told, more, next });
}

function placeIn(cursor: string): readonly [id: string, from: number] {
  const [, id, from] = /^([\w-]+)\.(\d{1,9})$/.exec(cursor) ?? [];
  if (id === undefined)
    throw new Fault("bad_input", "not a cursor: pass on the `next` of the page before, unchanged");
  return [id, Number(from)];
}

type Titles = Pick<Store, "session" | "archives">;

/** With titles as they are now, a few at a time: what the plan was made of has none, since it is of all that there are. */
async function toldOf(
  store: Titles,
  steps: readonly Step[],
  signal: AbortSignal,
): Promise<z.input<typeof step>[]> {
  const told: z.input<typeof step>[] = [];
  for (let at = 0; at < steps.length; at += TITLES_AT_ONCE) {
    signal.throwIfAborted();
    const some = steps.slice(at, at + TITLES_AT_ONCE);
    told.push(...(await Promise.all(some.map(async (one) => stepOf(one, await titleOf(store, one))))));
  }
  return told;
}

async function titleOf(store: Titles, one: Step): Promise<string> {
  if (!("key" in one)) return "";
  const session =
    "archive" in one
      ? (await store.archives({ id: one.archive, limit: 1 })).rows[0]?.session
      : await store.session(one.key);
  return session == null ? "" : brief(shownTitle(session), TITLE_CHARS_MAX);
}

function stepOf(one: Step, title: string): z.input<typeof step> {
  return {
    do: one.do,
    sessionKey: "key" in one ? one.key : null,
    title,
    archive: "archive" in one ? one.archive : null,
    why: "why" in one ? one.why : null,
    bytes: one.bytes,
    blobs: "blobs" in one ? one.blobs : null,
  };
}

/** Whatever the mode says: somebody asked for it. It goes on when they leave, and whoever asks meanwhile gets the same. */
async function run(
  { upkeep, world }: System,
  _caller: Caller,
  { run: id, agreed, waitSeconds }: z.output<typeof runInput>,
  signal: AbortSignal,
): Promise<Done<z.input<typeof runOutput>>> {
  const found = id === undefined ? upkeep.run(agreed) : upkeep.find(id);
  if (found === null)
    throw new Fault("not_found", `there is no run ${id} of upkeep`, {
      todo: "start another: sessiond was restarted since, or another run came after it; whatever is left is found again",
    });
  await unlessAborted(unlessLate(world, waitSeconds * 1_000, found.ended), signal);
  if (found.isRefused)
    throw new Fault("conflict", "the plan has changed since: it would erase others than were agreed to", {
      todo: "look again: nothing was done; ask for the plan, and agree to that one",
    });
  return just(runOf(found));
}

function runOf({ id, startedAtMs, progress, plan: made, report }: Run): z.input<typeof runOutput> {
  return {
    run: id,
    startedAt: iso(startedAtMs),
    isDone: report !== null,
    planned: made?.totals ?? null,
    progress,
    report,
  };
}

/** Their rows in the table. */
export const upkeepCalls = {
  upkeepPlan: call({
    about:
      "What a run of upkeep would do now, step by step, and what it would leave: nothing is done. The policy is `upkeep` of the " +
      "configuration.",
    who: "person",
    tool: null,
    scope: "read",
    http: "GET /upkeep",
    input: planInput,
    output: planOutput,
    idempotent: true,
    run: plan,
  }),
  upkeep: call({
    about:
      "Does what upkeepPlan says, whatever upkeep.mode is, and tells what was done; or how far it is, when it takes longer.",
    who: "person",
    tool: null,
    scope: "admin",
    http: "POST /upkeep",
    input: runInput,
    output: runOutput,
    idempotent: true,
    run,
  }),
};
