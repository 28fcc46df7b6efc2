import assert from "node:assert/strict";
import { test } from "node:test";
import { Daemon } from "../gateway/daemon.ts";
import { launch, visit, visitIn } from "./browser.ts";

test("a job is added, run, edited, disabled and removed by the page", async (t) => {
  const daemon = await Daemon.start(t);
  const page = await visit(t, daemon, { at: "#/schedule" });
  await page.getByText("No jobs yet").waitFor();
  await page.getByRole("button", { name: "Begin with an example…" }).click();
  const dialog = page.getByRole("dialog");
  assert.equal(await dialog.getByLabel(/^Name/).inputValue(), "morning");
  await dialog.getByLabel("When").fill("61 9 * * *");
  await dialog.getByLabel("What is to be done").fill("!say hello from the job");
  await dialog.getByRole("button", { name: "Add" }).click();
  const refused = dialog.getByRole("alert");
  await refused.waitFor();
  const { error } = await daemon.rpc("addJob", { cron: "61 9 * * *", message: "x" });
  assert.match((await refused.textContent()) ?? "", new RegExp(RegExp.escape(error?.message ?? "?")));
  await dialog.getByLabel("When").fill("soon");
  await dialog.getByRole("button", { name: "Add" }).click();
  await refused.filter({ hasText: "says no time" }).waitFor();
  assert.deepEqual((await daemon.call("jobs", {})).jobs, []);
  await dialog.getByLabel("When").fill("0 9 * * 1-5");
  await dialog.getByRole("button", { name: "Add" }).click();
  const line = page.getByRole("row").filter({ hasText: "morning" });
  await line.getByText("weekdays at 09:00").waitFor();
  const [job] = (await daemon.call("jobs", {})).jobs;
  assert.deepEqual([job?.name, job?.target, job?.next === null], ["morning", "fresh", false]);
  await page.getByRole("button", { name: "7d" }).click();
  await page.getByRole("img", { name: /^due \w+ \d+ \w+/ }).waitFor();

  await line.getByRole("link", { name: "morning" }).click();
  await page.getByRole("heading", { name: "morning" }).waitFor();
  assert.equal(page.url(), `${daemon.url}/#/schedule/${job?.id}`);
  await page.getByText("None yet.").waitFor();
  await page.getByRole("button", { name: "Run now" }).click();
  const run = page.getByRole("row").filter({ hasText: "hello from the job" });
  await run.getByText("done").waitFor();
  const { runs } = await daemon.call("jobRuns", { job: job?.id ?? "" });
  assert.deepEqual([runs.length, runs[0]?.outcome], [1, "done"]);
  const href = await run.getByRole("link").getAttribute("href");
  assert.equal(href, `#/session/${encodeURIComponent(runs[0]?.sessionKey ?? "")}`);

  await page.getByRole("button", { name: "Edit…" }).click();
  await dialog.getByLabel("When").fill("every 2h");
  await dialog.getByLabel("Time zone").fill("");
  await dialog.getByLabel("Runs that were missed").selectOption("skip");
  await dialog.getByRole("button", { name: "Save" }).click();
  await page.getByText("what was missed is skipped").waitFor();
  const edited = await daemon.call("job", { job: "morning" });
  assert.deepEqual([edited.every, edited.missed, edited.message], ["2h", "skip", "!say hello from the job"]);

  await page.getByRole("button", { name: "Disable" }).click();
  await page.getByRole("button", { name: "Enable" }).waitFor();
  assert.equal((await daemon.call("job", { job: "morning" })).enabled, false);

  await page.getByRole("button", { name: "Remove…" }).click();
  await dialog.getByText("morning (every 2h) goes for good").waitFor();
  await page.keyboard.press("Escape");
  assert.equal((await daemon.call("jobs", {})).jobs.length, 1);
  await page.getByRole("button", { name: "Remove…" }).click();
  await dialog.getByRole("button", { name: "Remove", exact: true }).click();
  await page.getByText("No jobs yet").waitFor();
  assert.deepEqual((await daemon.call("jobs", {})).jobs, []);
});

test("many jobs are filtered, hostile names are text, a heartbeat says why it does not beat, and who may only read is told so", async (t) => {
  const daemon = await Daemon.start(t);
  const hostile = "<img src=x onerror=alert(1)>\u202egnp";
  for (let n = 0; n < 203; n += 1)
    await daemon.call("addJob", { name: `job ${n}`, every: "1d", message: "!say hi", enabled: n % 2 === 0 });
  await daemon.call("addJob", { name: hostile, every: "5m", message: "!say hi" });
  const browser = await launch(t);
  const page = await visitIn(browser, t, daemon, { at: "#/schedule", width: 390 });
  await page.getByText("4 more: filter to see them.").waitFor();
  await page.keyboard.press("/");
  await page.keyboard.type("onerror");
  await page.getByRole("link", { name: "<img src=x onerror=alert(1)>gnp" }).last().waitFor();
  assert.equal(await page.getByRole("row").count(), 2, "the head, and it");
  assert.equal(await page.evaluate("document.documentElement.scrollWidth <= innerWidth"), true);
  await page.getByRole("img", { name: /^due .*every 5m$/ }).waitFor();

  await page.getByLabel("Filter jobs").fill("heartbeat");
  await page.getByRole("link", { name: "heartbeat of main" }).click();
  await page.getByRole("button", { name: "Beat now" }).click();
  const { why } = await daemon.call("beat", { agent: "main" });
  await page
    .getByRole("status")
    .filter({ hasText: `No heartbeat: ${why}` })
    .waitFor();

  const { token } = await daemon.call("createToken", { name: "guest", scope: "read" });
  const guest = await visitIn(browser, t, { url: daemon.url, token }, { at: "#/schedule?text=job+7" });
  await guest.getByRole("button", { name: "What can be done to job 7", exact: true }).click();
  await guest
    .getByRole("menuitem", { name: "Disable" })
    .or(guest.getByRole("menuitem", { name: "Enable" }))
    .click();
  await guest.getByRole("status").filter({ hasText: "operate" }).waitFor();
  await guest.getByRole("button", { name: "New job…" }).click();
  await guest.getByRole("dialog").getByLabel("When").fill("every 1h");
  await guest.getByRole("dialog").getByLabel("What is to be done").fill("hello");
  await guest.getByRole("dialog").getByRole("button", { name: "Add" }).click();
  await guest.getByRole("dialog").getByRole("alert").filter({ hasText: "operate" }).waitFor();
});

test("a job that is not there says so, and leads back", async (t) => {
  const daemon = await Daemon.start(t);
  const page = await visit(t, daemon, { at: "#/schedule/gone" });
  await page.getByRole("alert").filter({ hasText: "gone" }).waitFor();
  await page.locator("#view").getByRole("link", { name: "Schedule" }).click();
  await page.getByText("No jobs yet").waitFor();
});
