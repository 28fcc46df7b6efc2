// A model that is asked again while somebody looks: what it had said before makes way for what it says now.

import assert from "node:assert/strict";
import { test } from "node:test";
import type { Page } from "playwright-core";
import { Daemon } from "../gateway/daemon.ts";
import { visit } from "./browser.ts";

const MAIN = "agent:main:main";
const AT_MAIN = "#/session/agent%3Amain%3Amain";

/** Says something to the page as the daemon would, of the session that it follows. No model here fails in the middle of a word. */
async function speaking(page: Page): Promise<(text: string, begins?: true) => void> {
  let tell: (event: object) => void = () => assert.fail("nothing is followed");
  await page.routeWebSocket("**/ws", (socket) => {
    const asked = new Set<number>();
    const server = socket.connectToServer();
    socket.onMessage((message) => {
      const { id, params } = JSON.parse(String(message)) as { id: number; params?: { stream?: string } };
      if (params?.stream === "follow") asked.add(id);
      server.send(message);
    });
    server.onMessage((message) => {
      const said = JSON.parse(String(message)) as { id?: number; result?: { subscription: string } };
      socket.send(message);
      const subscription = said.result?.subscription;
      if (said.id === undefined || !asked.has(said.id) || subscription === undefined) return;
      tell = (event) =>
        socket.send(
          JSON.stringify({ jsonrpc: "2.0", method: "event", params: { subscription, event, resume: null } }),
        );
    });
  });
  return (text, begins) =>
    tell({ type: "delta", key: MAIN, turn: "t", step: 1, kind: "text", text, ...(begins ? { begins } : {}) });
}

test("what a model says when it is asked again stands alone, not behind what it had said before", async (t) => {
  const daemon = await Daemon.start(t);
  await daemon.call("ask", { sessionKey: MAIN, message: "!say hello" });
  const page = await visit(t, daemon, { at: "#/overview" });
  const say = await speaking(page);
  await page.reload();
  await page.goto(`${daemon.url}/${AT_MAIN}`);
  await page.getByRole("article", { name: /^Answer/ }).waitFor();
  const now = page.locator(".speaking");
  say("the first ", true);
  say("half ");
  await now.getByText("the first half").waitFor();
  assert.equal((await now.innerText()).trim(), "the first half", "and nothing is said to be missing");
  say("the whole ", true);
  say("of it ");
  await now.getByText("the whole of it").waitFor();
  assert.equal((await now.innerText()).trim(), "the whole of it");
});
