import assert from "node:assert/strict";
import { test } from "node:test";
import { Daemon } from "../gateway/daemon.ts";
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
  await page.getByLabel("Token").fill("wrong");
  await page.keyboard.press("Enter");
  await page.getByRole("alert").filter({ hasText: "not known here" }).waitFor();
  await page.getByLabel("Token").fill(daemon.token);
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
