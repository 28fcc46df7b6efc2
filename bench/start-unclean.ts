// A process that dies with work unfinished: it opens a home, appends one entry to each of so many sessions, and as
// soon as all of them are acknowledged it kills itself. Their lines are in the journal and not yet sure to be in
// their files, which is what a start after a power cut or a kill finds.
//
//   start-unclean.ts <home> <sessions>

import type { Session } from "../src/sessions/session.ts";
import { textAt, userMessage } from "./load.ts";
import { openStore } from "./scratch.ts";

const [, , home = "", count = "0"] = process.argv;
const store = await openStore(home);

const sessions: Session[] = [];
for (let cursor: string | null = null; sessions.length < Number(count);) {
  const page = await store.sessions({ cursor, limit: Math.min(500, Number(count) - sessions.length) });
  sessions.push(...page.rows);
  cursor = page.next;
  if (cursor === null) break;
}

await Promise.all(
  sessions.map(({ key, transcript }, n) => {
    const entries = [userMessage(textAt(n), `ext:bench:unclean-${n}`)];
    const after = transcript.lastSeq;
    return store.commit([{ do: "append", key, fence: 0, after, entries, rewindTo: null, contextSeq: null }]);
  }),
);
process.kill(process.pid, "SIGKILL");
