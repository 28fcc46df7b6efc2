import assert from "node:assert/strict";
import { test } from "node:test";
import { Daemon } from "../gateway/daemon.ts";
import { seriousIn } from "./axe.ts";
import { visit } from "./browser.ts";

test("the token of the link leaves the address bar and its history at once, and is kept over a reload", async (t) => {
  const daemon = await Daemon.start(t);
  const page = await visit(t, daemon, { at: "#/overview" });
  await page.getByRole("navigation", { name: "Views" }).waitFor();
  assert.equal(page.url(), `${daemon.url}/#/overview`);
  assert.equal(await page.evaluate("history.length"), 2, "about:blank, and the page");
  await page.reload();
  await page.getByRole("navigation", { name: "Views" }).waitFor();
});

test("without a token, and with one that is not taken, the page asks for one and says why", async (t) => {
  const daemon = await Daemon.start(t);
  const page = await visit(t, daemon, { isSignedIn: false, at: "#/upkeep" });
  const field = page.getByLabel("Token");
  const focused = field.and(page.locator(":focus"));
  await focused.waitFor();
  await page.keyboard.press("Enter");
  await page.getByRole("alert").filter({ hasText: "Nothing is typed yet." }).waitFor();
  await field.fill("wrong");
  await page.keyboard.press("Enter");
  await page
    .getByRole("alert")
    .filter({ hasText: "This token is not known here; it may have been revoked." })
    .waitFor();
  assert.deepEqual(await seriousIn(page), []);
  await focused.waitFor(); // Whoever was refused goes on there.
  assert.equal(await field.getAttribute("aria-invalid"), "true");
  await page.goto(`${daemon.url}/#t=of-last-year&/upkeep`);
  await page.getByRole("alert").filter({ hasText: "This token is not known here" }).waitFor();
  await field.fill(` ${daemon.url}/#t=${daemon.token}&/overview `); // the whole link
  await page.keyboard.press("Enter");
  await page.getByRole("link", { name: "Upkeep" }).and(page.locator("[aria-current=page]")).waitFor();
});

test("a token that is revoked while the page is open ends what it shows", async (t) => {
  const daemon = await Daemon.start(t);
  const { token } = await daemon.call("createToken", { name: "guest", scope: "read" });
  const page = await visit(t, daemon, { isSignedIn: false });
  await page.getByLabel("Token").fill(token);
  await page.keyboard.press("Enter");
  await page.getByRole("navigation", { name: "Views" }).waitFor();
  await daemon.call("revokeToken", { name: "guest" });
  await page.getByRole("alert").filter({ hasText: "revoked" }).waitFor();
});

/** What a tab keeps of the page, in whichever storage. */
const KEPT = `[...Object.keys(localStorage), ...Object.keys(sessionStorage)].sort().join()`;

test("a link that is opened where the page is already signs in, in all tabs; an old one ends nobody's page", async (t) => {
  const daemon = await Daemon.start(t);
  const { token } = await daemon.call("createToken", { name: "bob", scope: "operate" });
  const page = await visit(t, daemon, { at: "#/settings?part=tokens" });
  await page.getByRole("button", { name: "New token…" }).waitFor();
  const other = await page.context().newPage();
  await other.goto(`${daemon.url}/#/settings?part=tokens`);
  await other.getByRole("button", { name: "New token…" }).waitFor();

  await page.evaluate(`location.hash = "#t=${token}&/upkeep"`);
  await page.getByRole("link", { name: "Upkeep" }).and(page.locator("[aria-current=page]")).waitFor();
  assert.equal(page.url(), `${daemon.url}/#/upkeep`);
  await page.waitForFunction(`localStorage.getItem("sessiond.token") === ${JSON.stringify(token)}`);
  await other.evaluate(`location.hash = "#/overview"`);
  const asking = other.waitForRequest((request) => request.headers()["authorization"] === `Bearer ${token}`);
  await other.evaluate(`location.hash = "#/settings"`);
  await asking;
  await page.goBack();
  assert.equal(page.url(), `${daemon.url}/#/settings?part=tokens`);

  const refused = page.waitForResponse((response) => response.status() === 401);
  await page.evaluate(`location.hash = "#t=of-last-year&/upkeep"`);
  await refused;
  await page.getByRole("link", { name: "Upkeep" }).and(page.locator("[aria-current=page]")).waitFor();
  await page.getByText("The daemon is away").waitFor({ state: "detached" });
  assert.equal(await page.evaluate(`localStorage.getItem("sessiond.token")`), token);
  for (const each of [page, other]) assert.equal(await each.getByLabel("Token").count(), 0);
});

test("who signs out is asked about what was not sent; then every tab forgets, and who signs in signs in everywhere", async (t) => {
  const daemon = await Daemon.start(t);
  const page = await visit(t, daemon, { at: "#/session/agent%3Amain%3Amain" });
  await page.route("**/rpc", async (route) => {
    if ((route.request().postData() ?? "").includes('"method":"send"')) return await route.abort();
    return await route.continue();
  });
  const field = page.getByLabel("Message", { exact: true });
  await field.fill("secret words");
  await field.press("Enter");
  await page.getByText("It is tried again by itself").waitFor();
  await field.fill("a secret draft");
  const other = await page.context().newPage();
  await other.goto(`${daemon.url}/#/session/agent%3Amain%3Amain`);
  await other.getByLabel("Message", { exact: true }).fill("another draft");
  await page.evaluate(`localStorage.setItem("sessiond.theme", "dark")`);

  await page.evaluate(`location.hash = "#/settings?part=tokens"`);
  await page.getByRole("button", { name: "Sign out" }).click();
  const question = page.getByRole("dialog", { name: "Sign out?" });
  await question.getByText("1 message not sent yet and 1 draft").waitFor();
  await page.keyboard.press("Escape");
  await question.waitFor({ state: "detached" });
  assert.match(String(await page.evaluate(KEPT)), /sessiond\.outbox.*sessiond\.token/);
  await page.getByRole("button", { name: "Sign out" }).click();
  const loaded = Promise.all([page, other].map((each) => each.waitForEvent("load")));
  await question.getByRole("button", { name: "Sign out" }).click();
  await loaded;
  for (const each of [page, other]) {
    await each.getByLabel("Token").waitFor();
    assert.equal(await each.evaluate(KEPT), "sessiond.theme");
  }

  await other.getByLabel("Token").fill(daemon.token);
  await other.keyboard.press("Enter");
  for (const each of [page, other]) await each.getByRole("navigation", { name: "Views" }).waitFor();
  await page.evaluate(`location.hash = "#/session/agent%3Amain%3Amain"`);
  await field.waitFor();
  assert.equal(await field.inputValue(), "");
  assert.equal(await page.getByText("secret words").count(), 0);
});
