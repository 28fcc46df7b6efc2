// Measure 5: a page of 100 sessions out of 100,000, beside one out of 1,000, for each property that a list can be
// asked for. Every filter leaves about a third in both homes, so both pages are full and cost the same work, unless
// the work follows what there is. Both stores are open at once and asked in turn.

import type { LocalStore } from "../src/store/local/local.ts";
import type { SessionQuery } from "../src/store/store.ts";
import { AGENTS, LABEL, PARENT, TITLES, type ManyHome } from "./fill.ts";
import { mediansOfTwo, ms, ratioFigure, type Figure } from "./measure.ts";
import type { Run } from "./run.ts";

const FEW = 1_000;
const PAGE = 100;

interface Filter {
  readonly name: string;
  readonly query: (home: ManyHome) => SessionQuery;
  /** The share of sessions that it leaves. */
  readonly leaves: number;
}

const FILTERS: readonly Filter[] = [
  { name: "no filter", leaves: 1, query: () => ({}) },
  { name: "agent", leaves: 1 / 3, query: () => ({ agent: AGENTS[1] }) },
  { name: "kind", leaves: 1 / 3, query: () => ({ kind: "group" }) },
  { name: "state", leaves: 1 / 3, query: () => ({ state: "waiting" }) },
  { name: "parent", leaves: 1 / 3, query: () => ({ parent: PARENT }) },
  { name: "label", leaves: 1 / 3, query: () => ({ label: LABEL }) },
  { name: "titlePrefix", leaves: 1 / 3, query: () => ({ titlePrefix: TITLES[0] }) },
  // As the runs of one cron job have: every title is the same, and only the place in the list tells them apart.
  { name: "titlePrefix of equal titles", leaves: 1 / 3, query: () => ({ titlePrefix: LABEL }) },
  { name: "updatedSinceMs", leaves: 1 / 2, query: (home) => ({ updatedSinceMs: home.halfMs }) },
];

export async function lists(run: Run): Promise<Figure[]> {
  const [large, small] = [await run.filled.many(run.sized(100_000)), await run.filled.many(FEW)];
  const stores = [await run.scratch.open(large.home), await run.scratch.open(small.home)] as const;
  const rounds = run.sized(300);
  const figures: Figure[] = [];
  for (const filter of FILTERS) {
    for (const place of ["first", "middle"] as const) {
      const [ours, base] = await mediansOfTwo(
        rounds,
        await pageOf(stores[0], large, filter, place),
        await pageOf(stores[1], small, filter, place),
      );
      figures.push(
        ratioFigure({
          what: `${place} page of ${PAGE} out of ${large.count.toLocaleString("en-US")}, ${filter.name}`,
          ours: ms(ours, "p50"),
          base: ms(base, "p50"),
          beside: `out of ${FEW.toLocaleString("en-US")}`,
          most: 2,
        }),
      );
    }
  }
  for (const store of stores) await run.scratch.close(store);
  return figures;
}

/** The question whose time is taken. It was asked a few times already, and gave a full page. */
async function pageOf(
  store: LocalStore,
  home: ManyHome,
  filter: Filter,
  place: "first" | "middle",
): Promise<() => Promise<unknown>> {
  const query = filter.query(home);
  const rows = Math.floor((home.count * filter.leaves) / 2);
  const cursor = place === "first" ? null : await cursorAfter(store, query, rows);
  const ask = () => store.sessions({ ...query, cursor, limit: PAGE });
  for (let warm = 0; warm < 5; warm += 1) {
    const page = await ask();
    if (page.rows.length !== PAGE) throw new Error(`${filter.name}: a page has ${page.rows.length} rows`);
  }
  return ask;
}

async function cursorAfter(store: LocalStore, query: SessionQuery, rows: number): Promise<string> {
  let cursor: string | null = null;
  for (let left = rows; left > 0;) {
    const page = await store.sessions({ ...query, cursor, limit: Math.min(500, left) });
    left -= page.rows.length;
    cursor = page.next;
    if (cursor === null) throw new Error(`there are only ${rows - left} rows`);
  }
  if (cursor === null) throw new Error("a page in the middle has something before it");
  return cursor;
}
