import assert from "node:assert/strict";
import { test } from "node:test";
import type { Page, Route } from "playwright-core";
import { Daemon } from "../gateway/daemon.ts";
import { DOT, HERE, letters, open, say } from "./talking.ts";

/** What is done with messages on their way, until that is called which is returned. */
async function onSend(page: Page, run: (route: Route) => Promise<unknown>): Promise<() => void> {
  let isOver = false;
  await page.route("**/rpc", async (route) => {
    const isSend = (route.request().postData() ?? "").includes('"method":"send"');
    await (isSend && !isOver ? run(route) : route.continue());
  });
  return () => void (isOver = true);
}

/** Files are read when that is called which tells what the tab keeps afterwards. */
const SLOW_FILES = `
  const read = File.prototype.arrayBuffer;
  const [held, whole] = [Promise.withResolvers(), Promise.withResolvers()];
  File.prototype.arrayBuffer = async function () {
    await held.promise;
    const bytes = await read.call(this);
    whole.resolve();
    return bytes;
  };
  window.letGo = async () => {
    held.resolve();
    await whole.promise;
    for (let turn = 0; turn < 100; turn += 1) await null; // Whoever waits for it goes on before.
    return Object.keys(sessionStorage).join();
  };
`;

test("a message is sent by the token that it was written under, and by no other; without one nothing is asked, and nothing kept", async (t) => {
  const daemon = await Daemon.start(t);
  const alice = await daemon.call("createToken", { name: "alice", scope: "operate" });
  const page = await open(t, { url: daemon.url, token: alice.token });
  const feed = page.getByRole("feed");
  const pending = page.getByLabel("Messages on their way");
  const signIn = (token: string): Promise<unknown> =>
    page.evaluate(`location.hash = "#t=${token}&${HERE.slice(1)}"`);
  const release = await onSend(page, (route) => route.abort());
  await say(page, "of alice");
  await pending.getByText("It is tried again by itself").waitFor();
  // Who may only look has no field into which it could come back; it can be discarded, and had back.
  const guest = await daemon.call("createToken", { name: "guest", scope: "read" });
  await signIn(guest.token);
  await pending.getByText("it was written under another").waitFor();
  await page.getByLabel("Message", { exact: true }).waitFor({ state: "detached" });
  assert.equal(await pending.getByRole("button", { name: "Take back" }).count(), 0);
  await pending.getByRole("button", { name: "Discard" }).click();
  await pending.waitFor({ state: "detached" });
  await page.getByRole("button", { name: "Undo" }).click();
  await pending.getByText("of alice").waitFor();

  await signIn(daemon.token);
  await pending.getByText("it was written under another").waitFor();
  await pending.getByRole("button", { name: "Take back" }).waitFor();
  release();
  await say(page, "of the owner");
  await feed.getByText("of the owner", { exact: true }).waitFor();
  await page.reload();
  await pending.getByText("it was written under another").waitFor();
  assert.deepEqual(await letters(daemon), ["of the owner"]);
  await signIn(alice.token);
  await pending.waitFor({ state: "detached" });
  await feed.getByText("of alice", { exact: true }).waitFor();

  await page.clock.install();
  const bare: string[] = [];
  page.on("request", (request) => {
    if (request.headers()["authorization"]?.trim() === "Bearer") bare.push(request.postData() ?? "");
  });
  await onSend(page, (route) => route.abort());
  await say(page, "too late");
  await pending.getByText("It is tried again by itself").waitFor();
  await page.evaluate(SLOW_FILES);
  await page
    .getByLabel("Files to attach")
    .setInputFiles([{ name: "late.txt", mimeType: "text/plain", buffer: Buffer.from("late words") }]);
  await daemon.call("revokeToken", { name: "alice" });
  await page.getByRole("alert").filter({ hasText: "revoked" }).waitFor();
  assert.doesNotMatch(String(await page.evaluate("window.letGo()")), /sessiond\.attached/);
  await page.clock.runFor(10_000);
  await page.getByRole("alert").filter({ hasText: "revoked" }).waitFor();
  assert.deepEqual(bare, []);
});

test("what nobody has answered can be taken back with its picture, and what is written then does not wait for it", async (t) => {
  const daemon = await Daemon.start(t);
  const page = await open(t, daemon);
  const field = page.getByLabel("Message", { exact: true });
  const attached = page.getByLabel("Attached").getByRole("img");
  const isHeld = (url: string | null): Promise<unknown> =>
    page.evaluate(`new Promise((resolve) => {
      const image = new Image();
      image.onload = () => resolve(true);
      image.onerror = () => resolve(false);
      image.src = ${JSON.stringify(url)};
    })`);
  const release = await onSend(page, async () => {}); // No answer comes, ever.
  await page
    .getByLabel("Files to attach")
    .setInputFiles([{ name: "dot.png", mimeType: "image/png", buffer: DOT }]);
  await attached.waitFor();
  const url = await attached.getAttribute("src");
  assert.equal(await isHeld(url), true);
  await say(page, "wait");
  await page.getByLabel("Messages on their way").getByText("Sending").waitFor();
  assert.equal(await isHeld(url), false, "what nobody sees is let go");
  release();
  await page.getByRole("button", { name: "Take back" }).click();
  await page.getByText("It may have arrived all the same").waitFor();
  assert.equal(await field.inputValue(), "wait");
  assert.equal(await isHeld(await attached.getAttribute("src")), true);
  await say(page, "go");
  await page.getByRole("feed").getByText("go", { exact: true }).first().waitFor();
  await page.getByLabel("Messages on their way").waitFor({ state: "detached" });
  assert.equal((await letters(daemon)).length, 1);
});

test("each message is kept over a reload by itself: who would lose one that the browser has no room for is asked", async (t) => {
  const daemon = await Daemon.start(t);
  const page = await open(t, daemon);
  const pending = page.getByLabel("Messages on their way");
  const release = await onSend(page, (route) => route.abort());
  await say(page, "first");
  await pending.getByText("It is tried again by itself").waitFor();
  await page
    .getByLabel("Files to attach")
    .setInputFiles([{ name: "huge.png", mimeType: "image/png", buffer: Buffer.alloc(9_000_000, DOT) }]);
  await page.getByLabel("Attached").waitFor();
  await say(page, "with a huge picture");
  await say(page, "third");
  await pending.getByText("third").waitFor();
  let asked = 0;
  page.on("dialog", (dialog) => {
    asked += 1;
    void dialog.accept();
  });
  await page.reload();
  assert.equal(asked, 1);
  await pending.getByText("third").waitFor();
  release();
  await pending.waitFor({ state: "detached" });
  assert.deepEqual(await letters(daemon), ["first", "third"]);
  await page.reload();
  assert.equal(asked, 1, "there is nothing to lose");
});

test("a refused message can be discarded and had back, and sent again when what was wrong is mended", async (t) => {
  const daemon = await Daemon.start(t);
  const page = await open(t, daemon);
  const pending = page.getByLabel("Messages on their way");
  const error = { code: -32000, message: "nobody may write now", data: { code: "forbidden" } };
  const release = await onSend(page, (route) =>
    route.fulfill({ json: { jsonrpc: "2.0", id: 1, error }, status: 403 }),
  );
  await say(page, "first");
  await pending.getByText("Not sent: nobody may write now").waitFor();
  await say(page, "second");
  await pending.getByText("Not sent: nobody may write now").nth(1).waitFor();
  const first = pending.getByRole("listitem").filter({ hasText: "first" });
  await first.getByRole("button", { name: "Discard" }).click();
  await first.waitFor({ state: "detached" });
  await page.getByRole("button", { name: "Undo" }).click();
  await first.waitFor();
  const texts = await pending.getByRole("listitem").allInnerTexts();
  assert.deepEqual(
    texts.map((text) => /^(\w+)/.exec(text)?.[1]),
    ["first", "second"],
    "it is where it was",
  );
  await first.getByRole("button", { name: "Discard" }).click();
  await first.waitFor({ state: "detached" });
  await page.reload();
  await pending.getByText("second").waitFor();
  assert.equal(await pending.getByRole("listitem").count(), 1, "what was discarded does not come back");
  release();
  await pending.getByRole("button", { name: "Send again" }).click();
  await page.getByRole("feed").getByText("second", { exact: true }).first().waitFor();
  await pending.waitFor({ state: "detached" });
  assert.deepEqual(await letters(daemon), ["second"]);
});
