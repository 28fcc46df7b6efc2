import assert from "node:assert/strict";
import { test } from "node:test";
import { linesOf, linesWith, sectionsOf } from "./flat.ts";

const CONFIG = {
  home: "/srv/state",
  agents: { main: { model: "fast", failover: [], tools: { deny: ["exec", "files__*"] } } },
  scheduler: { slots: 32, reserve: null },
  mcpServers: {},
};

test("every value is a line under the name by which it is set, and nothing is left out", () => {
  assert.deepEqual(
    linesOf(CONFIG).map(({ name, value }) => `${name} = ${value}`),
    [
      'home = "/srv/state"',
      'agents.main.model = "fast"',
      "agents.main.failover = []",
      'agents.main.tools.deny.0 = "exec"',
      'agents.main.tools.deny.1 = "files__*"',
      "scheduler.slots = 32",
      "scheduler.reserve = null",
      "mcpServers = {}",
    ],
  );
});

test("a filter looks at names and values; sections are those of the first part, and of what has only one", () => {
  const found = linesWith(linesOf(CONFIG), "DENY exec");
  assert.deepEqual(
    found.map(({ name }) => name),
    ["agents.main.tools.deny.0"],
  );
  assert.deepEqual([...sectionsOf(linesOf(CONFIG)).keys()], ["general", "agents", "scheduler"]);
  assert.deepEqual(
    sectionsOf(linesOf(CONFIG))
      .get("general")
      ?.map(({ name }) => name),
    ["home", "mcpServers"],
  );
  assert.deepEqual(linesWith(linesOf(CONFIG), "nobody"), []);
  assert.equal(linesWith(linesOf(CONFIG), "  ").length, linesOf(CONFIG).length);
});
