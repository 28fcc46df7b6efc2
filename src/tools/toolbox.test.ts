import assert from "node:assert/strict";
import { test } from "node:test";
import { z } from "zod";
import type { Agent, ToolPolicy } from "../config/config.ts";
import { Toolbox, type ToolboxParts } from "./toolbox.ts";
import type { Tool } from "./tool.ts";

function named(name: string): Tool {
  return { name, description: name, input: z.object({}), replay: "safe", run: async () => "" };
}

let asked: readonly string[] = []; // servers, by the last who wanted tools

const mcp: ToolboxParts["mcp"] = {
  names: ["files", "wiki"],
  tools: async (servers) => {
    asked = servers;
    return servers.map((server) => named(`${server}__look`));
  },
};

function boxWith(...given: readonly Tool[]): Toolbox {
  return new Toolbox({ ours: [named("read")], exec: [named("exec")], given, mcp });
}

function policyOf(given: Partial<ToolPolicy>): ToolPolicy {
  return { allow: null, deny: [], exec: false, visibility: "tree", within: [], ...given };
}

/** What an agent of that policy has, and which servers were asked. */
async function toolsFor(given: Partial<ToolPolicy>): Promise<{ names: string[]; asked: readonly string[] }> {
  asked = [];
  const found = await boxWith().of({ tools: policyOf(given) } as Agent);
  return { names: found.map(({ name }) => name), asked };
}

test("programs are run only by agents whose policy says so, and deny still wins", async () => {
  assert.deepEqual((await toolsFor({})).names, ["read", "files__look", "wiki__look"]);
  assert.deepEqual((await toolsFor({ exec: true })).names, ["read", "exec", "files__look", "wiki__look"]);
  assert.deepEqual((await toolsFor({ exec: true, deny: ["exec", "wiki__*"] })).names, [
    "read",
    "files__look",
  ]);
  assert.deepEqual((await toolsFor({ allow: ["exec"] })).names, []);
});

test("a server whose tools are all denied is not started", async () => {
  assert.deepEqual((await toolsFor({ deny: ["wiki__*"] })).asked, ["files"]);
  assert.deepEqual((await toolsFor({ deny: ["*"] })).asked, []);
  assert.deepEqual((await toolsFor({ allow: ["read"] })).asked, []);
  assert.deepEqual((await toolsFor({ allow: ["read", "wiki__look"] })).asked, ["wiki"]);
  assert.deepEqual((await toolsFor({ allow: ["wi*"] })).names, ["wiki__look"]);
});

test("what a program brings along has a name of its own, and a form that a model can fill in", async () => {
  const found = await boxWith(named("weather")).of({ tools: policyOf({ allow: ["weather"] }) } as Agent);
  assert.deepEqual(
    found.map(({ name }) => name),
    ["weather"],
  );
  assert.throws(() => boxWith(named("read")), /a tool of sessiond is called read too/);
  assert.throws(() => boxWith(named("exec")), /a tool of sessiond is called exec too/);
  assert.throws(() => boxWith(named("wiki__look")), /a tool of wiki is called wiki__look too/);
  assert.throws(
    () => boxWith({ ...named("odd"), input: z.string() }),
    /the tool odd: its schema is not one of an object/,
  );
  assert.throws(
    () => boxWith({ ...named("odd"), input: z.union([z.object({}), z.string()]) }),
    /the tool odd/,
  );
});

test("names in a policy that nothing can have are found", () => {
  const allow = ["read", "raed", "files__any", "file__*", "fil*", "*", "*__read", "re*"];
  assert.deepEqual(boxWith().unknownIn(policyOf({ allow, deny: ["exec", "exce"] })), [
    "raed",
    "file__*",
    "*__read",
    "exce",
  ]);
});
