// What docs tell of the config is what the program does. The example and the errors of the page are in load.test.ts.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { DEFAULT_AGENT } from "../routing/key.ts";
import { PROMPT_FILE_CHARS_MAX } from "./defaults.ts";
import { configSchema, readConfig } from "./load.ts";
import { PUBLISHED, publishedText } from "./publish.ts";

const PAGE = readFileSync(new URL("../../docs/config.md", import.meta.url), "utf8");

test("docs/formats/config.schema.json is the schema of today", () => {
  const same = readFileSync(PUBLISHED, "utf8") === publishedText();
  assert.ok(same, "write it again: node src/config/publish.ts");
});

test("every key of the schema has a sentence for editors", () => {
  const silent: string[] = [];
  const look = (node: unknown, path: string): void => {
    if (typeof node !== "object" || node === null) return;
    for (const [key, below] of Object.entries(node)) {
      if (
        path.endsWith("/properties") &&
        !/^[A-Z].*\.$/.test((below as { description?: string }).description ?? "")
      )
        silent.push(`${path}/${key}`);
      look(below, `${path}/${key}`);
    }
  };
  look(configSchema(), "");
  assert.deepEqual(silent, []);
});

test("the tables of docs/config.md have every key and its default", () => {
  const config = readConfig({}, { homeDir: "/users/ann", cwd: "/srv", env: {} });
  const main = config.agents.get(DEFAULT_AGENT);
  for (const [key, value] of [
    ["home", "`~/.sessiond`"],
    ["session.dmScope", `\`${config.session.dmScope}\``],
    ["session.threads", `\`${config.session.threads}\``],
    ["session.sendPolicy.default", `\`${config.session.sendPolicy.default}\``],
    ["session.collectMs", config.session.collectMs],
    ["scheduler.slots", config.scheduler.slots],
    ["scheduler.reserve", config.scheduler.reserve],
    ["scheduler.share", config.scheduler.share],
    ["scheduler.processes", config.scheduler.processes],
    ["tools.exec", `\`${main?.tools.exec}\``],
    ["log.level", `\`${config.log.level}\``],
    ["model", `\`${main?.model}\``],
    ["thinking", `\`${main?.thinking}\``],
    ["verbose", `\`${main?.verbose}\``],
    ["tools.visibility", `\`${main?.tools.visibility}\``],
    ["limits.stepsPerTurn", main?.limits.stepsPerTurn],
    ["limits.turnSeconds", main?.limits.turnSeconds],
    ["limits.toolSeconds", main?.limits.toolSeconds],
  ])
    assert.ok(PAGE.includes(`| \`${key}\` | ${value} |`), `${key} is ${value}`);
  assert.ok(PAGE.includes(`the first ${PROMPT_FILE_CHARS_MAX}\ncharacters`));
});
