import assert from "node:assert/strict";
import { test } from "node:test";
import { Daemon } from "../gateway/daemon.ts";
import { launch, visit, visitIn } from "./browser.ts";

const KEY = "plainlookingkey0123456789";
const HOOK = "a-secret-of-a-webhook-1234";

test("a token is made, shown once, works, and ends when it is revoked", async (t) => {
  const daemon = await Daemon.start(t);
  const page = await visit(t, daemon, { at: "#/settings?part=tokens" });
  await page.getByRole("button", { name: "New token…" }).click();
  const making = page.getByRole("dialog", { name: "New token" });
  await making.getByLabel("Name").fill("Not A Name");
  await making.getByRole("button", { name: "Make it" }).click();
  await making.getByRole("alert").filter({ hasText: "letters a to z" }).waitFor();
  await making.getByLabel("Name").fill("laptop");
  await making.getByLabel("What it may").selectOption("read");
  await making.getByRole("button", { name: "Make it" }).click();

  const once = page.getByRole("dialog", { name: "The token laptop" });
  await once.getByText("It is shown this once.").waitFor();
  const token = await once.getByLabel("Text of the token").inputValue();
  const asks = async (): Promise<number> => (await daemon.fetch("/v1/sessions", { token })).status;
  assert.equal(await asks(), 200);
  await page.mouse.click(5, 5); // beside it
  await once.getByRole("button", { name: "Copy" }).click();
  await once.getByRole("button", { name: "Done" }).click();
  await once.waitFor({ state: "detached" });
  assert.ok(!(await page.content()).includes(token), "nobody tells it again");

  await page
    .getByRole("row", { name: /laptop/ })
    .getByRole("button", { name: "Revoke laptop" })
    .click();
  const question = page.getByRole("dialog", { name: "Revoke laptop?" });
  await question.getByText("what it has opened ends").waitFor();
  assert.equal(await asks(), 200, "asked is not done");
  await question.getByRole("button", { name: "Revoke" }).click();
  await page.getByRole("row", { name: /laptop/ }).waitFor({ state: "detached" });
  assert.equal(await asks(), 401);

  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByLabel("Token").waitFor();
  assert.equal(await page.evaluate(`localStorage.getItem("sessiond.token")`), null);
});

test("models are tried, the configuration is shown without a secret, and the page says what it is", async (t) => {
  const daemon = await Daemon.start(t, {
    config: {
      models: {
        aliases: { fast: "rehearsal/small" },
        providers: {
          nowhere: {
            baseUrl: "http://127.0.0.1:1/v1",
            apiKey: KEY,
            models: { ghost: { windowTokens: 32_000 } },
          },
        },
      },
      webhooks: { shop: { secret: HOOK } },
    },
  });
  const page = await visit(t, daemon, { at: "#/settings" });
  const content = async (): Promise<string> => {
    const all = await page.content();
    for (const secret of [KEY, HOOK, daemon.token]) assert.ok(!all.includes(secret), "a secret is shown");
    return all;
  };
  const good = page.getByRole("row", { name: /rehearsal\/default/ });
  await good.getByRole("button", { name: "Test rehearsal/default" }).click();
  await good.getByRole("status").filter({ hasText: "Rehearsal (a scripted" }).waitFor();
  assert.equal(await good.locator(".good").count(), 1);
  const bad = page.getByRole("row", { name: /nowhere\/ghost/ });
  await bad.getByRole("button", { name: "Test nowhere/ghost" }).click();
  await bad.getByRole("status").filter({ hasText: "is the provider's address right?" }).waitFor();
  assert.match(await content(), /no key: set OPENAI_API_KEY/);

  await page.getByRole("link", { name: "Configuration" }).click();
  await page.getByText("agents.main.model", { exact: true }).waitFor();
  assert.match(await content(), /\[secret\]/);
  await page.getByLabel("Filter the configuration").fill("alias fast");
  await page.getByText("agents.main.model", { exact: true }).waitFor({ state: "detached" });
  assert.equal(await page.getByRole("region", { name: "models" }).getByRole("definition").count(), 1);

  await page.getByRole("link", { name: "This page" }).click();
  await page.getByText(/^sessiond \d+\.\d+\.\d+/).waitFor();
  await page.getByRole("button", { name: "Show the keys" }).click();
  await page.getByRole("dialog", { name: "Keys" }).getByText("Processes").waitFor();
  await page.keyboard.press("Escape");
  await page.getByRole("radio", { name: "Dark" }).check();
  assert.equal(await page.evaluate("document.documentElement.dataset.theme"), "dark");
  await page.reload();
  assert.equal(await page.getByRole("radio", { name: "Dark" }).isChecked(), true);
});

test("with a token that may only look, what needs another says so calmly", async (t) => {
  const daemon = await Daemon.start(t);
  const { token } = await daemon.call("createToken", { name: "guest", scope: "read" });
  const page = await visitIn(
    await launch(t),
    t,
    { url: daemon.url, token },
    { at: "#/settings?part=tokens" },
  );
  await page.getByText("Tokens need an admin token").waitFor();
  await page.getByRole("button", { name: "Sign out" }).waitFor();
  await page.getByRole("link", { name: "Configuration" }).click();
  await page.getByText("Configuration values need an admin token").waitFor();
  assert.equal(await page.getByRole("alert").count(), 0);
  await page.getByRole("link", { name: "Models" }).click();
  const model = page.getByRole("row", { name: /rehearsal\/default/ });
  await model.getByRole("button", { name: "Test rehearsal/default" }).click();
  await model.getByRole("status").filter({ hasText: "operate" }).waitFor();
});
