import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { RESTORED_BELOW_MAX } from "../../src/calls/limits.ts";
import { parseKey } from "../../src/routing/key.ts";
import type { Change } from "../../src/store/change.ts";
import { scratch } from "../fixtures/home.ts";
import { filled, large, opening, OVERFULL, overfull } from "../fixtures/upkeep.ts";
import { Daemon } from "../gateway/daemon.ts";
import { launch, visit, visitIn } from "./browser.ts";

test("a plan is shown and applied without a question; archives come back, are swapped, and erased by who agrees", async (t) => {
  const daemon = await Daemon.start(t, { config: { upkeep: { sessionsMax: 3, staleDays: 0 } } });
  const page = await visit(t, daemon, { at: "#/upkeep" });
  await page.getByText("Nothing is to be done").waitFor();
  await page.getByText("No archives").waitFor();
  const chats = ["ann", "bob", "cyd", "dan"].map((peer) => `agent:main:direct:${peer}`);
  for (const sessionKey of chats) await daemon.call("ask", { sessionKey, message: "!say hello" });
  const { steps } = await daemon.call("upkeepPlan", {});
  await page.getByRole("button", { name: "Look again" }).click();
  await page.getByText("A run now would archive 2 sessions.").waitFor();
  await page.getByText("Mode warn").waitFor();
  const table = page.getByRole("table", { name: "Steps" });
  for (const { sessionKey } of steps) await table.locator(`a[title="${sessionKey}"]`).waitFor();
  await table.getByText("sessionsMax").first().waitFor();

  await page.getByRole("button", { name: "Apply" }).click();
  await page.getByRole("status").filter({ hasText: "Done: archived 2 sessions" }).waitFor();
  await page.getByText("Nothing is to be done").waitFor();
  assert.deepEqual((await daemon.call("upkeepPlan", {})).steps, []);

  const [first, second] = (await daemon.call("archives", {})).archives.map(({ sessionKey }) => sessionKey);
  const short = (key = ""): string => key.replace("agent:main:", "");
  await page.getByRole("button", { name: `Restore ${short(first)}` }).click();
  await page
    .getByRole("status")
    .filter({ hasText: `${short(first)} is back` })
    .waitFor();
  assert.equal((await daemon.call("status", { sessionKey: first ?? "" })).sessionKey, first);

  await daemon.call("ask", { sessionKey: second ?? "", message: "!say again" });
  await page.getByRole("button", { name: `Restore ${short(second)}` }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByText("becomes an archive in the same moment").waitFor();
  await dialog.getByRole("button", { name: "Restore, and archive that one" }).click();
  await page
    .getByRole("status")
    .filter({ hasText: `${short(second)} is back` })
    .waitFor();
  const [swapped, ...others] = (await daemon.call("archives", {})).archives;
  assert.deepEqual([swapped?.sessionKey, others], [second, []]);

  await page.getByRole("button", { name: `More for ${short(second)}` }).click();
  await page.getByRole("menuitem", { name: "Erase…" }).click();
  await dialog.getByText(second ?? "", { exact: true }).waitFor();
  await dialog.getByRole("button", { name: "Erase", exact: true }).click();
  await page.getByText("No archives").waitFor();
  assert.deepEqual((await daemon.call("archives", {})).archives, []);
});

test("a long plan is read to its end; who may not apply it is told so; what is erased for good is asked about", async (t) => {
  const home = join(scratch(t), "home");
  await filled(home, async (store, world) => {
    for (let n = 0; n < 600; n += 50)
      await store.commit(
        Array.from({ length: 50 }, (_, at) =>
          opening(parseKey(`agent:main:direct:p${n + at}`), world.newId()),
        ),
      );
    for (let n = 0; n < 3; n += 1) {
      const [key, transcript] = [parseKey(`agent:main:thread:old${n}`), world.newId()];
      await store.commit([
        opening(key, transcript),
        { do: "archive", key, expect: { transcript, lastSeq: 0 }, why: "asked" },
      ]);
    }
    await store.putBlob(Buffer.from("nobody names it"));
  });
  const daemon = await Daemon.start(t, { home, config: { upkeep: { staleDays: 1, archiveDays: 30 } } });
  const browser = await launch(t);
  const { token } = await daemon.call("createToken", { name: "guest", scope: "operate" });
  const guest = await visitIn(browser, t, { url: daemon.url, token }, { at: "#/upkeep" });
  const refused = guest.getByRole("button", { name: "Apply…", disabled: true });
  await refused.waitFor();
  assert.match((await refused.getAttribute("title")) ?? "", /scope admin/);

  const page = await visitIn(browser, t, daemon, { at: "#/upkeep", width: 390 });
  await page.getByText(/^A run now would archive 600 sessions, erase 3 archives for good/).waitFor();
  const table = page.getByRole("table", { name: "Steps" });
  await table.getByText("archive of thread:old0").waitFor();
  for (let more = true; more;) {
    await page.evaluate("document.querySelector('.steps .virtual').scrollTop = 1e9");
    more = (await table.getByText("no transcript names them").count()) === 0;
  }
  await table.getByText(/^1 blob/).waitFor();
  assert.equal(await page.evaluate("document.documentElement.scrollWidth <= innerWidth"), true);

  await page.getByRole("button", { name: "Apply…" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByText("The 3 archives that are erased cannot be brought back.").waitFor();
  await dialog.getByRole("button", { name: "Cancel" }).click();
  const { archives } = await daemon.call("archives", {});
  assert.equal(archives.length, 3);
  // What is shown is old by now: what is asked about is not.
  await daemon.call("restore", { id: archives[0]?.id ?? "" });
  await page.getByRole("button", { name: "Apply…" }).click();
  await dialog.getByText("The 2 archives that are erased cannot be brought back.").waitFor();
  await page.getByText(/^A run now would archive \d+ sessions, erase 2 archives for good/).waitFor();
  await dialog.getByRole("button", { name: "Erase 2 archives, and do the rest" }).click();
  await page.getByRole("link", { name: "Overview" }).click();
  await page.getByRole("link", { name: "Upkeep", exact: true }).last().click();
  await page
    .getByRole("status")
    .filter({ hasText: /Done: archived \d+ sessions, erased 2 archives for good/ })
    .waitFor();
  await page.getByText("Nothing is to be done").waitFor();
  assert.deepEqual((await daemon.call("upkeepPlan", {})).steps, []);

  await page.getByLabel("Find archives").fill("direct:p300");
  await page.getByRole("button", { name: "Restore direct:p300" }).waitFor();
  assert.equal(await page.getByRole("button", { name: /^Restore/ }).count(), 1);
  await page.getByLabel("Find archives").fill("agent:main:no such");
  await page.getByRole("alert").waitFor();
});

test("what was archived below a session comes back with it, if that is wanted, however much it is", async (t) => {
  const home = join(scratch(t), "home");
  const [top, child] = [parseKey("agent:main:thread:top"), parseKey("agent:main:subagent:below")];
  await filled(home, async (store, world) => {
    const [over, below] = [world.newId(), world.newId()];
    const lows = Array.from({ length: RESTORED_BELOW_MAX }, (_, n) => {
      return { ...opening(parseKey(`agent:main:subagent:low${n}`), world.newId()), parent: child };
    });
    await store.commit([
      opening(top, over),
      { ...opening(child, below), parent: top },
      ...lows,
      ...lows.map(({ key, transcript }): Change => {
        return { do: "archive", key, expect: { transcript, lastSeq: 0 }, why: "asked" };
      }),
      { do: "archive", key: child, expect: { transcript: below, lastSeq: 0 }, why: "asked" },
      { do: "archive", key: top, expect: { transcript: over, lastSeq: 0 }, why: "asked" },
    ]);
  });
  const daemon = await Daemon.start(t, { home });
  const page = await visit(t, daemon, { at: "#/upkeep", dark: true });
  await page.getByLabel("Find archives").fill(top);
  await page.getByRole("button", { name: "Restore thread:top" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByText("1 session that was born below it is archived too.").waitFor();
  await dialog.getByRole("button", { name: "Restore" }).click();
  const many = RESTORED_BELOW_MAX;
  const status = page.getByRole("status");
  await status.filter({ hasText: `${many} sessions came back, 1 to come` }).waitFor();
  await status.filter({ hasText: `thread:top is back, with ${many + 1} sessions below it` }).waitFor();
  assert.deepEqual((await daemon.call("archives", {})).archives, []);
  for (const sessionKey of [top, child])
    assert.equal((await daemon.call("status", { sessionKey })).sessionKey, sessionKey);
});

test("what comes to be due while the question stands is not erased: the plan is shown anew, and asked about", async (t) => {
  const home = join(scratch(t), "home");
  await overfull(home);
  const daemon = await Daemon.start(t, { home, config: { upkeep: OVERFULL } });
  const sessionKey = "agent:main:direct:ann";
  const page = await visit(t, daemon, { at: "#/upkeep" });
  await page.getByRole("button", { name: "Apply…" }).click();
  const dialog = page.getByRole("dialog");
  const { purge } = (await daemon.call("upkeepPlan", {})).totals;
  await dialog.getByText(`The ${purge} archives that are erased cannot be brought back.`).waitFor();
  for (const message of large()) await daemon.call("ask", { sessionKey, message });
  const more = (await daemon.call("upkeepPlan", {})).totals.purge;
  assert.ok(more > purge);
  await dialog.getByRole("button", { name: /^Erase/ }).click();
  const told = page.getByRole("alert").filter({ hasText: "the plan has changed since" });
  await told.waitFor();
  await page.getByText(new RegExp(`^A run now would .*erase ${more} archives for good`)).waitFor();
  assert.equal((await daemon.call("archives", {})).archives.length, 5);

  await told.getByRole("button").click();
  await dialog.getByText(`The ${more} archives that are erased cannot be brought back.`).waitFor();
  await dialog.getByRole("button", { name: /^Erase/ }).click();
  await page
    .getByRole("status")
    .filter({ hasText: new RegExp(`erased ${more} archives for good`) })
    .waitFor();
});
