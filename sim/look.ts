// What the tables show when everything has come to rest.

import type { Entry } from "../src/transcript/entry.ts";
import type { Outgoing } from "../src/mail/letter.ts";
import type { Seen } from "../test/turns/look.ts";
import { storyOf, type Story } from "../test/turns/story.ts";
import type { Home } from "./home.ts";

/** One plan has some dozens of sessions: a page holds them, and what waits for each. */
const LIMIT = 500;

export interface SeenAtRest extends Seen {
  /** Ids of the letters that wait, by key. */
  readonly mail: ReadonlyMap<string, readonly string[]>;
}

export async function look({ store, effects, deliveries }: Home): Promise<SeenAtRest> {
  const stories: Story[] = [];
  const entries = new Map<string, readonly Entry[]>();
  const mail = new Map<string, readonly string[]>();
  const problems: string[] = [];
  for (const row of (await store.sessions({ limit: LIMIT })).rows) {
    const all = (await Array.fromAsync(store.entries(row.transcript.id, { from: 1 }))) as Entry[];
    const own = all.filter(({ seq }) => seq > row.transcript.copied);
    entries.set(row.key, own);
    stories.push(withoutReports(storyOf(row, own)));
    mail.set(
      row.key,
      (await store.mail(row.key, { limit: LIMIT })).rows.map(({ id }) => id),
    );
  }
  const outbox: Outgoing[] = [];
  for (const refused of [false, true]) outbox.push(...(await store.outbox({ refused, limit: LIMIT })).rows);
  const waiting = new Map([...mail].map(([key, ids]) => [key, ids.length]));
  return { stories, entries, mail, waiting, outbox, effects, deliveries, problems };
}

/** A report is no answer: where it goes is judged by itself (children.ts). */
function withoutReports(story: Story): Story {
  const turns = story.turns.map((turn) => ({
    ...turn,
    letters: turn.letters.map((letter) => ({
      ...letter,
      replyTo: letter.replyTo?.channel === "report" ? null : letter.replyTo,
    })),
  }));
  return { ...story, turns };
}
