// npm run bench [-- --quick] [--only <measure>] [--json]
//
// Measures what docs and design promise and prints one table. A figure that is missed is said, and is no failure of
// the run: it exits 0 whenever it could measure. Progress goes to standard error.

import { loadavg } from "node:os";
import { parseArgs } from "node:util";
import { append } from "./append.ts";
import { children } from "./children.ts";
import { context } from "./context.ts";
import { eventLoop } from "./event-loop.ts";
import { Filled } from "./fill.ts";
import { gateway } from "./gateway.ts";
import { history } from "./history.ts";
import { kill } from "./kill.ts";
import { lists } from "./lists.ts";
import { manyWriters } from "./many-writers.ts";
import { ratioOf, type Figure } from "./measure.ts";
import { oneWriter } from "./one-writer.ts";
import { page } from "./page.ts";
import { resume } from "./resume.ts";
import type { Run } from "./run.ts";
import { Scratch } from "./scratch.ts";
import { search } from "./search.ts";
import { sharing } from "./sharing.ts";
import { start } from "./start.ts";
import { captionOf, summaryOf, tableOf } from "./table.ts";
import { turns } from "./turns.ts";
import { idle } from "./idle.ts";
import { upkeep } from "./upkeep.ts";

/** In this order: history goes on with the session that resume has looked at, and start with the homes of lists. */
const MEASURES: Readonly<Record<string, (run: Run) => Promise<Figure[]>>> = {
  "one-writer": oneWriter,
  append,
  "many-writers": manyWriters,
  "event-loop": eventLoop,
  search,
  resume,
  history,
  lists,
  start,
  turns,
  sharing,
  children,
  kill,
  gateway,
  context,
  upkeep,
  idle,
  page,
};

const { values } = parseArgs({
  options: {
    quick: { type: "boolean", default: false },
    only: { type: "string", multiple: true, default: [] },
    json: { type: "boolean", default: false },
  },
});
const chosen = values.only.length > 0 ? values.only : Object.keys(MEASURES);
const unknown = chosen.filter((name) => !(name in MEASURES));
if (unknown.length > 0) {
  process.stderr.write(
    `no measure is called ${unknown.join(", ")}; there are ${Object.keys(MEASURES).join(", ")}\n`,
  );
  process.exit(64);
}

const beganMs = performance.now();
const say = (words: string): void => {
  process.stderr.write(`${((performance.now() - beganMs) / 1_000).toFixed(0).padStart(4)} s  ${words}\n`);
};
const load = loadavg()[0] ?? 0;
const scratch = new Scratch(process.env["SESSIOND_BENCH_DIR"]);

process.on("exit", () => scratch.clearNow()); // also after an error that nobody caught

let leaving = false;
for (const signal of ["SIGINT", "SIGTERM"] as const) {
  process.on(signal, () => {
    if (leaving) process.exit(130);
    leaving = true;
    say("interrupted; removing what was made");
    void scratch.clear().finally(() => process.exit(130));
  });
}

const run: Run = {
  scratch,
  filled: new Filled(scratch, say),
  sized: (full) => (values.quick ? Math.ceil(full / 10) : full),
  atLeast: (few, full) => (values.quick ? Math.max(few, Math.ceil(full / 10)) : full),
  say,
};

try {
  const figures: Figure[] = [];
  for (const [name, measure] of Object.entries(MEASURES)) {
    if (!chosen.includes(name)) continue;
    say(name);
    figures.push(...(await measure(run)));
  }
  const caption = captionOf({ directory: scratch.directory, quick: values.quick, load });
  if (values.json) {
    const rows = figures.map((figure) => ({ ...figure, ratio: ratioOf(figure) }));
    process.stdout.write(`${JSON.stringify({ caption: caption.trim(), figures: rows }, null, 2)}\n`);
  } else {
    process.stdout.write(`${caption}\n${tableOf(figures)}\n${summaryOf(figures)}`);
  }
} catch (error) {
  if (!leaving) throw error; // what an interruption broke is no news
} finally {
  if (!leaving) {
    say("removing what was made");
    await scratch.clear();
    say("done");
  }
}
