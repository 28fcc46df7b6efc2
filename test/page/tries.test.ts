// A model that is asked again while somebody looks: what it had said before makes way for what it says now.

import assert from "node:assert/strict";
import { test } from "node:test";
import { Daemon } from "../gateway/daemon.ts";
import { visit } from "./browser.ts";
import { Speaker } from "./speaker.ts";

const MAIN = "agent:main:main";

test("what a model says when it is asked again stands alone, not behind what it had said before", async (t) => {
  const speaker = await Speaker.open(t);
  const daemon = await Daemon.start(t, { config: speaker.config });
  const page = await visit(t, daemon, { at: "#/session/agent%3Amain%3Amain" });
  await page.getByText("Nothing was said here yet").waitFor();
  await daemon.call("send", { sessionKey: MAIN, message: "well?" });
  await page.getByRole("feed").getByText("well?").waitFor();
  await speaker.asked(1);
  const now = page.locator(".speaking");
  speaker.say("the first half ");
  await now.getByText("the first half").waitFor();
  assert.equal((await now.innerText()).trim(), "the first half", "and nothing is said to be missing");
  speaker.breakOff();
  await speaker.asked(2);
  speaker.say("the whole of it ");
  await now.getByText("the whole of it").waitFor();
  assert.equal((await now.innerText()).trim(), "the whole of it");
  speaker.end();
  await page.getByRole("article", { name: /^Answer/ }).waitFor();
});
