// Pictures of every view for docs/page.md: `npm run screenshots` makes them anew, from a real daemon and a real browser, so that they
// show what is there.

import { mkdirSync } from "node:fs";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import type { Page } from "playwright-core";
import { Daemon } from "../gateway/daemon.ts";
import { launch, visitIn, type Visit } from "./browser.ts";
import { MAIN, play, STAGE_CONFIG } from "./stage.ts";

const OUT = fileURLToPath(new URL("../../docs/page/", import.meta.url));

interface Picture extends Visit {
  readonly name: string;
  readonly at: string;
  /** What must be there before it is taken. */
  readonly waitFor: string;
  readonly before?: (page: Page, daemon: Daemon) => Promise<void>;
}

const SESSION = `#/session/${encodeURIComponent(MAIN)}`;
const PHONE = { width: 390, height: 800 };

const PICTURES: readonly Picture[] = [
  { name: "processes", at: "#/processes", waitFor: "pricing of Initech" },
  { name: "processes-dark", at: "#/processes", waitFor: "pricing of Initech", dark: true },
  { name: "session", at: `${SESSION}?seq=%ANSWER%`, waitFor: "How they compare" },
  { name: "agents", at: SESSION, waitFor: "pricing of Initech" },
  { name: "session-dark", at: SESSION, waitFor: "pricing of Initech", dark: true },
  { name: "session-phone", at: SESSION, waitFor: "pricing of Initech", ...PHONE },
  {
    name: "overview",
    at: "#/overview",
    waitFor: "research:main",
    before: busy,
  },
  { name: "schedule", at: "#/schedule", waitFor: "morning" },
  { name: "search", at: "#/search?text=invoice", waitFor: "paid" },
  { name: "memory", at: "#/memory/main?path=MEMORY.md", waitFor: "What to remember" },
  { name: "upkeep", at: "#/upkeep", waitFor: "Upkeep" },
  { name: "settings", at: "#/settings", waitFor: "rehearsal/default" },
  { name: "processes-phone", at: "#/processes", waitFor: "pricing of Initech", ...PHONE },
];

test("pictures of every view", async (t) => {
  const daemon = await Daemon.start(t, { config: STAGE_CONFIG });
  await play(daemon);
  const browser = await launch(t);
  mkdirSync(OUT, { recursive: true });
  const answer = await answerSeq(daemon);
  for (const { name, at, waitFor, before, ...wishes } of PICTURES) {
    const place = at.replace("%ANSWER%", String(answer));
    const page = await visitIn(browser, t, daemon, { height: 760, ...wishes, at: place });
    await page.locator("main").getByText(waitFor).first().waitFor();
    await before?.(page, daemon);
    await page.waitForTimeout(800); // Things that come in one after the other are there.
    await page.screenshot({ path: `${OUT}${name}.png` });
  }
});

/** Of the answer with everything in it. */
async function answerSeq(daemon: Daemon): Promise<number> {
  const { entries } = await daemon.call("history", { sessionKey: MAIN, limit: 200 });
  const found = entries.find(({ kind, text }) => kind === "assistant" && text.includes("How they compare"));
  return found?.seq ?? 1;
}

/** Half a minute with something to plot. */
async function busy(page: Page, daemon: Daemon): Promise<void> {
  for (const words of [300, 900, 2_000, 600, 1_500, 200, 3_000, 1_200, 700, 400]) {
    await daemon.call("ask", {
      sessionKey: "agent:main:thread:budget-planning",
      message: `Go on.\n!verbose ${words}`,
    });
    await page.waitForTimeout(3_000);
  }
}
