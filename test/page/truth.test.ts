// What the view of a session says is so: what runs, what is over, who it is, and what can be chosen.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { test } from "node:test";
import { promisify } from "node:util";
import { CLI, Daemon } from "../gateway/daemon.ts";
import { visit } from "./browser.ts";

const MAIN = "agent:main:main";
const AT_MAIN = "#/session/agent%3Amain%3Amain";

test("a turn that was gone back into is over, a main session is called by its agent, and models without a key cannot be chosen", async (t) => {
  const aliases = { mine: "rehearsal/small", swift: "anthropic/claude-sonnet-4-5" };
  const home = { url: "http://127.0.0.1:9/v1", models: { llama: {} } };
  const providers = { home: { api: "openai-compatible", baseUrl: home.url, models: home.models } };
  const daemon = await Daemon.start(t, { config: { models: { aliases, providers } } });
  await daemon.call("ask", { sessionKey: MAIN, message: "hello to you" });
  const { entries } = await daemon.call("entries", { sessionKey: MAIN });
  const asked = entries.find(({ type }) => type === "message") as { readonly seq: number } | undefined;
  await daemon.call("rewind", { sessionKey: MAIN, seq: asked?.seq ?? 0 });
  const page = await visit(t, daemon, { at: AT_MAIN });

  await page.getByRole("tab", { name: "Trace" }).click();
  await page.getByText(`rewound: the session went back to entry ${asked?.seq}`, { exact: false }).waitFor();
  assert.equal(await page.getByText("goes on").count(), 0);
  const head = page.getByRole("heading", { level: 1 });
  assert.equal(await head.textContent(), "main");
  await daemon.call("set", { sessionKey: MAIN, label: "of my house" });
  await page.getByRole("heading", { level: 1, name: "of my house" }).waitFor();

  const inGroup = (label: string): Promise<string[]> =>
    page.getByLabel("Model", { exact: true }).locator(`optgroup[label="${label}"] option`).allTextContents();
  await page
    .getByLabel("Model", { exact: true })
    .locator('optgroup[label="No key found"]')
    .waitFor({ state: "attached" });
  const [names, models, locked] = [
    await inGroup("Short names"),
    await inGroup("Models"),
    await inGroup("No key found"),
  ];
  assert.deepEqual(names, ["mine (rehearsal/small)"]);
  assert.deepEqual(models, ["small (rehearsal)", "large (rehearsal)", "llama (home)"]);
  assert.ok(locked.includes("swift") && locked.includes("claude-sonnet-4-5 (anthropic)"), locked.join());
  assert.equal(await page.getByRole("option", { name: "claude-sonnet-4-5 (anthropic)" }).isDisabled(), true);

  // What is given as an example can be done.
  await page.goto(`${daemon.url}/#/settings?part=config`);
  const example = await page.getByText(/^npx sessiond config set/).textContent();
  const words = (example ?? "").split(" ").slice(2);
  await promisify(execFile)(process.execPath, [CLI, ...words], { env: daemon.env });
});

test("a child that has finished or was killed is not in flight, also while nobody has read its report", async (t) => {
  const daemon = await Daemon.start(t);
  const spawn = (task: string, label: string): string => `!spawn ${JSON.stringify({ task, label })}`;
  const script = [
    spawn("!say hi", "quick"),
    spawn("!slow 3600000", "slow"),
    spawn("!slow 3600000", "doomed"),
  ];
  await daemon.call("send", { sessionKey: MAIN, message: `${script.join("\n")}\n!then\n!slow 3600000` });
  const page = await visit(t, daemon, { at: AT_MAIN });
  await page.getByRole("tab", { name: "Children" }).click();
  const child = (label: string) => page.locator(".children > li").filter({ hasText: label });
  await child("doomed").getByText("in flight").waitFor();
  const { children } = await daemon.call("children", { sessionKey: MAIN });
  const doomed = children.find(({ title }) => title === "doomed");
  await daemon.call("kill", { sessionKey: doomed?.sessionKey ?? "" });
  await child("doomed").getByText("in flight").waitFor({ state: "detached" });
  await child("quick").getByText("in flight").waitFor({ state: "detached" });
  assert.equal(await child("slow").getByText("in flight").count(), 1);
  const after = await daemon.call("children", { sessionKey: MAIN });
  assert.ok(
    after.children.every(({ inFlight }) => inFlight),
    "all are waited for: nobody has read of them",
  );
});
