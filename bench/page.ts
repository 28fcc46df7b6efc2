// Measure 20: the control page, in a real browser on the same two cores. A task of its main thread that takes more than 50 ms is felt
// by who scrolls or types; so the longest of each trace is what counts, as a clock on the wall has it, and beside it the processor
// time of the longest: where the two are far apart, others had the machine.
//
//   listing      the first lines of 100,000 sessions, and the last of them
//   scrolling    by the wheel, through the first of them and over all of them
//   changes      while a thousand and more rows a second change

import { once } from "node:events";
import type { Browser, Page } from "playwright-core";
import { WebSocket } from "ws";
import type { Output } from "../src/calls/door.ts";
import { started } from "../test/page/browser.ts";
import { Connection, Daemon } from "./daemon.ts";
import { ms, perSecond, timed, type Figure } from "./measure.ts";
import type { Run } from "./run.ts";

const TASK_MS_MAX = 50;
const WHEELS = 60;
const AT_ONCE = 64;
/** Rows of one page, as the daemon gives them at most. */
const PAGE_ROWS = 200;
const CHANGING = 600;
const CATEGORIES = ["toplevel", "devtools.timeline"];

export async function page(run: Run): Promise<Figure[]> {
  const { home, count } = await run.filled.many(run.sized(100_000));
  const daemon = await Daemon.start(home);
  const browser = await started();
  try {
    const shown = await browser.newPage({ viewport: { width: 1280, height: 800 } });
    const open = async (): Promise<void> => {
      await shown.goto(`http://127.0.0.1:${daemon.port}/#t=${daemon.token}&/processes`);
      await shown.locator(".line.row").nth(15).waitFor();
    };
    const openMs = await timed(open);
    return [
      reported(`${count.toLocaleString("en-US")} sessions: the first screen of them`, openMs),
      await wheeled(browser, shown, { what: "scrolling through the first of them", by: 300 }),
      ...(await toTheEnd(browser, shown)),
      await wheeled(browser, shown, {
        what: "scrolling back over all of them, a screen at a time",
        by: -30_000,
      }),
      ...(await changes(run, { browser, shown, daemon })),
    ];
  } finally {
    await browser.close();
    await daemon.stop();
  }
}

function reported(what: string, took: number): Figure {
  return { what, ours: ms(took), beside: "–", base: null, wanted: null };
}

async function wheeled(
  browser: Browser,
  shown: Page,
  { what, by }: { readonly what: string; readonly by: number },
): Promise<Figure> {
  await shown.getByRole("treegrid").hover();
  return await traced(browser, shown, what, async () => {
    for (let n = 0; n < WHEELS; n += 1) {
      await shown.mouse.wheel(0, by);
      await shown.waitForTimeout(50);
    }
  });
}

async function toTheEnd(browser: Browser, shown: Page): Promise<Figure[]> {
  let took = 0;
  const longest = await traced(browser, shown, "meanwhile", async () => {
    took = await timed(async () => {
      await shown.getByRole("treegrid").focus();
      await shown.keyboard.press("End");
      await shown.locator(".processes-table .foot").waitFor({ state: "detached", timeout: 300_000 });
    });
  });
  return [reported("End: all of them are read, and the last is seen", took), longest];
}

interface Shown {
  readonly browser: Browser;
  readonly shown: Page;
  readonly daemon: Daemon;
}

async function changes(run: Run, { browser, shown, daemon }: Shown): Promise<Figure[]> {
  let events = 0;
  shown.on("websocket", (each) => each.on("framereceived", () => (events += 1)));
  await shown.reload();
  await shown.locator(".line.row").nth(15).waitFor();
  const keys = [...new Set([...(await seen(shown)), ...(await waiting(daemon))])];
  events = 0;
  let took = 0;
  const longest = await traced(browser, shown, "a table in which rows change: the longest task", async () => {
    took = await timed(() => labelled(daemon, keys, Math.ceil(run.sized(15_000) / keys.length)));
  });
  const told = { what: "rows told to the page meanwhile", ours: perSecond((events / took) * 1_000) } as const;
  const wanted = { words: "≥ 1,000/s", met: (events / took) * 1_000 >= 1_000 };
  return [longest, { ...told, beside: "what was wanted", base: perSecond(1_000), wanted }];
}

/** Those on the screen. */
async function seen(shown: Page): Promise<readonly string[]> {
  const hrefs: string[] = await shown.evaluate(
    `[...document.querySelectorAll('.line.row a[href^="#/session/"]')].map((link) => link.getAttribute("href"))`,
  );
  return hrefs.map((href) => decodeURIComponent(href.slice("#/session/".length)));
}

/** Some more that the page has: they wait, so it lists them first. */
async function waiting(daemon: Daemon): Promise<readonly string[]> {
  const connection = await Connection.open(daemon.port, daemon.token);
  const keys: string[] = [];
  let cursor: string | null = null;
  while (keys.length < CHANGING) {
    const input = { state: "waiting", limit: PAGE_ROWS, ...(cursor === null ? {} : { cursor }) };
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "list", params: input });
    const { result } = JSON.parse(await connection.request("POST", "/rpc", body)) as {
      readonly result: Output<"list">;
    };
    keys.push(...result.sessions.map(({ sessionKey }) => sessionKey));
    cursor = result.next;
    if (cursor === null) break;
  }
  connection.close();
  return keys;
}

/** Each of these sessions gets another label, so many times. */
async function labelled(daemon: Daemon, keys: readonly string[], rounds: number): Promise<void> {
  const socket = new WebSocket(`ws://127.0.0.1:${daemon.port}/ws`, ["sessiond", `bearer.${daemon.token}`]);
  await once(socket, "open");
  const unanswered = new Map<number, () => void>();
  socket.on("message", (data) =>
    unanswered.get((JSON.parse(String(data)) as { readonly id: number }).id)?.(),
  );
  const calls = Array.from({ length: rounds * keys.length }, (_, id) => id).values();
  const lane = async (): Promise<void> => {
    for (const id of calls) {
      const { promise, resolve } = Promise.withResolvers<void>();
      unanswered.set(id, resolve);
      const input = { sessionKey: keys[id % keys.length], label: `change ${id}` };
      socket.send(JSON.stringify({ jsonrpc: "2.0", id, method: "set", params: input }));
      await promise;
      unanswered.delete(id);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, lane));
  socket.close();
}

interface Traced {
  readonly name: string;
  readonly ph: string;
  readonly pid: number;
  readonly tid: number;
  readonly dur?: number; //  microseconds, by the clock
  readonly tdur?: number; // of processor time
  readonly args: { readonly name?: string };
}

async function traced(
  browser: Browser,
  shown: Page,
  what: string,
  work: () => Promise<void>,
): Promise<Figure> {
  await browser.startTracing(shown, { categories: CATEGORIES });
  await work();
  const { traceEvents } = JSON.parse((await browser.stopTracing()).toString()) as {
    readonly traceEvents: Traced[];
  };
  const threads = new Set(
    traceEvents.flatMap(({ name, args, pid, tid }) =>
      name === "thread_name" && args.name === "CrRendererMain" ? [`${pid} ${tid}`] : [],
    ),
  );
  const tasks = traceEvents.filter(
    ({ name, ph, pid, tid }) => ph === "X" && name.endsWith("RunTask") && threads.has(`${pid} ${tid}`),
  );
  const longest = tasks.reduce((most, { dur = 0 }) => Math.max(most, dur), 0) / 1_000;
  const busiest = tasks.reduce((most, { tdur = 0 }) => Math.max(most, tdur), 0) / 1_000;
  const over = tasks.filter(({ dur = 0 }) => dur / 1_000 > TASK_MS_MAX).length;
  return {
    what,
    ours: ms(longest, "longest task"),
    beside: `of processor time; ${over} of ${tasks.length} tasks were over ${TASK_MS_MAX} ms`,
    base: ms(busiest),
    wanted: { words: `≤ ${TASK_MS_MAX} ms`, met: longest <= TASK_MS_MAX },
  };
}
