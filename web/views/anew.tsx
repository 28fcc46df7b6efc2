// Beginning anew: the conversation of a session becomes an archive, and the session, which stays, an empty one.

import { many } from "../../src/base/figures.ts";
import { ask } from "../parts/dialog.tsx";
import { tell, warn } from "../parts/toast.tsx";
import { call } from "../wire/call.ts";
import type { Row } from "../wire/events.ts";
import { nameOf } from "./named.ts";

/** How long the question stands; it is done anyway. */
const WAIT_MS = 60_000;

export async function beginAnew(row: Row): Promise<void> {
  const { sessionKey, entries, state } = row;
  const isAtWork = state === "running" || state === "queued" || state === "waiting";
  await ask({
    title: `Begin anew in ${nameOf(row)}?`,
    text: (
      <>
        <p>
          What was said in <code>{sessionKey}</code> ({many(entries, "entry", "entries")}) becomes an archive;
          the next message finds an empty conversation. {isAtWork && "The turn that runs is stopped."}
        </p>
        <p class="hint">
          Nothing is erased: the archive is listed in Upkeep. Settings stay; sub-agents report into the new
          conversation. In a chat it is <code>/new</code>.
        </p>
      </>
    ),
    verb: "Begin anew",
    run: async () => {
      const { outcome, reason, archive } = await call("reset", { sessionKey, timeoutMs: WAIT_MS });
      if (outcome === "done") tell(`${nameOf(row)} begins anew${archivedWords(archive)}`);
      else if (outcome === "unanswered") warn(`${nameOf(row)} is still at it, and begins anew after that`);
      else tell(`${nameOf(row)} does not begin anew: ${reason ?? outcome}`, true);
    },
  });
}

/** As much of its id as finds it in Upkeep. */
const ID_CHARS = 8;

function archivedWords(id: string | null): string {
  return id === null ? "" : `. What was said is the archive ${id.slice(0, ID_CHARS)}`;
}
