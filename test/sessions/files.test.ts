// Files, as an agent has them: all of its workspace, and nothing else.

import assert from "node:assert/strict";
import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test, type TestContext } from "node:test";
import type { Answer, Block } from "../../src/index.ts";
import { RESULT_BYTES_MAX } from "../../src/limits.ts";
import { blobPath, pathsIn } from "../../src/store/local/paths.ts";
import { scratch } from "../fixtures/home.ts";
import { Glass, saying, Stage } from "./stage.ts";

const MAIN = "agent:main:main";

function call(tool: string, given: object): string {
  return `!call ${tool} ${JSON.stringify(given)}`;
}

function calling(name: string, given: Record<string, unknown>): Answer {
  const content: Block[] = [{ type: "toolCall", id: "call_1", name, arguments: given }];
  const usage = { input: 1, output: 1, cacheRead: 0, cacheWrite: 0 };
  return { kind: "reply", content, usage, stopReason: "toolUse" };
}

/** The workspace of main, which is there before its first turn. */
function workspaceOf({ home }: Stage): string {
  const workspace = join(home, "agents", "main", "workspace");
  mkdirSync(workspace, { recursive: true });
  return workspace;
}

/** What a step of calls gave back, each in the order in which it was called. */
async function results(stage: Stage, calls: readonly string[]): Promise<string[]> {
  const { text } = await stage.sessions.ask(
    MAIN,
    calls.flatMap((each) => [each, "!then"]).join("\n") + "\n!say done",
  );
  assert.equal(text, "done");
  return (await stage.results(MAIN)).slice(-calls.length).map((each) => each.text);
}

test("a file is written, listed, found, edited and read, and is on the disk", async (t) => {
  const stage = await Stage.open(t);
  const workspace = workspaceOf(stage);
  const path = "notes/plan.md";
  const [written, listed, found, edited, read] = await results(stage, [
    call("write", { path, content: "# Plan\n\n- buy milk\n- call Ann\n" }),
    call("list", { depth: 2 }),
    call("search", { pattern: "call (\\w+)", glob: "*.md" }),
    call("edit", { path, edits: [{ old: "buy milk", new: "buy bread" }] }),
    call("read", { path, offset: 3, limit: 1 }),
  ]);
  assert.equal(written, "created notes/plan.md, 30 bytes");
  assert.match(listed ?? "", /^notes\/.*\n.*plan\.md\b.*\b30\b/);
  assert.match(found ?? "", /notes\/plan\.md.*4.*- call Ann/s);
  assert.match(edited ?? "", /^edited notes\/plan\.md\n[^]*-.*buy milk\n[^]*\+.*buy bread/);
  assert.match(read ?? "", /^- buy bread\n\n\[There is more\. Go on with offset 4\.\]$/);
  assert.equal(readFileSync(join(workspace, path), "utf8"), "# Plan\n\n- buy bread\n- call Ann\n");
  assert.deepEqual(readdirSync(join(workspace, "notes")), ["plan.md"]);
});

describe("a way out of the workspace", () => {
  /** A stage with a secret beside its home, and links to it in the workspace. */
  async function fenced(t: TestContext): Promise<{ readonly stage: Stage; readonly outside: string }> {
    const outside = scratch(t);
    writeFileSync(join(outside, "secret.txt"), "the merger closes on Friday\n");
    const stage = await Stage.open(t);
    const workspace = workspaceOf(stage);
    writeFileSync(join(workspace, "mine.txt"), "mine\n");
    mkdirSync(join(workspace, "here"));
    symlinkSync(join(outside, "secret.txt"), join(workspace, "file-link"));
    symlinkSync(outside, join(workspace, "folder-link"));
    symlinkSync(join(outside, "new.txt"), join(workspace, "dangling-link"));
    symlinkSync("folder-link", join(workspace, "link-to-link"));
    return { stage, outside };
  }

  test("is an error that names the reason, for every tool; nothing outside is seen or touched, and the session goes on", async (t) => {
    const { stage, outside } = await fenced(t);
    const secret = join(outside, "secret.txt");
    const edits = [{ old: "Friday", new: "Monday" }];
    const calls = [
      ...["../secret.txt", secret, "file-link", "folder-link/secret.txt", "link-to-link/secret.txt"].flatMap(
        (path) => [
          call("read", { path }),
          call("write", { path, content: "gone" }),
          call("edit", { path, edits }),
          call("search", { path, pattern: "merger" }),
        ],
      ),
      ...["..", "folder-link", "/", "link-to-link", "here/../.."].flatMap((path) => [
        call("list", { path }),
        call("search", { path, pattern: "merger" }),
      ]),
      call("write", { path: "dangling-link", content: "new" }),
      call("write", { path: "folder-link/new.txt", content: "new" }),
      call("write", { path: "here/../../new.txt", content: "new" }),
    ];
    for (const text of await results(stage, calls))
      assert.match(text, /^\w+ failed: .* leads outside of the workspace/);
    assert.ok((await stage.results(MAIN)).every(({ isError }) => isError));
    assert.equal(readFileSync(secret, "utf8"), "the merger closes on Friday\n");
    assert.deepEqual(readdirSync(outside), ["secret.txt"]);
    assert.doesNotMatch(await stage.bytes(MAIN), /closes on Friday/);
    const [read] = await results(stage, [call("read", { path: "mine.txt" })]);
    assert.equal(read, "mine");
  });

  test("is not gone by a search or a list of the whole workspace: links in it are not followed", async (t) => {
    const { stage } = await fenced(t);
    const [found, listed] = await results(stage, [
      call("search", { pattern: "merger|mine" }),
      call("list", { depth: 5 }),
    ]);
    assert.match(found ?? "", /mine\.txt/);
    assert.doesNotMatch(found ?? "", /merger closes/);
    assert.match(listed ?? "", /folder-link/);
    assert.doesNotMatch(listed ?? "", /secret\.txt\b.*\d+$/m);
  });
});

describe("what is read", () => {
  test("of a picture is a picture to the model at the next step and after a restart, and a blob in the transcript", async (t) => {
    const dot =
      "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
    const png = Buffer.concat([Buffer.from(dot, "base64"), Buffer.alloc(100_000, "and more")]);
    const data = png.toString("base64");
    const glass = new Glass((_request, times) =>
      Promise.resolve(times === 1 ? calling("read", { path: "cat.png" }) : saying("A cat.")),
    );
    const stage = await Stage.open(t, { agents: { main: { model: glass.id } } }, { models: [glass] });
    writeFileSync(join(workspaceOf(stage), "cat.png"), png);
    assert.equal((await stage.sessions.ask(MAIN, "What is on it?")).text, "A cat.");
    const shown = glass.requests[1]?.messages.at(-1);
    assert.equal(shown?.role, "toolResult");
    assert.deepEqual(shown.content, [
      { type: "text", text: `cat.png: image/png, ${png.length} bytes` },
      { type: "image", data, mimeType: "image/png" },
    ]);
    const bytes = await stage.bytes(MAIN);
    assert.ok(bytes.length < data.length);
    await stage.sessions.ask(MAIN, "And now?");
    const again = glass.requests[2]?.messages.find(({ role }) => role === "toolResult");
    assert.deepEqual(again?.content, shown.content);
  });

  test("of a long file is a page that fits a result whole; the pages together are the file", async (t) => {
    const stage = await Stage.open(t);
    const lines = Array.from({ length: 3_000 }, (_, at) => `line ${at + 1} of a long file`);
    writeFileSync(join(workspaceOf(stage), "long.txt"), `${lines.join("\n")}\n`);
    const pages: string[] = [];
    for (let offset: number | null = 1; offset !== null;) {
      const [page = ""] = await results(stage, [call("read", { path: "long.txt", offset })]);
      assert.ok(Buffer.byteLength(page) < RESULT_BYTES_MAX);
      const [text = "", next] = page.split("\n\n[There is more. Go on with offset ");
      pages.push(text);
      offset = next === undefined ? null : Number.parseInt(next, 10);
    }
    assert.ok(pages.length > 1);
    assert.equal(pages.join("\n"), lines.join("\n"));
    assert.doesNotMatch(await stage.bytes(MAIN), /"blob"/);
  });

  test("above the bound of a result, as what a program prints, is spilled: head and tail, and all of it in a blob", async (t) => {
    const agents = { main: { tools: { exec: true } } };
    const stage = await Stage.open(t, { agents });
    const [text = ""] = await results(stage, [call("exec", { command: "seq 1 20000" })]);
    assert.match(text, /^1\n2\n3\n/);
    assert.match(text, /\n\[… \d+ bytes left out; all \d+ are in blob [0-9a-f]{64} …\]\n/);
    assert.match(text, /\n19999\n20000\n\[exit 0, [^\n]*\]$/);
    assert.ok(Buffer.byteLength(text) <= RESULT_BYTES_MAX);
    const sha256 = / are in blob ([0-9a-f]{64}) /.exec(text)?.[1] ?? "";
    assert.match(readFileSync(blobPath(pathsIn(stage.home), sha256), "utf8"), /\n10000\n10001\n/);
  });
});

test("two sessions of an agent that edit one file at the same time lose nothing", async (t) => {
  const stage = await Stage.open(t);
  const keys = ["agent:main:direct:ann", "agent:main:direct:bob"];
  const lines = keys.flatMap((key) => Array.from({ length: 25 }, (_, at) => `${key} ${at}: to do`));
  const file = join(workspaceOf(stage), "list.txt");
  writeFileSync(file, lines.join("\n"));
  const edit = (line: string): string =>
    call("edit", {
      path: "list.txt",
      edits: [{ old: line, new: line.replace("to do", "done") }],
    });
  const asked = keys.map((key) =>
    stage.sessions.ask(
      key,
      lines
        .filter((line) => line.startsWith(`${key} `))
        .map(edit)
        .join("\n"),
    ),
  );
  for (const { outcome } of await Promise.all(asked)) assert.equal(outcome, "done");
  for (const key of keys) {
    const told = await stage.results(key);
    assert.deepEqual([told.length, told.filter(({ isError }) => isError)], [25, []]);
  }
  assert.equal(readFileSync(file, "utf8"), lines.join("\n").replaceAll("to do", "done"));
  assert.deepEqual(readdirSync(workspaceOf(stage)), ["list.txt"]);
});
