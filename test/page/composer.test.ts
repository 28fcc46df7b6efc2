import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { createServer } from "node:net";
import { test } from "node:test";
import type { Output } from "../../src/calls/door.ts";
import type { Entry } from "../../src/transcript/entry.ts";
import { Daemon } from "../gateway/daemon.ts";
import { visit } from "./browser.ts";
import { DOT, HERE, letters, MAIN, open, say } from "./talking.ts";

/** Waits until there is such a session, whatever it takes. */
async function until(daemon: Daemon, isSo: (status: Output<"status">) => boolean): Promise<Output<"status">> {
  for (;;) {
    const status = await daemon.call("status", { sessionKey: MAIN });
    if (isSo(status)) return status;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** A port that was free a moment ago: a daemon that is started again has to be where its page looks for it. */
async function freePort(): Promise<string> {
  const server = createServer();
  const { promise, resolve } = Promise.withResolvers<string>();
  server.listen(0, "127.0.0.1", () => {
    const { port } = server.address() as { readonly port: number };
    server.close(() => resolve(String(port)));
  });
  return await promise;
}

test("from the link to the first answer: a draft survives a reload, Enter sends it, and the answer is there", async (t) => {
  const daemon = await Daemon.start(t);
  const page = await open(t, daemon);
  const field = page.getByLabel("Message", { exact: true });
  await field.fill("hello");
  await page.keyboard.press("Shift+Enter");
  await page.keyboard.type("world");
  await page.reload();
  await field.waitFor();
  assert.equal(await field.inputValue(), "hello\nworld");
  await field.press("Enter");
  await page.getByRole("feed").getByText("you said").waitFor();
  assert.equal(await field.inputValue(), "");
  await page.getByLabel("Messages on their way").waitFor({ state: "detached" });
  assert.deepEqual(await letters(daemon), ["hello\nworld"]);
});

test("a message that is sent while the daemon is down, or whose receipt is lost, arrives once and in its order", async (t) => {
  const daemon = await Daemon.start(t, { env: { SESSIOND_PORT: await freePort() } });
  const page = await open(t, daemon);
  await daemon.kill();
  await say(page, "while it was down");
  await page.getByText("It is tried again by itself").waitFor();
  await say(page, "and after that");
  await daemon.begin();
  await page.getByLabel("Messages on their way").waitFor({ state: "detached" });
  assert.deepEqual(await letters(daemon), ["while it was down", "and after that"]);

  let isLost = false;
  await page.route("**/rpc", async (route) => {
    const isSend = (route.request().postData() ?? "").includes('"method":"send"');
    if (isLost || !isSend) return await route.continue();
    isLost = true;
    await route.fetch(); // The daemon has it, and the page is never told.
    await route.abort();
  });
  await say(page, "without a receipt");
  await page.getByRole("feed").getByText("without a receipt", { exact: true }).waitFor();
  await page.getByLabel("Messages on their way").waitFor({ state: "detached" });
  assert.equal(isLost, true);
  assert.deepEqual((await letters(daemon)).slice(2), ["without a receipt"]);
});

test("what a message does to a turn that runs is chosen, and Stop ends the turn", async (t) => {
  const daemon = await Daemon.start(t);
  const page = await open(t, daemon);
  await say(page, "!slow 600000\n!say never");
  await page.getByRole("button", { name: "Stop" }).waitFor();
  await page.getByLabel("While it works").selectOption("followup");
  await say(page, "after it");
  await page.getByLabel("Messages on their way").getByText("read after this turn").waitFor();
  assert.equal((await until(daemon, () => true)).waitingLetters, 1);
  await page.keyboard.press("Control+.");
  await page.getByLabel("Messages on their way").waitFor({ state: "detached" });
  await until(daemon, ({ state }) => state === "idle");
  assert.deepEqual(await letters(daemon), ["!slow 600000\n!say never", "after it"]);
  await page.getByRole("button", { name: "Stop" }).waitFor({ state: "detached" });

  await say(page, "!slow 600000\n!say never");
  await page.getByRole("button", { name: "Stop" }).waitFor();
  await page.getByLabel("While it works").selectOption("interrupt");
  await say(page, "now!");
  await page.getByRole("feed").getByText("now!", { exact: true }).waitFor();
  await until(daemon, ({ state }) => state === "idle");

  await page.getByLabel("While it works").selectOption("");
  await say(page, "!slow 600000\n!say never");
  await page.getByRole("button", { name: "Stop" }).waitFor();
  await say(page, "steering");
  await page.getByLabel("Messages on their way").getByText("read before the next step").waitFor();
  await page.getByRole("button", { name: "Stop" }).click();
  await page.getByRole("feed").getByText("steering", { exact: true }).waitFor();
});

test("commands are completed and obeyed with the keyboard alone; what is none may be sent as a message", async (t) => {
  const daemon = await Daemon.start(t);
  const page = await open(t, daemon);
  const field = page.getByLabel("Message", { exact: true });
  await field.fill("/stat");
  await page.getByRole("option", { name: "/status" }).waitFor();
  const chosen = await page.getByRole("option", { name: "/status" }).getAttribute("id");
  assert.equal(await field.getAttribute("aria-activedescendant"), chosen);
  await page.keyboard.press("Tab");
  assert.equal(await field.inputValue(), "/status");
  await page.keyboard.press("Enter");
  await page.getByLabel("Answer to /status").getByText(`${MAIN} · idle`).waitFor();
  assert.equal(await field.inputValue(), "");

  await field.fill("/model rehearsal/");
  await page.getByRole("option").first().waitFor();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("ArrowDown");
  await page.locator("[role=option][aria-selected=true]", { hasText: "rehearsal/large" }).waitFor();
  await page.keyboard.press("ArrowUp");
  await page.keyboard.press("Enter");
  assert.equal(await field.inputValue(), "/model rehearsal/small");
  await page.keyboard.press("Enter");
  await page.getByLabel("Answer to /model rehearsal/small").waitFor();
  await until(daemon, ({ model }) => model === "rehearsal/small");

  await field.fill("/m");
  await page.getByRole("listbox").waitFor();
  await page.keyboard.press("Escape");
  await page.getByRole("listbox").waitFor({ state: "detached" });
  assert.equal(await field.inputValue(), "/m", "Escape closes the list, and nothing else");

  await say(page, "/nonsense");
  const asMessage = page.getByRole("button", { name: "Send it as a message" });
  await asMessage.waitFor();
  await page.getByLabel("Files to attach").setInputFiles([
    { name: "dot.png", mimeType: "image/png", buffer: DOT },
    { name: "notes.md", mimeType: "text/markdown", buffer: Buffer.from("some notes") },
  ]);
  await page.getByLabel("Attached").getByText("notes.md").waitFor();
  await asMessage.click();
  await page.getByRole("feed").getByText("/nonsense").first().waitFor();
  await page.getByLabel("Attached").waitFor({ state: "detached" });
  const [first, ...others] = await letters(daemon);
  assert.match(first ?? "", /^\/nonsense\n\nnotes\.md:\n\n```\nsome notes\n```\n\[image\/png of 70 bytes/);
  assert.deepEqual(others, [], "all that was attached goes with it, once");
  await say(page, "//etc/hosts");
  await page.getByRole("feed").getByText("/etc/hosts", { exact: true }).waitFor();
  assert.deepEqual((await letters(daemon)).slice(1), ["/etc/hosts"]);

  // What is attached to other words by then stays with them.
  await say(page, "/nonsense");
  await asMessage.waitFor();
  await field.fill("other words");
  await page
    .getByLabel("Files to attach")
    .setInputFiles([{ name: "later.md", mimeType: "text/markdown", buffer: Buffer.from("later") }]);
  await page.getByLabel("Attached").getByText("later.md").waitFor();
  await asMessage.click();
  await page.getByRole("feed").getByText("/nonsense", { exact: true }).nth(1).waitFor();
  assert.equal(await field.inputValue(), "other words");
  await page.getByLabel("Attached").getByText("later.md").waitFor();
  assert.deepEqual((await letters(daemon)).slice(2), ["/nonsense"]);
});

test("a command is obeyed once, however often Enter is pressed; Stop says what it stops", async (t) => {
  const daemon = await Daemon.start(t);
  await daemon.call("ask", { sessionKey: MAIN, message: "!say hello" });
  const page = await open(t, daemon);
  const held = Promise.withResolvers<undefined>();
  const first = Promise.withResolvers<undefined>();
  await page.route("**/rpc", async (route) => {
    if (!(route.request().postData() ?? "").includes('"method":"command"')) return await route.continue();
    first.resolve(undefined);
    await held.promise;
    await route.continue();
  });
  await say(page, "/fork");
  await first.promise;
  await page.keyboard.press("Enter");
  await page.keyboard.press("Enter");
  await page.getByRole("button", { name: "Send (Enter)" }).click();
  held.resolve(undefined);
  await page.getByLabel("Answer to /fork").waitFor();
  await say(page, "/status"); // What was pressed before is done before.
  await page.getByLabel("Answer to /status").waitFor();
  const { sessions } = await daemon.call("list", {});
  assert.equal(sessions.length, 2, "the session and its fork");

  await say(page, "!slow 600000\n!say never");
  const stop = page.getByRole("button", { name: /^Stop the turn/ });
  assert.equal((await stop.innerText()).trim(), "Stop");
  await daemon.call("set", { sessionKey: MAIN, queueMode: "followup" });
  await page.getByLabel("While it works").getByText("Follow up (as set)").waitFor({ state: "attached" });
  await say(page, "/nonsense");
  await page.getByRole("button", { name: "Send it as a message" }).click();
  await page.getByLabel("Messages on their way").getByText("read after this turn").waitFor();
  await stop.click();
  await until(daemon, ({ state }) => state === "idle");
});

test("pictures and text files arrive with the message and its model; what is neither is refused in words", async (t) => {
  const daemon = await Daemon.start(t);
  const page = await open(t, daemon);
  await page.getByLabel("Files to attach").setInputFiles([
    { name: "dot.png", mimeType: "image/png", buffer: DOT },
    { name: "twice.png", mimeType: "image/png", buffer: DOT },
    { name: "notes.md", mimeType: "text/markdown", buffer: Buffer.from("# Notes\n```\ncode\n```\n") },
    { name: "program", mimeType: "application/octet-stream", buffer: Buffer.from([0x7f, 0x45, 0, 0xff]) },
    { name: "huge.txt", mimeType: "text/plain", buffer: Buffer.alloc(1024 * 1024, "a") },
  ]);
  const refusals = page.getByRole("form", { name: "Write to this session" }).getByLabel("Not attached");
  await refusals.getByText("program is neither text nor a picture").waitFor();
  await page.getByText("huge.txt has 1.0 MB").waitFor();
  await page.getByLabel("Attached").getByText("notes.md").waitFor();
  await page.getByRole("button", { name: "Remove twice.png" }).click();
  await page.evaluate(`for (const [type, at, name] of [["paste", "clipboardData", "pasted.txt"], ["drop", "dataTransfer", "dropped.txt"]]) {
    const given = new DataTransfer();
    given.items.add(new File(["x"], name, { type: "text/plain" }));
    const made = type === "paste" ? new ClipboardEvent(type, { [at]: given, bubbles: true }) : new DragEvent(type, { [at]: given, bubbles: true });
    document.querySelector(".composer textarea").dispatchEvent(made);
  }`);
  for (const name of ["pasted.txt", "dropped.txt"])
    await page.getByRole("button", { name: `Remove ${name}` }).click();
  await page.getByLabel("Model").selectOption("rehearsal/large");
  await say(page, "look at these");
  await page.getByRole("feed").getByText("look at these").first().waitFor();
  await page.getByLabel("Attached").waitFor({ state: "detached" });
  assert.equal((await until(daemon, ({ state }) => state === "idle")).model, "rehearsal/large");
  const { entries } = await daemon.call("entries", { sessionKey: MAIN });
  const letter = (entries as unknown as Entry[]).find((entry) => entry.type === "message");
  assert.ok(letter?.type === "message" && Array.isArray(letter.message.content));
  const [text, picture, ...others] = letter.message.content as Readonly<Record<string, unknown>>[];
  assert.equal(text?.["text"], "look at these\n\nnotes.md:\n\n````\n# Notes\n```\ncode\n```\n````");
  assert.deepEqual(
    [picture?.["mimeType"], picture?.["blob"], others],
    ["image/png", { sha256: createHash("sha256").update(DOT).digest("hex"), bytes: DOT.length }, []],
  );
});

test("a refused message says why in its place, and its words come back to be edited", async (t) => {
  const daemon = await Daemon.start(t);
  const { token } = await daemon.call("createToken", { name: "guest", scope: "read" });
  const page = await visit(t, daemon, { isSignedIn: false, at: HERE });
  // Whoever knows that the token may only look is offered nothing to send: here nobody comes to know it.
  await page.route("**/rpc", (route) =>
    (route.request().postData() ?? "").includes('"whoami"') ? route.abort() : route.continue(),
  );
  await page.getByLabel("Token").fill(token);
  await page.keyboard.press("Enter");
  await page.getByLabel("Message", { exact: true }).waitFor();
  await say(page, "may I?");
  const pending = page.getByLabel("Messages on their way");
  await pending.getByText("Not sent:").waitFor();
  await pending.getByRole("button", { name: "Send again" }).click();
  await pending.getByText("Not sent:").waitFor();
  await page.reload();
  await pending.getByText("may I?").waitFor();
  await pending.getByRole("button", { name: "Edit" }).click();
  await pending.waitFor({ state: "detached" });
  assert.equal(await page.getByLabel("Message", { exact: true }).inputValue(), "may I?");
  assert.deepEqual(await letters(daemon), []);
});
