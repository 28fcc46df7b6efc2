import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import type { Page } from "playwright-core";
import { DEFAULT_AGENT, namedKey } from "../../src/routing/key.ts";
import { spillMessage } from "../../src/transcript/spill.ts";
import type { Draft, Entry } from "../../src/transcript/entry.ts";
import { Home, opening, scratch } from "../fixtures/home.ts";
import { freePort } from "../fixtures/port.ts";
import { Daemon } from "../gateway/daemon.ts";
import { visit } from "./browser.ts";
import { answer, AT, called, person, result, SHOWN, words } from "./entries.ts";
import { Speaker } from "./speaker.ts";
import { until } from "./stage.ts";

const MAIN = "agent:main:main";
const AT_MAIN = "#/session/agent%3Amain%3Amain";
/** One pixel. */
const PNG =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

/** Every message of the transcript is there, once, in its order. */
async function agrees(page: Page, daemon: Daemon, sessionKey: string): Promise<void> {
  const { entries } = await daemon.call("entries", { sessionKey, limit: 200 });
  const messages = entries.filter(({ type }) => type === "message") as unknown as readonly Entry[];
  const shown = await page.evaluate<number[]>(SHOWN);
  const seqs = new Set(messages.map(({ seq }) => seq));
  assert.deepEqual(
    shown.filter((seq) => seqs.has(seq)),
    [...seqs],
  );
}

test("a daemon that is killed while the page is open and begun again: nothing is missing, and nothing is there twice", async (t) => {
  const daemon = await Daemon.start(t, { env: { SESSIOND_PORT: String(await freePort()) } });
  const page = await visit(t, daemon, { at: AT_MAIN });
  await daemon.call("send", { sessionKey: MAIN, message: "!say before it" });
  const feed = page.getByRole("feed");
  await feed.getByText("before it", { exact: true }).waitFor();
  const script = "!say I look.\n!call list {}\n!then\n!slow 1500\n!verbose 400\n!say all of it";
  await daemon.call("send", { sessionKey: MAIN, message: script });
  await feed.locator("details.call.done").waitFor();
  await daemon.kill("SIGKILL");
  await page.getByText("The daemon is away", { exact: false }).waitFor();
  await daemon.begin();
  await feed.getByText("restarted, nothing lost").waitFor();
  await feed
    .getByRole("article", { name: /^Answer/ })
    .filter({ hasText: "all of it" })
    .waitFor();
  await daemon.call("ask", { sessionKey: MAIN, message: "!say after it" });
  await feed.getByText("after it", { exact: true }).waitFor();
  await agrees(page, daemon, MAIN);
  assert.equal(await feed.getByText("restarted, nothing lost").count(), 1);
  assert.equal(await feed.getByRole("article", { name: /^Answer/ }).count(), 4);

  // A restart while nothing runs leaves no entry: the page tells of it all the same.
  await daemon.kill("SIGKILL");
  await daemon.begin();
  await feed.getByText("restarted, nothing lost").nth(1).waitFor();
  await agrees(page, daemon, MAIN);
});

test("an answer grows as it is spoken; what a kill cut off is gone, and the whole answer is there once", async (t) => {
  const speaker = await Speaker.open(t);
  const daemon = await Daemon.start(t, {
    env: { SESSIOND_PORT: String(await freePort()) },
    config: speaker.config,
  });
  await daemon.call("send", { sessionKey: MAIN, message: "hello" });
  await speaker.asked(1);
  speaker.say("an answer before anybody looked");
  speaker.end();
  await daemon.call("send", { sessionKey: MAIN, message: "and now?" });
  const page = await visit(t, daemon, { at: AT_MAIN });
  await page.getByRole("feed").getByText("and now?").waitFor();
  await speaker.asked(2);
  const live = page.locator(".speaking");
  const followed = async (): Promise<boolean> =>
    /^sessiond_subscribers 2$/m.test(await (await daemon.fetch("/metrics")).text()); // rows, and this one
  await until(followed); // Who comes in the middle of an answer is told it when it is whole.
  speaker.say("# Head\n\nfirst **par t"); // A word is told when it is whole: before, it might become a secret.
  await live.getByRole("heading", { name: "Head" }).waitFor();
  await live.getByText("first **par").waitFor();
  speaker.say("wo** and\n\n```js\nconst a ");
  await live.locator("strong", { hasText: "par two" }).waitFor();
  await live.locator("pre", { hasText: "const a" }).waitFor();
  assert.equal(await page.getByRole("article", { name: /^Answer/ }).count(), 1, "it is not written down yet");

  await daemon.kill("SIGKILL");
  await page.getByText("The daemon is away", { exact: false }).waitFor();
  await daemon.begin();
  await speaker.asked(3);
  await live.waitFor({ state: "detached" });
  await until(followed);
  speaker.say("the whole ");
  await live.getByText("the whole").waitFor();
  speaker.say("answer");
  speaker.end();
  await page
    .getByRole("article", { name: /^Answer/ })
    .filter({ hasText: "the whole answer" })
    .waitFor();
  await live.waitFor({ state: "detached" });
  await page.getByText("restarted, nothing lost").waitFor();
  assert.equal(await page.getByText("const a").count(), 0);
  assert.equal(await page.getByRole("feed").getByText("the whole answer").count(), 1);
  await agrees(page, daemon, MAIN);
});

test("a sub-agent is a card that fills while it works, links to it, and says what came of it", async (t) => {
  const daemon = await Daemon.start(t);
  const page = await visit(t, daemon, { at: AT_MAIN });
  const quick = JSON.stringify({ task: "!say The price is **12**.", label: "pricing of A" });
  await daemon.call("send", { sessionKey: MAIN, message: `!spawn ${quick}\n!wait\n!then\n!say one` });
  const cards = page.getByRole("region", { name: /^Sub-agent/ });
  const first = cards.filter({ has: page.getByRole("link", { name: "pricing of A" }) });
  const second = cards.filter({ has: page.getByRole("link", { name: "pricing of B" }) });
  await first.getByText("✓ done").waitFor();
  await first.locator("strong", { hasText: "12" }).waitFor();
  const slow = JSON.stringify({ task: "!slow 3600000\n!say never", label: "pricing of B" });
  await daemon.call("send", { sessionKey: MAIN, message: `!spawn ${slow}\n!wait\n!then\n!say two` });
  await second.getByText(/^running/).waitFor();
  const { children } = await daemon.call("children", { sessionKey: MAIN });
  const running = children.find(({ state }) => state !== "ended" && state !== "idle");
  assert.ok(running);
  await daemon.call("kill", { sessionKey: running.sessionKey });
  await second.getByText("✗ was killed").waitFor();
  await page
    .getByRole("article", { name: /^Report/ })
    .nth(1)
    .waitFor();
  await second.getByRole("link", { name: "pricing of B" }).click();
  await page.waitForURL((url) => url.hash.includes(encodeURIComponent(running.sessionKey)));
});

test("who goes back to an earlier entry sees the conversation as it is from there on", async (t) => {
  const daemon = await Daemon.start(t);
  for (const word of ["one", "two", "three"])
    await daemon.call("ask", { sessionKey: MAIN, message: `!say ${word}` });
  const page = await visit(t, daemon, { at: AT_MAIN });
  const feed = page.getByRole("feed");
  await feed.getByText("three", { exact: true }).waitFor();
  const { entries } = await daemon.call("entries", { sessionKey: MAIN });
  const first = entries.find(
    ({ type, customType }) => type === "custom" && customType === "sessiond/turn-ended",
  );
  await daemon.call("rewind", { sessionKey: MAIN, seq: Number(first?.["seq"]) });
  await feed
    .getByText(/^Went back to “one” \(\d\d:\d\d\); what had come after it was left behind\.$/)
    .waitFor();
  assert.equal(await feed.getByText("three", { exact: true }).count(), 0);
  assert.equal(await feed.getByText("one", { exact: true }).count(), 1);
  await daemon.call("ask", { sessionKey: MAIN, message: "!say four" });
  await feed.getByText("four", { exact: true }).waitFor();
  await agrees(page, daemon, MAIN);
});

const TOP = `document.querySelector(".transcript .scroll").scrollTop`;
const LEFT = `(({ scrollHeight, clientHeight, scrollTop }) => scrollHeight - clientHeight - scrollTop)(
  document.querySelector(".transcript .scroll"))`;

test("what happens while somebody reads further up does not move it, and is counted until it is looked at", async (t) => {
  const daemon = await Daemon.start(t);
  await daemon.call("ask", { sessionKey: MAIN, message: "!verbose 3000" });
  const page = await visit(t, daemon, { at: AT_MAIN });
  await page.getByRole("article", { name: /^Answer/ }).waitFor();
  const box = page.locator(".transcript .scroll");
  await box.hover();
  await page.mouse.wheel(0, -900);
  await page.getByRole("button", { name: "Newest" }).waitFor();
  const before = await page.evaluate(TOP);
  assert.ok(Number(before) > 0);
  await daemon.call("ask", { sessionKey: MAIN, message: "!say the newest of all" });
  await page.getByRole("button", { name: "Newest (2 new)" }).waitFor();
  assert.equal(await page.evaluate(TOP), before);
  await page.getByRole("button", { name: "Newest (2 new)" }).click();
  await page.getByRole("feed").getByText("the newest of all", { exact: true }).waitFor();
  await page.getByRole("button", { name: /^Newest/ }).waitFor({ state: "detached" });
  await daemon.call("ask", { sessionKey: MAIN, message: "!say and one more" });
  await page.getByRole("feed").getByText("and one more", { exact: true }).waitFor();
  assert.ok(Number(await page.evaluate(LEFT)) < 2, "who is at the end stays there");
});

/** What the page follows is over for it, as when the daemon does not know any more from where: with the words of the daemon. */
async function forgetting(page: Page): Promise<() => void> {
  let lost: () => void = () => assert.fail("nothing is followed");
  await page.routeWebSocket("**/ws", (socket) => {
    const asked = new Set<number>();
    const server = socket.connectToServer();
    socket.onMessage((message) => {
      const { id, params } = JSON.parse(String(message)) as { id: number; params?: { stream?: string } };
      if (params?.stream === "follow") asked.add(id);
      server.send(message);
    });
    server.onMessage((message) => {
      const { id, result } = JSON.parse(String(message)) as {
        id?: number;
        result?: { subscription: string };
      };
      socket.send(message);
      const subscription = result?.subscription;
      if (id === undefined || !asked.has(id) || subscription === undefined) return;
      const error = { code: "cursor_expired", message: "it is forgotten" };
      const ended = { jsonrpc: "2.0", method: "ended", params: { subscription, resume: null, error } };
      lost = () => socket.send(JSON.stringify(ended));
    });
  });
  return () => lost();
}

test("who reads further up is left there when the stream is lost; and hears again what is said", async (t) => {
  const daemon = await Daemon.start(t);
  for (let times = 0; times < 4; times += 1)
    await daemon.call("ask", { sessionKey: MAIN, message: "!verbose 900" });
  const page = await visit(t, daemon, { at: "#/overview" });
  const lose = await forgetting(page);
  await page.reload();
  await page.goto(`${daemon.url}/${AT_MAIN}`);
  await page
    .getByRole("article", { name: /^Answer/ })
    .last()
    .waitFor();
  await page.locator(".transcript .scroll").hover();
  await page.mouse.wheel(0, -1_500);
  await page.getByRole("button", { name: "Newest" }).waitFor();
  const before = Number(await page.evaluate(TOP));
  assert.ok(before > 0);
  const anew = page.waitForResponse((response) =>
    (response.request().postData() ?? "").includes('"method":"entries"'),
  );
  lose();
  await anew;
  await daemon.call("ask", { sessionKey: MAIN, message: "!say the newest of all" });
  await page.getByRole("button", { name: "Newest (2 new)" }).waitFor();
  assert.equal(await page.evaluate(TOP), before);
  await page.getByRole("button", { name: "Newest (2 new)" }).click();
  await page.getByRole("feed").getByText("the newest of all", { exact: true }).waitFor();
  await agrees(page, daemon, MAIN);
});

/** Some of everything that a transcript can hold. */
async function mixedHome(path: string, key: ReturnType<typeof namedKey>): Promise<void> {
  const home = new Home(path);
  await home.reopen();
  const put = (bytes: Uint8Array) => home.store.putBlob(bytes);
  const spilled = async (draft: Draft): Promise<Draft> =>
    draft.type === "message" ? { ...draft, message: await spillMessage(draft.message, put) } : draft;
  try {
    await home.store.commit([opening(key, home.world.newId())]);
    const rows = Array.from({ length: 20_000 }, (_, at) => `row ${at}`).join("\n");
    const noise = Buffer.concat([Buffer.from(PNG, "base64"), Buffer.alloc(1_500_000)]).toString("base64");
    const image = (data: string) => ({ type: "image", mimeType: "image/png", data }) as const;
    const peer = { kind: "external_user", channel: "telegram", peer: "ada" } as const;
    const other = {
      kind: "inter_session",
      source: namedKey(DEFAULT_AGENT, "two"),
      tool: "sessions_send",
    } as const;
    await home.append(key, [
      person("from a channel", { provenance: peer }),
      person("from a session", { provenance: other }),
      person("from the clock", { provenance: { kind: "internal_system", cause: "cron" } }),
      await spilled(person([words("look at this"), image(PNG), image(noise)])),
      answer(
        { type: "thinking", thinking: "secret thoughts" },
        words("I look."),
        called("1", "list", { path: "b" }),
      ),
      await spilled(result("1", "list", [words(rows)])),
      answer(words("to be damaged")),
      answer(words("after the damage")),
      { type: "model_change", timestamp: AT, provider: "rehearsal", modelId: "large" },
      {
        type: "custom",
        timestamp: AT,
        customType: "sessiond/turn-ended",
        data: { outcome: "failed", reason: "no more room" },
      },
    ]);
    const details = { by: "sessiond", tokensAfter: 12_000, truncated: null, pinned: ["kept word for word"] };
    const summary = {
      summary: "## Goal\nall of it",
      firstKeptEntryId: "none",
      tokensBefore: 184_000,
      details,
    };
    await home.append(key, [{ type: "compaction", timestamp: AT, ...summary }], { contextSeq: 11 });
    await home.append(key, [person("and on it goes")]);
    const file = await home.file(key);
    await home.close();
    const text = readFileSync(file, "utf8");
    writeFileSync(
      file,
      text.replace(/^.*to be damaged.*$/m, (line) => "#".repeat(line.length)),
    );
  } finally {
    await home.close();
  }
}

test("calls, results, thinking, pictures, summaries and damage are shown in short, and whole to who wants them", async (t) => {
  const path = join(scratch(t), "home");
  const key = namedKey(DEFAULT_AGENT, "mixed");
  await mixedHome(path, key);
  const daemon = await Daemon.start(t, { home: path });
  const page = await visit(t, daemon, { at: `#/session/${encodeURIComponent(key)}` });
  const feed = page.getByRole("feed");
  await feed.getByText("and on it goes").waitFor();

  await feed.getByText("telegram:ada").waitFor();
  await feed.getByText("sessiond, cron").waitFor();
  const sender = feed.getByRole("article", { name: /^Message of agent:main:thread:two/ });
  assert.match(
    (await sender.getByRole("link").first().getAttribute("href")) ?? "",
    /^#\/session\/agent%3Amain%3Athread%3Atwo$/,
  );
  await feed.getByText(/^1 line could not be read \(not JSON, \d+ B\); kept in the file/).waitFor();
  await feed.getByText("Failed: no more room").waitFor();
  await feed.getByText("model rehearsal/large").waitFor();

  assert.equal(await feed.locator("img").count(), 1, "what is large is asked for");
  await feed.getByRole("button", { name: "Show picture (1.5 MB)" }).click();
  await feed.locator("img").nth(1).waitFor();
  const widths = `Promise.all([...document.images].filter((each) => each.closest("[role=feed]"))
    .map((each) => each.decode().then(() => each.naturalWidth)))`;
  assert.deepEqual(await page.evaluate(widths), [1, 1]);

  assert.equal(await feed.getByText("secret thoughts").count(), 0);
  await feed.getByText("Thinking").click();
  await feed.getByText("secret thoughts").waitFor();

  const call = feed.locator("details.call");
  await call.locator("summary").click();
  await call.getByText('"path": "b"').waitFor();
  assert.equal(await call.getByText("row 10000").count(), 0);
  await call.getByRole("button", { name: /^Show all/ }).click();
  await call.getByText("row 10000").waitFor();

  const summary = feed.getByRole("article", { name: /^Summary/ });
  await summary.getByText("earlier conversation summarised, 184.0k → 12.0k tokens", { exact: false }).click();
  await summary.getByRole("heading", { name: "Goal" }).waitFor();
  await summary.getByText("What else it kept").click();
  await summary.getByText("kept word for word").waitFor();

  // The same by keys: to a row, and what is folded in it.
  await page.locator(".transcript .scroll").focus();
  await page.keyboard.press("Home");
  await page.keyboard.press("j");
  await page.locator("[data-seq='1']:focus").waitFor();
  await page.keyboard.press("j");
  await page.keyboard.press("k");
  await page.locator("[data-seq='1']:focus").waitFor();
  for (let times = 0; times < 4; times += 1) await page.keyboard.press("j");
  const step = page.locator("[data-seq='5']:focus");
  await step.waitFor();
  if ((await step.locator("details[open]").count()) > 0) await page.keyboard.press("Enter");
  await page.keyboard.press("Enter");
  await step.locator("details.call[open]").waitFor();
  await page.keyboard.press("Tab");
});
