// Waiting for children: in the turn, or by ending it until they have reported. Neither holds a slot, and neither is begun that
// could not end.

import { Fault } from "../base/fault.ts";
import { alarm, unlessAborted } from "../base/waiting.ts";
import type { World } from "../base/world.ts";
import { PAGE_ROWS_MAX } from "../limits.ts";
import { isReport, taskOf } from "../mail/task.ts";
import type { SessionKey } from "../routing/key.ts";
import type { Lanes } from "../scheduler/lanes.ts";
import type { Session } from "../sessions/session.ts";
import type { Store } from "../store/store.ts";
import type { Entry } from "../transcript/entry.ts";
import { restsOn, tasksIn, type Task } from "../turns/tasks.ts";
import type { Heard, SessionWorker } from "../turns/worker.ts";

export interface WaitParts {
  readonly store: Pick<Store, "session" | "entries" | "mail">;
  readonly world: World;
  readonly lanes: Pick<Lanes<SessionWorker>, "worker">;
}

/** The tasks that a session has given and not heard of. */
export async function tasksOf({ store, lanes }: WaitParts, key: SessionKey): Promise<readonly Task[]> {
  const known = lanes.worker(key)?.tasks ?? null;
  if (known !== null) return known;
  const row = await store.session(key);
  return row === null ? [] : tasksIn(await entriesOf(store, row), row.transcript.copied);
}

async function entriesOf(store: Pick<Store, "entries">, { transcript }: Session): Promise<Entry[]> {
  const entries: Entry[] = [];
  for await (const entry of store.entries(transcript.id, { from: "context" }))
    if (entry.type !== "gap") entries.push(entry);
  return entries;
}

/** Those in flight, all or those of the named children. not_found: one of them has none. */
export async function inFlight(
  parts: WaitParts,
  key: SessionKey,
  named: readonly SessionKey[] | null,
): Promise<readonly Task[]> {
  const tasks = (await tasksOf(parts, key)).filter(({ isTold }) => isTold);
  if (named === null) return tasks;
  const other = named.find((each) => !tasks.some((task) => task.key === each));
  if (other !== undefined)
    throw new Fault(
      "not_found",
      `${other} has no task of yours, or has reported: its report is above, or comes next`,
    );
  return tasks.filter((task) => named.includes(task.key));
}

/** would_deadlock: one of them waits for this session, if only by way of others. */
export async function mustNotCircle(
  parts: WaitParts,
  key: SessionKey,
  others: readonly SessionKey[],
): Promise<void> {
  if (await isCircle(parts, key, others))
    throw new Fault(
      "would_deadlock",
      `one of ${others.join(", ")} waits for ${key}, and both would wait for ever`,
    );
}

/** Whether one of them waits for this session, if only by way of others. */
export async function isCircle(
  parts: Pick<WaitParts, "store" | "lanes">,
  key: SessionKey,
  others: readonly SessionKey[],
): Promise<boolean> {
  const seen = new Set<SessionKey>();
  const waiting = [...others];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    if (next === key) return true;
    if (seen.has(next)) continue;
    seen.add(next);
    waiting.push(...(await waitedForBy(parts, next)));
  }
  return false;
}

/** The children that a session waits for now, in its turn or resting. */
export async function waitedForBy(
  { store, lanes }: Pick<WaitParts, "store" | "lanes">,
  key: SessionKey,
): Promise<readonly SessionKey[]> {
  const known = lanes.worker(key)?.waitsFor ?? null;
  if (known !== null) return known;
  const row = await store.session(key);
  if (row === null || row.state.kind === "idle" || row.state.kind === "ended") return [];
  // Also of one that is about to rest, is paused meanwhile, or has not been gone on with yet: what it has yielded counts.
  return restsOn(await entriesOf(store, row), row.transcript.copied).map((task) => task.key);
}

export interface Joined {
  readonly pending: readonly Task[];
  readonly why: string;
}

/** Until all of them have reported, the time is up, somebody else wants to be heard, or the signal is aborted. */
export async function join(
  parts: WaitParts,
  worker: SessionWorker,
  tasks: readonly Task[],
  { ms, signal }: { readonly ms: number; readonly signal: AbortSignal },
): Promise<Joined> {
  const { key } = worker.session;
  const left = new Map(tasks.map((task) => [task.id, task]));
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  promise.catch(() => {}); // Told below, if somebody still waits.
  const hear = (heard: Heard): void => {
    if (heard.mail === null) {
      if (heard.signal === "pause") resolve("the session is to pause");
      if (heard.signal === "look") hearWhatCame(parts, worker, hear).catch(reject);
      return;
    }
    if (isReport(heard.mail)) left.delete(taskOf(heard.mail));
    if (left.size === 0) resolve("all have reported");
    else if (heard.isUrgent) resolve("a new message came in");
  };
  const stopListening = worker.listen(hear);
  const callOff = alarm(parts.world, ms, () => resolve("the time is up"));
  worker.joins = tasks.map((task) => task.key);
  try {
    await mustNotCircle(parts, key, worker.joins);
    await hearWhatCame(parts, worker, hear);
    const now = await parts.store.session(key); // The wish to pause may be older than this wait.
    if (now?.signal === "pause") hear({ mail: null, signal: now.signal });
    const why = await unlessAborted(promise, signal);
    return { pending: [...left.values()], why };
  } finally {
    worker.joins = [];
    callOff();
    stopListening();
  }
}

/** Letters that came before anybody listened. */
async function hearWhatCame(
  { store }: WaitParts,
  worker: SessionWorker,
  hear: (heard: Heard) => void,
): Promise<void> {
  for (let cursor: string | null | undefined = undefined; cursor !== null;) {
    const page = await store.mail(worker.session.key, { limit: PAGE_ROWS_MAX, cursor: cursor ?? null });
    for (const mail of page.rows) hear({ mail, isUrgent: worker.isUrgent(mail) });
    cursor = page.next;
  }
}
