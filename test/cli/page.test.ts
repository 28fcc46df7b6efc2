// The link to the page: who is told it, and that it opens the page.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { afterwards } from "../fixtures/home.ts";
import { Daemon } from "../gateway/daemon.ts";
import { NO_TERMINAL, pidFile, ran, terminal } from "./stage.ts";

test("`page` prints the link, for people and for machines, if somebody is there who takes the token", async (t) => {
  const daemon = await Daemon.start(t);
  const link = `${daemon.url}/#t=${daemon.token}`;
  assert.deepEqual(await ran(t, daemon, "page"), { exit: 0, out: `${link}\n`, err: "" });
  assert.deepEqual(JSON.parse((await ran(t, daemon, "page", "--json")).out), { url: link });
  const wrong = await ran(t, { env: { ...daemon.env, SESSIOND_TOKEN: "a-token-of-another-home" } }, "page");
  assert.equal(wrong.exit, 77);
  await daemon.kill();
  const alone = await ran(t, daemon, "page");
  assert.equal(alone.exit, 69);
  assert.equal(alone.out, "");
});

test("what is told into a pipe has no token", async (t) => {
  const daemon = await Daemon.start(t);
  assert.match(daemon.said, /page {4}npx sessiond page\n/);
  assert.doesNotMatch(daemon.said, new RegExp(daemon.token));
  assert.doesNotMatch(daemon.log, new RegExp(daemon.token));
});

test(
  "who starts it at a terminal is told the link; not with a token of the environment",
  { skip: NO_TERMINAL },
  async (t) => {
    const daemon = await Daemon.start(t);
    await daemon.kill();
    for (const env of [daemon.env, { ...daemon.env, SESSIOND_TOKEN: "given-by-the-environment" }]) {
      const started = terminal(t, { home: daemon.home, env }, "serve");
      afterwards(t, () => ended(daemon));
      await started.seen(/ready in /);
      if (env === daemon.env) assert.ok(started.out.includes(`/#t=${daemon.token} `), started.out);
      else {
        assert.match(started.out, /page {4}npx sessiond page\s/);
        assert.doesNotMatch(started.out, /given-by-the-environment/);
      }
      ended(daemon);
      await started.ended();
    }
  },
);

/** What runs at the terminal is no child of ours. It may have ended. */
function ended(daemon: Daemon): void {
  try {
    process.kill(Number(readFileSync(pidFile(daemon), "utf8")), "SIGTERM");
  } catch (error) {
    assert.equal((error as NodeJS.ErrnoException).code, "ESRCH");
  }
}
