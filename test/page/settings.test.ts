import assert from "node:assert/strict";
import { test } from "node:test";
import { Daemon } from "../gateway/daemon.ts";
import { seriousIn } from "./axe.ts";
import { launch, visit, visitIn } from "./browser.ts";

const KEY = "plainlookingkey0123456789";
const HOOK = "a-secret-of-a-webhook-1234";

test("a token is handed over as a link, once; it may what was chosen, and ends when it is revoked", async (t) => {
  const daemon = await Daemon.start(t);
  const browser = await launch(t);
  const page = await visitIn(browser, t, daemon, { at: "#/settings?part=tokens" });
  await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
  const open = page.getByRole("button", { name: "New token…" });
  await open.click();
  const making = page.getByRole("dialog", { name: "New token" });
  const name = making.getByLabel("Name");
  assert.equal(await name.inputValue(), "phone");
  await name.press("X"); // What is suggested is selected: whoever types begins anew.
  assert.equal(await name.inputValue(), "X");
  await name.press("Enter");
  await making.getByRole("alert").filter({ hasText: "letters a to z" }).waitFor();
  assert.equal(await name.getAttribute("aria-invalid"), "true");
  assert.deepEqual(await seriousIn(page), []);
  await name.fill("owner");
  await name.press("Enter");
  await making.getByRole("alert").filter({ hasText: "The owner's token has this name" }).waitFor();
  await name.fill("laptop");
  await making.getByRole("radio", { name: /^read look at everything, change nothing$/ }).check();
  await making.getByRole("button", { name: "Make it" }).click();

  const once = page.getByRole("dialog", { name: "The token laptop" });
  await once.getByText("It is shown this once.").waitFor();
  await once.getByText("It may read: look at everything, change nothing.").waitFor();
  assert.deepEqual(await seriousIn(page), []);
  const token = await once.getByLabel("Token", { exact: true }).inputValue();
  const link = await once.getByLabel("Link", { exact: true }).inputValue();
  assert.equal(link, `${daemon.url}/#t=${token}`);
  const asks = async (): Promise<number> => (await daemon.fetch("/v1/sessions", { token })).status;
  assert.equal(await asks(), 200);
  await page.mouse.click(5, 5); // beside it
  await page.keyboard.press("Escape");
  await once.getByText("It is not copied yet").waitFor();
  for (const [what, text] of [
    ["link", link],
    ["token", token],
  ]) {
    await once.getByRole("button", { name: `Copy the ${what}` }).click();
    await once.getByRole("button", { name: `Copied the ${what}` }).waitFor();
    assert.equal(await page.evaluate("navigator.clipboard.readText()"), text);
  }
  await page.keyboard.press("Escape");
  await once.waitFor({ state: "detached" });
  await open.and(page.locator(":focus")).waitFor();
  assert.ok(!(await page.content()).includes(token), "nobody tells it again");

  const elsewhere = await visitIn(browser, t, { url: daemon.url, token });
  await elsewhere.getByText("The token laptop may look at everything").waitFor();
  await page
    .getByRole("row", { name: /laptop/ })
    .getByRole("button", { name: "Revoke laptop…" })
    .click();
  const question = page.getByRole("dialog", { name: "Revoke laptop?" });
  await question.getByText("What it has opened ends now").waitFor();
  assert.equal(await question.getByText("This page").count(), 0);
  assert.equal(await asks(), 200, "asked is not done");
  await question.getByRole("button", { name: "Revoke" }).click();
  await page.getByRole("row", { name: /laptop/ }).waitFor({ state: "detached" });
  assert.equal(await asks(), 401);
  await elsewhere.getByRole("alert").filter({ hasText: "It may have been revoked" }).waitFor();
});

test("a name that another took meanwhile is said at the field; who revokes the token of the page is told that it ends", async (t) => {
  const daemon = await Daemon.start(t);
  const { token } = await daemon.call("createToken", { name: "bob", scope: "admin" });
  const page = await visit(t, { url: daemon.url, token }, { at: "#/settings?part=tokens" });
  await page.getByRole("row", { name: "bob this page admin" }).waitFor();
  await page.getByText("Signed in with the token bob, which may admin").waitFor();
  await page.getByRole("button", { name: "New token…" }).click();
  await daemon.call("createToken", { name: "phone", scope: "read" });
  const making = page.getByRole("dialog", { name: "New token" });
  await making.getByRole("button", { name: "Make it" }).click();
  await making.getByRole("alert").filter({ hasText: 'there is a token "phone"' }).waitFor();
  const name = making.getByLabel("Name").and(page.locator(":focus"));
  await name.fill("desk");
  await name.press("Enter");
  // It is shown once: a button that is pressed by chance does not take it away.
  const once = page.getByRole("dialog", { name: "The token desk" });
  await once.getByRole("button", { name: "Done" }).click();
  await once.getByText("It is not copied yet. Close once more").waitFor();
  await once.getByRole("button", { name: "Done" }).click();
  await once.waitFor({ state: "detached" });
  await page.getByRole("row", { name: /^phone read/ }).waitFor();

  await page.getByRole("button", { name: "Revoke bob…" }).click();
  const question = page.getByRole("dialog", { name: "Revoke bob?" });
  await question.getByText("This page is signed in with it").waitFor();
  await question.getByRole("button", { name: "Revoke, and end this page" }).click();
  await page.getByRole("alert").filter({ hasText: "it may have been revoked" }).waitFor();
  await page.getByLabel("Token").and(page.locator(":focus")).waitFor();
});

test("a token that nobody was told of, because the answer did not come, is not taken for one that was not made", async (t) => {
  const daemon = await Daemon.start(t);
  const page = await visit(t, daemon, { at: "#/settings?part=tokens" });
  await page.getByRole("button", { name: "New token…" }).click();
  await page.route("**/rpc", async (route) => {
    if (!(route.request().postData() ?? "").includes('"createToken"')) return await route.continue();
    await route.fetch(); // It is made; and the answer stays away.
  });
  const making = page.getByRole("dialog", { name: "New token" });
  const sent = page.waitForRequest((request) => (request.postData() ?? "").includes('"createToken"'));
  await making.getByRole("button", { name: "Make it" }).click();
  await sent;
  await making.getByRole("button", { name: "Cancel" }).click();
  await page.getByRole("status").filter({ hasText: "Whether phone was made is not known" }).waitFor();
  await page.getByRole("row", { name: /^phone operate/ }).waitFor();
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
  await good
    .getByRole("status")
    .filter({ hasText: /Answers in .*Rehearsal \(a scripted/ })
    .waitFor();
  const bad = page.getByRole("row", { name: /nowhere\/ghost/ });
  await bad.getByRole("button", { name: "Test nowhere/ghost" }).click();
  await bad
    .getByRole("status")
    .filter({ hasText: /No answer: .*is the provider's address right\?/ })
    .waitFor();
  assert.match(await content(), /no key: set OPENAI_API_KEY/);
  await page.getByRole("row", { name: /rehearsal\/large 1.0M \$3.00 \$3.00 \$15.00/ }).waitFor();
  await page.getByRole("row", { name: /rehearsal\/small 16.0k free/ }).waitFor();
  await page.setViewportSize({ width: 390, height: 800 });
  await page.getByRole("row", { name: /rehearsal\/large 1.0M · \$3.00 in, \$15.00 out/ }).waitFor(); // A phone has no room for columns.
  await page.setViewportSize({ width: 1280, height: 800 });
  await page.getByText("no key: set OPENAI_API_KEY").click();
  const keyless = page.getByRole("table", { name: "Models of openai" }).getByRole("button").first();
  assert.ok(await keyless.isDisabled());
  assert.equal(await keyless.getAttribute("title"), "no key: set OPENAI_API_KEY");

  await page.getByRole("link", { name: "Configuration" }).click();
  await page.getByText("agents.main.model", { exact: true }).waitFor();
  assert.match(await content(), /\[secret\]/);
  await page.getByLabel("Filter the configuration").fill("alias fast");
  await page.getByText("agents.main.model", { exact: true }).waitFor({ state: "detached" });
  assert.equal(await page.getByRole("region", { name: "models" }).getByRole("definition").count(), 1);
  await page.getByText(/^1 of \d+ values$/).waitFor();
  await page.getByLabel("Filter the configuration").fill("no such thing");
  await page.getByText("Nothing is called no such thing").waitFor();

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
