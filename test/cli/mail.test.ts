// What waits for a session, as a shell sees it.

import assert from "node:assert/strict";
import { test } from "node:test";
import { MESSAGE_TEXT_BYTES_MAX, PAGE_BYTES_MAX } from "../../src/limits.ts";
import { Daemon } from "../gateway/daemon.ts";
import { ran } from "./stage.ts";

test("mail lists what waits, by whom and how, and does nothing to a terminal", async (t) => {
  const daemon = await Daemon.start(t);
  const run = (...words: readonly string[]) => ran(t, daemon, ...words);
  const nothing = await run("mail", "main");
  assert.deepEqual(nothing, { exit: 0, out: "nothing waits for agent:main:main\n", err: "" });
  await run("stop", "main");
  await run("send", "main", "and March?", "--mode", "followup");
  await run("steer", "main", "\u001b[2Jonly in euro");
  const { out, exit } = await run("mail", "main");
  assert.equal(exit, 0);
  assert.match(out, /^SINCE +FROM +KIND +MODE +TEXT\n/);
  assert.match(
    out,
    /\n.* +a person +message +followup +and March\?\n.* +a person +message +steer +.*only in euro\n$/,
  );
  assert.ok(!out.includes("\u001b"));
  const some = await run("mail", "main", "--limit", "1");
  assert.match(some.out, /and March\?\nthere are later ones: -n\n$/);
  const page = JSON.parse((await run("mail", "main", "--json")).out) as {
    readonly letters: readonly { readonly text: string; readonly mode: string }[];
    readonly next: null;
  };
  assert.deepEqual(
    page.letters.map(({ mode }) => mode),
    ["followup", "steer"],
  );
  assert.equal(page.next, null);
  await run("cont", "main");
  await run("send", "main", "!say done", "--mode", "followup", "--wait");
  assert.match((await run("mail", "main")).out, /^nothing waits/);
  const none = await run("mail", "agent:main:thread:none");
  assert.equal(none.exit, 66);
  assert.match(none.err, /thread:none/);
});

test("mail shows as many as are wanted, also where one page has room for fewer", async (t) => {
  const daemon = await Daemon.start(t);
  const sessionKey = "agent:main:main";
  await ran(t, daemon, "stop", "main");
  const count = Math.ceil(PAGE_BYTES_MAX / MESSAGE_TEXT_BYTES_MAX) + 1;
  for (let n = 0; n < count; n += 1)
    await daemon.call("send", { sessionKey, message: `${n} ${"x".repeat(MESSAGE_TEXT_BYTES_MAX - 100)}` });
  assert.notEqual((await daemon.call("mail", { sessionKey })).next, null);
  const { out } = await ran(t, daemon, "mail", "main", "-n", "300");
  assert.deepEqual(
    [...out.matchAll(/ (\d+) x+/g)].map(([, n]) => Number(n)),
    Array.from({ length: count }, (_, n) => n),
  );
  assert.ok(!out.includes("later ones"));
});
