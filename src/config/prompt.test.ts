import assert from "node:assert/strict";
import fs from "node:fs/promises";
import { syncBuiltinESMExports } from "node:module";
import { chmodSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test, type TestContext } from "node:test";
import { DEFAULT_AGENT } from "../routing/key.ts";
import type { Agent } from "./config.ts";
import { PROMPT_FILE_CHARS_MAX, PROMPT_READ_BYTES_MAX } from "./defaults.ts";
import { readConfig } from "./load.ts";
import { Prompts } from "./prompt.ts";

const folder = mkdtempSync(join(tmpdir(), "prompt-"));
after(() => rmSync(folder, { recursive: true }));

/** An agent whose workspace is new and has these files. */
function agentWith(files: Readonly<Record<string, string | Uint8Array>>): Agent {
  const workspace = mkdtempSync(join(folder, "workspace-"));
  for (const [name, text] of Object.entries(files)) writeFileSync(join(workspace, name), text);
  return agentIn(workspace);
}

function agentIn(workspace: string): Agent {
  const { agents } = readConfig(
    { agents: { main: { workspace } } },
    { homeDir: folder, cwd: folder, env: {} },
  );
  const agent = agents.get(DEFAULT_AGENT);
  assert.ok(agent);
  return agent;
}

/** How often files are opened from now on. */
function opened(t: TestContext): () => number {
  const { mock } = t.mock.method(fs, "open");
  syncBuiltinESMExports();
  t.after(() => {
    mock.restore();
    syncBuiltinESMExports();
  });
  return () => mock.callCount();
}

test("the files are in the prompt in their order, each under its name", async () => {
  const agent = agentWith({
    "MEMORY.md": "four",
    "USER.md": "three",
    "SOUL.md": "two\n",
    "AGENTS.md": "\none\n\nmore\n",
    "README.md": "not this",
  });
  const whole = "# AGENTS.md\n\none\n\nmore\n\n# SOUL.md\n\ntwo\n\n# USER.md\n\nthree\n\n# MEMORY.md\n\nfour";
  assert.equal(await new Prompts().of(agent, "session"), whole);
});

test("a sub-agent gets AGENTS.md only", async () => {
  const agent = agentWith({ "AGENTS.md": "one", "SOUL.md": "two", "USER.md": "three", "MEMORY.md": "four" });
  assert.equal(await new Prompts().of(agent, "subagent"), "# AGENTS.md\n\none");
});

test("a file that is missing or blank leaves no trace, and neither does a missing folder", async () => {
  const prompts = new Prompts();
  assert.equal(
    await prompts.of(agentWith({ "USER.md": "ann", "SOUL.md": " \n" }), "session"),
    "# USER.md\n\nann",
  );
  assert.equal(await prompts.of(agentIn(join(folder, "none", "at", "all")), "session"), "");
});

test("a change is seen at the next call: other words, another file, none", async () => {
  const prompts = new Prompts();
  const agent = agentWith({ "AGENTS.md": "one" });
  const path = join(agent.workspace, "AGENTS.md");
  assert.match(await prompts.of(agent, "session"), /one$/);
  writeFileSync(path, "three");
  assert.match(await prompts.of(agent, "session"), /three$/);
  writeFileSync(`${path}.new`, "seven");
  renameSync(`${path}.new`, path);
  assert.match(await prompts.of(agent, "session"), /seven$/);
  rmSync(path);
  assert.equal(await prompts.of(agent, "session"), "");
  writeFileSync(path, "back");
  assert.match(await prompts.of(agent, "session"), /back$/);
});

test("a file that has not changed is not read again", async (t) => {
  const prompts = new Prompts();
  const agent = agentWith({ "AGENTS.md": "one", "SOUL.md": "two" });
  const count = opened(t);
  const first = await prompts.of(agent, "session");
  assert.equal(count(), 2);
  assert.equal(await prompts.of(agent, "session"), first);
  await prompts.of(agent, "subagent");
  assert.equal(count(), 2);
  writeFileSync(join(agent.workspace, "SOUL.md"), "other");
  await prompts.of(agent, "session");
  assert.equal(count(), 3);
});

test("a long file is cut, and the prompt says how many characters are left out", async () => {
  const exact = "x".repeat(PROMPT_FILE_CHARS_MAX);
  const prompts = new Prompts();
  assert.equal(await prompts.of(agentWith({ "AGENTS.md": exact }), "session"), `# AGENTS.md\n\n${exact}`);
  const cut = await prompts.of(agentWith({ "AGENTS.md": `${exact}yyy`, "SOUL.md": "two" }), "session");
  const note = "[The other 3 characters of this file are left out.]";
  assert.equal(cut, `# AGENTS.md\n\n${exact}\n\n${note}\n\n# SOUL.md\n\ntwo`);
});

test("no character is cut in two", async () => {
  const before = "x".repeat(PROMPT_FILE_CHARS_MAX - 1);
  const cut = await new Prompts().of(agentWith({ "AGENTS.md": `${before}😀!` }), "session");
  assert.ok(cut.isWellFormed());
  assert.equal(cut, `# AGENTS.md\n\n${before}\n\n[The other 3 characters of this file are left out.]`);
});

test("of a file above 1 MiB the beginning is in the prompt, and the rest is told in bytes", async () => {
  for (const char of ["x", "é", "漢", "😀"]) {
    const text = char.repeat(PROMPT_READ_BYTES_MAX);
    const kept = text.slice(0, PROMPT_FILE_CHARS_MAX);
    const left = Buffer.byteLength(text) + 1 - Buffer.byteLength(kept);
    const prompt = await new Prompts().of(agentWith({ "MEMORY.md": `${text}.` }), "session");
    assert.equal(prompt, `# MEMORY.md\n\n${kept}\n\n[The other ${left} bytes of this file are left out.]`);
  }
});

test("what is there and cannot be read is bad_input with its path, until it can be read", async () => {
  const prompts = new Prompts();
  const agent = agentWith({ "AGENTS.md": "one" });
  const path = join(agent.workspace, "SOUL.md");
  mkdirSync(path);
  const message = `${path} cannot be read: it is not a file`;
  await assert.rejects(prompts.of(agent, "session"), { name: "Fault", code: "bad_input", message });
  assert.equal(await prompts.of(agent, "subagent"), "# AGENTS.md\n\none");
  rmSync(path, { recursive: true });
  assert.equal(await prompts.of(agent, "session"), "# AGENTS.md\n\none");
  const file = agentIn(join(agent.workspace, "AGENTS.md")); // a file in the place of the folder
  await assert.rejects(prompts.of(file, "session"), { code: "bad_input" });
});

test(
  "a file that may no longer be read is bad_input, though it was remembered",
  { skip: process.getuid?.() === 0 && "root may read everything" },
  async () => {
    const prompts = new Prompts();
    const agent = agentWith({ "AGENTS.md": "one" });
    await prompts.of(agent, "session");
    chmodSync(join(agent.workspace, "AGENTS.md"), 0);
    await assert.rejects(prompts.of(agent, "session"), {
      code: "bad_input",
      message: /AGENTS\.md cannot be read: EACCES/,
    });
  },
);
