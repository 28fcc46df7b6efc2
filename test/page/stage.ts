// A daemon in the middle of a working day: for pictures of the page, and for who looks at all of its views. Everything happened as
// it would to people; only the model is scripted (docs/rehearsal.md).

import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Daemon } from "../gateway/daemon.ts";

export const MAIN = "agent:main:main";

/** `large` pretends to have prices: so there is something to see in the columns of costs. */
export const STAGE_CONFIG = {
  agents: { main: { model: "rehearsal/large" }, research: { model: "rehearsal/default" } },
  upkeep: { mode: "warn", staleDays: 30, sessionsMax: 8 }, // There is something to do.
};

/** A text as the rehearsal is told to say it. */
function say(text: string): string {
  return text
    .split("\n")
    .map((line) => `!say ${line}`)
    .join("\n");
}

/** The rehearsal says no empty lines: headings and fences do without. */
const COMPARED = `### How they compare
| | Acme | Globex | Initech |
|---|---|---|---|
| price a seat | **$49** | free up to 5, then $12 | by use, ≈ $0.40/h |
| offline | no | yes | yes |
| export | CSV | CSV, JSON | JSON |
### What follows
1. **Below five people** Globex costs nothing.
2. **Above forty hours a month** Acme is cheaper than Initech.
\`\`\`ts
const monthly = (seats: number, hours: number) =>
  Math.min(49 * seats, seats <= 5 ? 0 : 12 * seats, 0.4 * hours);
\`\`\`
> The prices are from the pages as they were this morning.`;

const NOTES = `# Prices

- Acme: $49 a seat, yearly contract
- Globex: free up to five people
- Initech: by use
`;

/** What the three of them do: the first two are done soon, the third works for as long as anybody looks. */
const RESEARCH = [
  ["Acme", 200, "Acme sells at $49 a seat and has no offline mode."],
  ["Globex", 400, "Globex is free up to five people, then $12 each."],
  ["Initech", 600_000, "Initech charges by use, about $0.40 an hour."],
] as const;

function research(): string {
  const spawns = RESEARCH.map(([name, ms, finding]) => {
    const task = `What does ${name} charge, and what is missing?\n!say Reading the pricing page of ${name}.\n!call session_status\n!then\n!slow ${ms}\n!say ${finding}`;
    return `!spawn ${JSON.stringify({ task, label: `pricing of ${name}` })}`;
  });
  return [
    "Look at their prices again, all three at once.",
    ...spawns,
    "!call sessions_yield",
    "!then",
    "!results",
  ].join("\n");
}

/** Resolves when everything is as it is to be looked at. */
export async function play(daemon: Daemon): Promise<void> {
  workspaceOf(daemon);
  await talk(daemon);
  await others(daemon);
  await schedule(daemon);
  await daemon.call("send", { sessionKey: MAIN, message: research() });
  await until(async () => {
    const { children } = await daemon.call("children", { sessionKey: MAIN });
    return children.filter(({ state }) => state === "ended").length === 2;
  });
}

function workspaceOf({ home }: Daemon): void {
  const workspace = join(home, "agents", "main", "workspace");
  mkdirSync(join(workspace, "memory", "people"), { recursive: true });
  writeFileSync(join(workspace, "notes.md"), NOTES);
  writeFileSync(
    join(workspace, "MEMORY.md"),
    "# What to remember\n\n- Prices are compared **monthly**, on the first working day.\n- Ann decides about contracts: see [her note](memory/people/ann.md).\n",
  );
  writeFileSync(
    join(workspace, "memory", "people", "ann.md"),
    "# Ann\n\nDecides about contracts. Prefers tables to prose, and a recommendation in the first line.\n",
  );
  writeFileSync(join(workspace, "memory", "2026-11-prices.md"), `# November\n\n${NOTES}`);
}

/** What was said in main before anybody looks: an answer with everything that markdown has, thinking, and tools. */
async function talk(daemon: Daemon): Promise<void> {
  await daemon.call("ask", {
    sessionKey: MAIN,
    message: [
      "Compare Acme, Globex and Initech for a small team.",
      "!think The notes have last month's prices; they are enough for a first answer.",
      '!call read {"path":"notes.md"}',
      '!call read {"path":"contracts.md"}',
      "!then",
      say(COMPARED),
    ].join("\n"),
  });
  await daemon.call("set", { sessionKey: MAIN, label: "Prices of the competitors" });
  await daemon.call("ask", {
    sessionKey: MAIN,
    message: "Which one for four people?\n!say **Globex**: it is free for four.",
  });
}

async function others(daemon: Daemon): Promise<void> {
  const from = { chatType: "direct", channel: "telegram" } as const;
  const ids = await Promise.all([
    daemon.call("receive", {
      ...from,
      peer: "ada",
      message: "Is the invoice of October paid?\n!say Yes, on the 3rd.",
    }),
    daemon.call("receive", {
      ...from,
      peer: "grace",
      message: "When is the next release?\n!say Planned for Thursday.",
    }),
    daemon.call("receive", {
      channel: "slack",
      chatType: "group",
      peer: "ops",
      sender: "linus",
      message: "What does the build machine say?\n!say All green.",
    }),
    daemon.call("send", { sessionKey: "agent:research:main", message: "Read the new paper.\n!fail auth" }),
  ]);
  for (const { sessionKey, id } of ids) await daemon.call("wait", { sessionKey, id });
  await daemon.call("archive", { sessionKey: "agent:main:telegram:direct:grace" });
  const task =
    "Plan the budget of next year.\n!say The draft has three scenarios; the middle one is what I would take.";
  const { sessionKey, id } = await daemon.call("spawn", {
    parent: MAIN,
    name: "budget-planning",
    task,
    announce: false,
  });
  await daemon.call("wait", { sessionKey, id });
  const paused = await daemon.call("fork", {
    sessionKey: MAIN,
    seq: 3,
    name: "what-if",
    label: "What if we were ten?",
  });
  await daemon.call("stop", { sessionKey: paused.sessionKey });
}

async function schedule(daemon: Daemon): Promise<void> {
  const morning = await daemon.call("addJob", {
    name: "morning",
    cron: "0 9 * * 1-5",
    timezone: "Europe/Zurich",
    message: "What is in the calendar today?\n!say Two meetings, both prepared.",
  });
  await daemon.call("addJob", {
    name: "queue",
    every: "15m",
    message: "Look after the queue.\n!say It is short.",
  });
  await daemon.call("addJob", {
    name: "prices",
    cron: "0 8 1 * *",
    timezone: "Europe/Zurich",
    message: "Compare the prices.",
  });
  await daemon.call("runJob", { job: morning.id });
  await until(async () => {
    const { runs } = await daemon.call("jobRuns", { job: morning.id });
    return runs.some(({ outcome }) => outcome === "done");
  });
}

/** What has not come after so many looks, some 40 s, does not come. */
const LOOKS_MAX = 800;

export async function until(isSo: () => Promise<boolean>): Promise<void> {
  for (let looks = 0; !(await isSo()); looks += 1) {
    if (looks === LOOKS_MAX) throw new Error(`it does not come: ${String(isSo)}`);
    await sleep(50);
  }
}
