// A page whose token may only look: it shows everything, says once that it may no more, and offers nothing that would be refused.

import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import type { Page } from "playwright-core";
import { Daemon } from "../gateway/daemon.ts";
import { seriousIn } from "./axe.ts";
import { launch, visitIn } from "./browser.ts";
import { MAIN, play, STAGE_CONFIG } from "./stage.ts";

const SESSION = `#/session/${encodeURIComponent(MAIN)}`;

/** A view, and what is waited for before it is looked at. */
const VIEWS = [
  ["#/processes", "pricing of Initech"],
  [SESSION, "pricing of Initech"],
  ["#/overview", "research:main"],
  ["#/schedule", "morning"],
  ["#/search?text=invoice", "invoice"],
  ["#/memory/main?path=MEMORY.md", "What to remember"],
  ["#/memory/main?path=memory/none.md", "There is no such note"],
  ["#/upkeep", "direct:grace"],
  ["#/settings", "rehearsal/default"],
  ["#/settings?part=tokens", "This browser"],
  ["#/settings?part=config", "needs the scope admin"],
  ["#/settings?part=page", "Colours"],
] as const;

/** What only looks, of whichever view: by the beginning of what it is called. */
const LOOKS =
  /^(?:Look again|Show|Hide|Fold|Unfold|Open|Close|Copy|Copied|Export|As JSONL|As Markdown|Newest|Sign out|Only|Trace|Link|\d+[hd]$|Status|Context|Children)/;

/** Of buttons, but for those that have a menu. */
const OFFERED = `[...document.querySelectorAll("main button:not([aria-haspopup=menu])")]
  .filter((each) => each.checkVisibility() && !each.disabled && each.ariaDisabled !== "true")
  .map((each) => each.ariaLabel ?? each.textContent.trim())`;

/** What of a view's menus would change something; and what is not offered without a word. */
async function wrongInMenus(page: Page): Promise<readonly string[]> {
  const wrong: string[] = [];
  for (const menu of await page.locator("main [aria-haspopup=menu]:visible").all()) {
    await menu.click();
    const items = await page.getByRole("menuitem").all();
    for (const item of items) {
      const [name, why] = [(await item.innerText()).trim(), (await item.getAttribute("title")) ?? ""];
      if ((await item.isEnabled()) ? !LOOKS.test(name) : why === "")
        wrong.push(`a menu offers ${name} (${why})`);
    }
    await page.keyboard.press("Escape");
  }
  return wrong;
}

/** Everything that the daemon refuses to a page as not allowed. */
function refusalsOf(page: Page): string[] {
  const refused: string[] = [];
  page.on("response", (response) => {
    void response
      .text()
      .then((text) => {
        if (text.includes('"forbidden"')) refused.push(response.request().postData() ?? response.url());
      })
      .catch(() => undefined); // It was left before it was read.
  });
  return refused;
}

async function pageWith(t: TestContext, daemon: Daemon, scope: "read" | "operate"): Promise<Page> {
  const { token } = await daemon.call("createToken", { name: "guest", scope });
  return await visitIn(await launch(t), t, { url: daemon.url, token });
}

test("a token that may only look goes through every view: all is shown, and nothing is offered that would be refused", async (t) => {
  const daemon = await Daemon.start(t, { config: STAGE_CONFIG });
  await play(daemon);
  const page = await pageWith(t, daemon, "read");
  const refused = refusalsOf(page);
  const { children } = await daemon.call("children", { sessionKey: MAIN });
  const ended = children.find(({ state }) => state === "ended")?.sessionKey ?? "";
  const wrong: string[] = [];
  await page
    .getByRole("status")
    .filter({ hasText: "Read only. The token guest may look at everything" })
    .waitFor();
  for (const [at, waitFor] of [...VIEWS, [`#/session/${encodeURIComponent(ended)}`, "has ended"] as const]) {
    await page.evaluate(`location.hash = ${JSON.stringify(at)}`);
    await page.locator("main").getByText(waitFor).first().waitFor();
    const names = (await page.evaluate(OFFERED)) as string[];
    const offered = names.filter((each) => !LOOKS.test(each));
    for (const each of [...offered, ...(await seriousIn(page)), ...(await wrongInMenus(page))])
      wrong.push(`${at}: ${each}`);
  }
  assert.deepEqual([wrong, refused], [[], []]);
});

test("what cannot be done says why, to a pointer, a screen reader and a key; where one would write stands that nothing can be sent", async (t) => {
  const daemon = await Daemon.start(t, { config: STAGE_CONFIG });
  await play(daemon);
  const page = await pageWith(t, daemon, "read");
  const refused = refusalsOf(page);
  const why = "Read only: the token guest may look";
  const go = (at: string): Promise<unknown> => page.evaluate(`location.hash = ${JSON.stringify(at)}`);
  for (const [at, name] of [
    ["#/memory/main?path=MEMORY.md", "New note…"],
    ["#/memory/main?path=MEMORY.md", "Edit"],
    ["#/memory/main?path=memory/none.md", "Write it"],
    ["#/upkeep", "Apply"],
    ["#/upkeep", "Restore direct:grace"],
    ["#/settings", "Test rehearsal/default"],
    ["#/settings?part=tokens", "New token…"],
  ] as const) {
    await go(at);
    const button = page.getByRole("button", { name, exact: true, disabled: true });
    await button.waitFor();
    assert.equal(await button.getAttribute("title"), why, name);
    const told = page.locator(".toast").filter({ hasText: `${why}.` });
    await button.focus(); // The keyboard comes to it, and learns why.
    await page.keyboard.press("Enter");
    await told.getByRole("button", { name: "Dismiss" }).click();
    await told.waitFor({ state: "detached" });
    await button.click({ force: true }); // So does a finger, which sees no title.
    await told.getByRole("button", { name: "Dismiss" }).click();
    await told.waitFor({ state: "detached" });
    assert.equal(await page.getByRole("dialog").count(), 0, name);
  }
  await page.getByText("To make tokens, and to see which there are, a token needs the scope admin").waitFor();
  await page.getByText("npx sessiond token create phone --scope operate").waitFor();

  await go("#/memory/main?path=MEMORY.md");
  await page.getByText("What to remember").waitFor();
  for (const key of ["n", "e"]) {
    await page.keyboard.press(key);
    await page.locator(".toasts").getByText(`${why}.`).waitFor();
    assert.equal(
      await page
        .getByRole("dialog")
        .or(page.getByRole("textbox", { name: /^Text of/ }))
        .count(),
      0,
    );
  }

  await page.locator(".toast").getByRole("button", { name: "Dismiss" }).click();
  await go(SESSION);
  await page.getByText("You can read along. Nothing can be sent from here").waitFor();
  await page.getByRole("button", { name: "What to do with this session" }).click();
  await page.getByRole("menuitem", { name: "Pin" }).click({ force: true });
  await page
    .locator(".toast")
    .filter({ hasText: `${why}.` })
    .waitFor();
  await page.getByRole("menu").waitFor({ state: "detached" });
  assert.equal(await page.getByLabel("Message", { exact: true }).count(), 0);
  await page.keyboard.press("Control+.");
  await page.keyboard.press("f");
  for (const tab of ["Context", "Children", "Trace", "Status"]) {
    await page.getByRole("tab", { name: tab }).click();
    await page.getByRole("tabpanel", { name: tab }).waitFor();
    const names = (await page.evaluate(OFFERED)) as string[];
    assert.deepEqual(
      names.filter((each) => !LOOKS.test(each)),
      [],
      tab,
    );
  }
  assert.equal(await page.getByRole("dialog").count(), 0);
  await go("#/session/agent%3Amain%3Adirect%3Anobody");
  await page.getByText("There is no such session").waitFor();
  await page.getByText("You can read along").waitFor();
  assert.equal((await daemon.call("status", { sessionKey: MAIN })).state, "waiting", "nothing was stopped");
  assert.deepEqual(refused, []);
});

/** In the page: whether a field for messages was there at any moment. */
const WATCH = `new MutationObserver(() => {
  if (document.querySelector(".composer textarea") !== null) window.wasOffered = true;
}).observe(document, { childList: true, subtree: true });`;

test("while nobody knows what a token may, nothing is forbidden; what is known is known from the first moment of the next load on", async (t) => {
  const daemon = await Daemon.start(t);
  await daemon.call("ask", { sessionKey: MAIN, message: "hello" });
  const { token } = await daemon.call("createToken", { name: "guest", scope: "read" });
  const page = await visitIn(await launch(t), t, daemon, { isSignedIn: false, at: "#/overview" });
  const held: (() => void)[] = [];
  let isHeld = true;
  await page.route("**/rpc", async (route) => {
    if (isHeld && (route.request().postData() ?? "").includes('"whoami"'))
      await new Promise<void>((resolve) => held.push(resolve));
    await route.continue().catch(() => undefined); // The page may have been loaded anew meanwhile.
  });
  await page.goto(`${daemon.url}/#t=${token}&/session/${encodeURIComponent(MAIN)}`);
  await page.getByLabel("Message", { exact: true }).waitFor();
  assert.equal(await page.getByText("Read only").count(), 0);
  await page.evaluate(`location.hash = "#/settings?part=tokens"`);
  await page.getByText("a token needs the scope admin").waitFor();
  assert.equal(await page.getByRole("alert").count(), 0, "a scope is no trouble");
  await page.evaluate(`location.hash = ${JSON.stringify(SESSION)}`);
  await page.getByLabel("Message", { exact: true }).waitFor();
  isHeld = false;
  for (const release of held.splice(0)) release();
  await page.getByText("You can read along").waitFor();

  isHeld = true;
  await page.addInitScript(WATCH);
  await page.reload();
  await page.getByText("You can read along").waitFor();
  await page.getByText("Read only.").waitFor();
  assert.equal(await page.evaluate("window.wasOffered"), undefined, "it does not flicker");
  await page.evaluate(`location.hash = "#t=${daemon.token}&/session/${encodeURIComponent(MAIN)}"`);
  await page.getByLabel("Message", { exact: true }).waitFor(); // Another token: what the last one may is not said of it.
  assert.equal(await page.getByText("Read only").count(), 0);
  isHeld = false;
  for (const release of held.splice(0)) release();
});

test("a token that may operate works, and what needs admin says so", async (t) => {
  const daemon = await Daemon.start(t, { config: STAGE_CONFIG });
  await play(daemon);
  const page = await pageWith(t, daemon, "operate");
  const refused = refusalsOf(page);
  await page.evaluate(`location.hash = ${JSON.stringify(SESSION)}`);
  await page.getByLabel("Message", { exact: true }).waitFor();
  await page.evaluate(`location.hash = "#/upkeep"`);
  const apply = page.getByRole("button", { name: "Apply", disabled: true });
  await apply.waitFor();
  assert.equal(await apply.getAttribute("title"), "It needs a token with the scope admin");
  await page.getByRole("button", { name: "Restore direct:grace", disabled: false }).click();
  await page.getByRole("status").filter({ hasText: "is back" }).waitFor();
  for (const [part, words] of [
    [
      "tokens",
      "To make tokens, and to see which there are, a token needs the scope admin; this page's has operate.",
    ],
    ["config", "To see the configuration a token needs the scope admin; this page's has operate."],
  ] as const) {
    await page.evaluate(`location.hash = "#/settings?part=${part}"`);
    await page.getByText(words).waitFor();
    await page.getByText("npx sessiond token create phone --scope admin").waitFor();
  }
  assert.equal(await page.getByRole("alert").count(), 0);
  assert.equal(await page.getByText("Read only").count(), 0);
  assert.deepEqual(refused, []);
});
