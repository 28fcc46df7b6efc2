// Who a client is, and what it may, as every door tells it.

import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { ran } from "../cli/stage.ts";
import { scratch } from "../fixtures/home.ts";
import { Stage } from "../sessions/stage.ts";
import { Daemon } from "./daemon.ts";
import { Line } from "./line.ts";
import { connected, served, TOKENS } from "./mcp-rig.ts";

test("every token is told its name and what it may, by every door, and nothing of another", async (t) => {
  const daemon = await Daemon.start(t);
  const owner = { name: "owner", scope: "admin", token: daemon.token };
  const others = [];
  for (const scope of ["read", "operate", "admin"] as const)
    others.push(await daemon.call("createToken", { name: `one-${scope}`, scope }));
  for (const { name, scope, token } of [owner, ...others]) {
    const asked = await daemon.fetch("/v1/whoami", { token });
    assert.deepEqual([asked.status, await asked.json()], [200, { name, scope }]);
    await using line = await Line.open(daemon, token);
    assert.deepEqual((await line.rpc("whoami", {})).result, { name, scope });
    const file = join(scratch(t), "token");
    writeFileSync(file, `${token}\n`, { mode: 0o600 });
    const said = await ran(t, daemon, "whoami", "--token-file", file);
    assert.deepEqual(said, { exit: 0, out: `${name} (${scope})\n`, err: "" });
    const json = await ran(t, daemon, "whoami", "--json", "--token-file", file);
    assert.deepEqual([json.exit, JSON.parse(json.out)], [0, { name, scope }]);
  }
});

test("a client of MCP is told all that its token may, though this tool only looks", async (t) => {
  const { url } = await served(t);
  for (const [token, scope] of Object.entries(TOKENS)) {
    const client = await connected(t, url, "legacy", token);
    const { structuredContent } = await client.callTool({ name: "whoami", arguments: {} });
    assert.equal((structuredContent as { readonly scope: string }).scope, scope);
  }
});

test("who has no token, or none that is known any more, is told nothing", async (t) => {
  const daemon = await Daemon.start(t);
  const { token } = await daemon.call("createToken", { name: "gone", scope: "read" });
  assert.equal(
    (await daemon.fetch("/v1/whoami?name=owner", { token })).status,
    400,
    "one cannot ask for another",
  );
  await daemon.call("revokeToken", { name: "gone" });
  for (const wrong of [null, "wrong", token]) {
    const refused = await daemon.fetch("/v1/whoami", { token: wrong });
    assert.equal(refused.status, 401);
    assert.doesNotMatch(await refused.text(), /owner|gone/);
  }
  const file = join(scratch(t), "token");
  writeFileSync(file, `${token}\n`, { mode: 0o600 });
  const said = await ran(t, daemon, "whoami", "--token-file", file);
  assert.equal(said.out, "");
  assert.match(said.err, /not known here; it may have been revoked/);
  assert.notEqual(said.exit, 0);
});

test("a program that embeds sessions has no token, and may everything", async (t) => {
  const { sessions } = await Stage.open(t);
  assert.deepEqual(await sessions.call("whoami", {}), { name: "local", scope: "admin" });
});
