import assert from "node:assert/strict";
import { test } from "node:test";
import { z } from "zod";
import type { Agent, ToolPolicy } from "../config/config.ts";
import { Toolbox } from "./toolbox.ts";
import type { Tool } from "./tool.ts";

function named(name: string): Tool {
  return { name, description: name, input: z.object({}), replay: "safe", run: async () => "" };
}

/** What an agent of that policy has, and which servers were asked. */
async function toolsFor(given: Partial<ToolPolicy>): Promise<{ names: string[]; asked: readonly string[] }> {
  let asked: readonly string[] = [];
  const box = new Toolbox({
    tools: [named("read")],
    exec: [named("exec")],
    mcp: {
      names: ["files", "wiki"],
      tools: async (servers) => {
        asked = servers;
        return servers.map((server) => named(`${server}__look`));
      },
    },
  });
  const tools: ToolPolicy = { allow: null, deny: [], exec: false, visibility: "tree", ...given };
  const found = await box.of({ tools } as Agent);
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
