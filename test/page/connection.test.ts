import assert from "node:assert/strict";
import { test } from "node:test";
import type { Page, WebSocketRoute } from "playwright-core";
import { Daemon } from "../gateway/daemon.ts";
import { visit } from "./browser.ts";

const MAIN = "agent:main:main";
const HERE = `#/session/${encodeURIComponent(MAIN)}`;

test("a daemon that says nothing any more, without a word, is noticed: after silence, and at once when the network is back", async (t) => {
  const daemon = await Daemon.start(t);
  const page = await visit(t, daemon, { at: HERE });
  await page.getByLabel("Message", { exact: true }).waitFor();
  await page.clock.install();
  const away = page.getByText("The daemon is away");
  for (const sign of [
    () => page.evaluate(`dispatchEvent(new Event("online"))`),
    () => page.clock.runFor(25_000), // of silence
  ]) {
    process.kill(daemon.pid, "SIGSTOP");
    await sign();
    await page.clock.runFor(5_000);
    await away.waitFor();
    process.kill(daemon.pid, "SIGCONT");
    await away.waitFor({ state: "detached" });
    await daemon.call("send", { sessionKey: MAIN, message: "still there?" });
    await page.getByRole("feed").getByText("still there?", { exact: true }).last().waitFor();
  }
});

interface Between {
  /** How often the changes of all sessions were asked for. */
  watched: number;
  /** What they are refused with; null: they are not. */
  refusal: string | null;
  /** Ends what is told of them. */
  readonly end: (code: string) => void;
  /** Ends the connection. */
  readonly drop: () => void;
}

/** Stands between the page and the daemon, from the next time on that it is loaded. */
async function between(page: Page): Promise<Between> {
  let here: WebSocketRoute | null = null;
  let subscription = "";
  const state: Between = {
    watched: 0,
    refusal: null,
    drop: () => void here?.close(),
    end: (code) =>
      here?.send(
        JSON.stringify({
          jsonrpc: "2.0",
          method: "ended",
          params: { subscription, resume: null, error: { code, message: "ended" } },
        }),
      ),
  };
  await page.routeWebSocket(/\/ws$/, (route) => {
    here = route;
    const asked = new Set<number>();
    const server = route.connectToServer();
    route.onMessage((message) => {
      const { id, method, params } = JSON.parse(String(message)) as {
        readonly id: number;
        readonly method: string;
        readonly params: { readonly stream?: string };
      };
      const isWatch = method === "subscribe" && params.stream === "watch";
      if (isWatch) state.watched += 1;
      if (isWatch) asked.add(id);
      if (!isWatch || state.refusal === null) return server.send(message);
      const error = { code: -32_000, message: "refused", data: { code: state.refusal } };
      return route.send(JSON.stringify({ jsonrpc: "2.0", id, error }));
    });
    server.onMessage((message) => {
      const { id, result } = JSON.parse(String(message)) as {
        readonly id?: number;
        readonly result?: { readonly subscription?: string };
      };
      if (id !== undefined && asked.has(id)) subscription = result?.subscription ?? "";
      route.send(message);
    });
  });
  await page.reload();
  return state;
}

test("a child that works is not said to be gone when the page has to ask for it again, nor while nobody answers that", async (t) => {
  const daemon = await Daemon.start(t);
  const page = await visit(t, daemon, { at: HERE });
  const wire = await between(page);
  await daemon.call("send", { sessionKey: MAIN, message: '!spawn {"task":"!slow 600000\\n!say hi"}' });
  const child = page.getByRole("region", { name: /^Sub-agent/ });
  await child.getByText("running").waitFor();

  const asking = page.waitForRequest((request) => /"status".*subagent/.test(request.postData() ?? ""));
  wire.end("cursor_expired");
  await asking;
  await child.getByText("running").waitFor();

  let isDown = true;
  await page.route("**/rpc", (route) => {
    const isAsked = /"status".*subagent/.test(route.request().postData() ?? "");
    return isDown && isAsked ? route.abort() : route.continue();
  });
  const failing = page.waitForEvent("requestfailed");
  wire.end("cursor_expired");
  await failing;
  await child.getByText("running").waitFor({ state: "detached" });
  assert.equal(await child.getByText("gone").count(), 0);
  isDown = false;
  wire.drop();
  await child.getByText("running").waitFor();
});

test("whose export it is is said in the head of another session, also when its row is not known any more", async (t) => {
  const daemon = await Daemon.start(t);
  await daemon.call("ask", { sessionKey: "agent:main:thread:other", message: "hi" });
  const page = await visit(t, daemon, { at: HERE });
  const wire = await between(page);
  const held = Promise.withResolvers<undefined>();
  await page.route("**/rpc", async (route) => {
    if (/"method":"entries".*"from":1\b/.test(route.request().postData() ?? "")) await held.promise;
    await route.continue().catch(() => {}); // It was called off meanwhile.
  });
  await page.getByRole("button", { name: "Export" }).click();
  await page.getByRole("menuitem", { name: "As JSONL" }).click();
  await page.getByText(/^Exporting: 0 entries/).waitFor();
  await page.evaluate(`location.hash = "#/session/agent%3Amain%3Athread%3Aother"`);
  await page.getByText(/^Exporting main: 0 entries/).waitFor();
  const asking = page.waitForResponse((response) =>
    /"status".*thread:other/.test(response.request().postData() ?? ""),
  );
  wire.end("cursor_expired");
  await asking;
  await page.evaluate(`location.hash = "#/settings"`);
  await page.getByText(/^Exporting/).waitFor({ state: "detached" });
  await page.goBack();
  await page.getByText(/^Exporting main: 0 entries/).waitFor();
  await page.getByRole("button", { name: "Cancel" }).click();
  held.resolve(undefined);
});

test("changes that are refused for good are not asked for as fast as they are refused", async (t) => {
  const daemon = await Daemon.start(t);
  const page = await visit(t, daemon, { at: HERE });
  const wire = await between(page);
  await page.getByLabel("Message", { exact: true }).waitFor();
  await page.clock.install();
  const before = wire.watched;
  wire.refusal = "forbidden";
  wire.end("forbidden");
  while (wire.watched === before) await page.clock.runFor(5_000);
  const then = wire.watched;
  for (const view of ["overview", "settings", "upkeep"]) {
    await page.evaluate(`location.hash = "#/${view}"`);
    await page.getByRole("heading", { level: 1 }).first().waitFor();
  }
  assert.ok(wire.watched <= then + 1, `${wire.watched - before} times`);
  wire.refusal = null;
  await page.clock.runFor(5_000);
  await page.evaluate(`location.hash = "#/processes"`);
  await page.getByRole("treegrid").or(page.getByRole("table")).first().waitFor();
});
