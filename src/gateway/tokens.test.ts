import assert from "node:assert/strict";
import { chmodSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { RealWorld } from "../base/world.ts";
import { scratch } from "../../test/fixtures/home.ts";
import { fault } from "../../test/sessions/stage.ts";
import { Tokens } from "./tokens.ts";

const world = new RealWorld();

function opened(
  home: string,
  more: { readonly given?: string; readonly mayMake?: boolean } = {},
): Promise<Tokens> {
  return Tokens.open({ home, world, given: more.given, mayMake: more.mayMake ?? true });
}

function homeOf(test: TestContext): string {
  return join(scratch(test), "home");
}

test("the first start makes the owner's token, for nobody else to read, and the next takes the same", async (t) => {
  const home = homeOf(t);
  const first = await opened(home);
  const token = readFileSync(join(home, "token"), "utf8").trim();
  assert.ok(token.length >= 40);
  assert.equal(statSync(join(home, "token")).mode & 0o777, 0o600);
  assert.deepEqual(first.bearer(token), { kind: "person", principal: "owner", scope: "admin" });
  assert.equal((await opened(home)).bearer(token)?.principal, "owner");
});

test("first starts at the same time have the same token, and leave nothing else behind", async (t) => {
  const home = homeOf(t);
  const starts = await Promise.all(Array.from({ length: 8 }, () => opened(home)));
  const token = readFileSync(join(home, "token"), "utf8").trim();
  for (const tokens of starts) assert.equal(tokens.bearer(token)?.principal, "owner");
  assert.deepEqual(readdirSync(home), ["token"]);
});

test("only the very token is its bearer's", async (t) => {
  const tokens = await opened(homeOf(t), { given: "a-token-of-the-environment" });
  for (const wrong of [
    "",
    "a-token-of-the-environmen",
    "a-token-of-the-environment ",
    "A-token-of-the-environment",
  ])
    assert.equal(tokens.bearer(wrong), null, JSON.stringify(wrong));
  assert.equal(tokens.bearer("a-token-of-the-environment")?.scope, "admin");
});

test("a token of the environment is the owner's, and no file is made of it", async (t) => {
  const home = homeOf(t);
  await opened(home, { given: "a-token-of-the-environment" });
  assert.throws(() => statSync(join(home, "token")), { code: "ENOENT" });
  await assert.rejects(opened(home, { given: "short" }), fault("bad_input", /16 characters/));
});

test("where other machines reach it, no token is made that nobody has seen", async (t) => {
  const home = homeOf(t);
  await assert.rejects(opened(home, { mayMake: false }), fault("unauthorized", /SESSIOND_TOKEN/));
  await opened(home);
  await opened(home, { mayMake: false });
});

test("a named token has its scope, survives a restart, is told once, and is gone once it is revoked", async (t) => {
  const home = homeOf(t);
  const tokens = await opened(home);
  const { token, ...row } = await tokens.create("dashboard", "read");
  assert.deepEqual(await tokens.list(), [row]);
  assert.ok(!readFileSync(join(home, "tokens.json"), "utf8").includes(token));
  assert.equal(statSync(join(home, "tokens.json")).mode & 0o777, 0o600);
  const again = await opened(home);
  assert.deepEqual(again.bearer(token), { kind: "person", principal: "dashboard", scope: "read" });
  const heard: string[] = [];
  again.onRevoked((name) => heard.push(name));
  assert.equal(await again.revoke("dashboard"), true);
  assert.equal(await again.revoke("dashboard"), false);
  assert.deepEqual([again.bearer(token), heard], [null, ["dashboard"]]);
  assert.equal((await opened(home)).bearer(token), null);
});

test("two tokens that are made at once are both there, and a name is given once", async (t) => {
  const home = homeOf(t);
  const tokens = await opened(home);
  const made = await Promise.allSettled(["a", "b", "a"].map((name) => tokens.create(name, "operate")));
  assert.deepEqual(
    made.map(({ status }) => status),
    ["fulfilled", "fulfilled", "rejected"],
  );
  assert.deepEqual(
    (await (await opened(home)).list()).map(({ name }) => name),
    ["a", "b"],
  );
  await assert.rejects(tokens.create("owner", "admin"), fault("exists", /owner/));
  await assert.rejects(tokens.revoke("owner"), fault("forbidden", /file/));
});

test("a file that others can read, or that is none, is refused with what to do", async (t) => {
  const home = homeOf(t);
  await opened(home);
  chmodSync(join(home, "token"), 0o644);
  await assert.rejects(opened(home), fault("forbidden", /chmod 600/));
  rmSync(join(home, "token"));
  writeFileSync(join(home, "tokens.json"), '[{"name": 1}]', { mode: 0o600 });
  await assert.rejects(opened(home), fault("bad_input", /tokens\.json/));
});
