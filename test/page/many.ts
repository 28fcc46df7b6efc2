// A home with very many sessions, made in seconds: one is made by the store, and the others are rows like it under other names. They
// have no transcripts, so nobody can read them; whoever lists them cannot tell.

import { DatabaseSync } from "node:sqlite";
import type { TestContext } from "node:test";
import { DEFAULT_AGENT, hookKey } from "../../src/routing/key.ts";
import { Home, opening } from "../fixtures/home.ts";

export function titleOf(n: number): string {
  return `session number ${n}`;
}

export function keyOf(n: number): string {
  return hookKey(DEFAULT_AGENT, `n${n}`);
}

/** Numbered from 1, the oldest; each a second younger than the one before, and the last an hour old. Returns where it is. */
export async function manyIn(test: TestContext, count: number): Promise<string> {
  const home = await Home.open(test);
  const first = opening(hookKey(DEFAULT_AGENT, "n1"), home.world.newId(), {
    settings: { label: titleOf(1) },
  });
  await home.store.commit([first]);
  await home.close();
  const database = new DatabaseSync(home.paths.state);
  const endMs = Date.now() - 3_600_000;
  const when = "$end - ($count - i) * 1000";
  database
    .prepare(
      `WITH RECURSIVE more(i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM more WHERE i < $count)
       INSERT INTO sessions (key, transcript, agent, kind, parent, state, label, title, fresh, ready, body)
       SELECT 'agent:main:hook:n' || i, printf('01a00000-0000-7000-8000-%012d', i), agent, kind, parent, state,
              'session number ' || i, 'session number ' || i, (${when}) / 1000, ready,
              json_set(body, '$.settings.label', 'session number ' || i, '$.bornAtMs', ${when}, '$.updatedAtMs', ${when})
       FROM more, (SELECT * FROM sessions WHERE key = 'agent:main:hook:n1')`,
    )
    .run({ $count: count, $end: endMs });
  database
    .prepare(
      `UPDATE sessions SET fresh = ($end - $count * 1000) / 1000,
              body = json_set(body, '$.bornAtMs', $end - $count * 1000, '$.updatedAtMs', $end - $count * 1000)
       WHERE key = 'agent:main:hook:n1'`,
    )
    .run({ $count: count, $end: endMs });
  database.close();
  return home.path;
}
