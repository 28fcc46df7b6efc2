import type { Letter } from "../mail/letter.ts";
import { deadlineId } from "../mail/task.ts";
import type { Change } from "../store/change.ts";
import type { Store } from "../store/store.ts";
import type { Timer } from "../timers/timer.ts";

/**
 * The time of a task is up. The child is told by a letter; what it was doing then ends, and it reports what it had. One that
 * has nothing to do, or has ended, was in time: it is not woken for that.
 */
export async function deadlineDue(
  store: Pick<Store, "session" | "mail">,
  { key, body }: Timer,
): Promise<readonly Change[]> {
  const { deadline, seconds } = body as { readonly deadline: string; readonly seconds: number };
  const { rows } = await store.mail(key, { limit: 1 }); // First: a letter that is taken meanwhile shows in the row.
  const session = await store.session(key);
  if (session === null || session.state.kind === "ended") return [];
  if (session.state.kind === "idle" && rows.length === 0) return [];
  const letter: Letter = {
    id: deadlineId(deadline),
    from: { kind: "internal_system", cause: "deadline" },
    class: "interactive", // It ends work, and so makes room.
    mode: "followup",
    content: [{ type: "text", text: `the ${seconds} s that it was given are over` }],
    replyTo: null,
    origin: null,
  };
  return [{ do: "post", to: [key], letter }];
}
