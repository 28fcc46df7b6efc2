// The command line without a daemon: what is typed wrong, what needs none, and how it ends.

import assert from "node:assert/strict";
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test, type TestContext } from "node:test";
import { fileURLToPath } from "node:url";
import { scratch } from "../fixtures/home.ts";
import { CLI } from "../gateway/daemon.ts";
import { ran, type Ran } from "./stage.ts";

const BIN = fileURLToPath(new URL("../../bin/sessiond.cjs", import.meta.url));
const { version } = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8")) as {
  version: string;
};

/** Nothing listens there. */
const NOWHERE = "http://127.0.0.1:1";

function alone(
  t: TestContext,
  more: NodeJS.ProcessEnv = {},
): {
  readonly home: string;
  readonly env: NodeJS.ProcessEnv;
  readonly run: (...words: readonly string[]) => Promise<Ran>;
} {
  const home = join(scratch(t), "home");
  const kept = Object.entries(process.env).filter(([name]) => !/^SESSIOND_|_API_KEY$/.test(name));
  const env = {
    ...Object.fromEntries(kept),
    SESSIOND_HOME: home,
    SESSIOND_URL: NOWHERE,
    NO_COLOR: "1",
    ...more,
  };
  return { home, env, run: (...words) => ran(t, { env }, ...words) };
}

describe("the command line alone", { concurrency: 2 }, () => {
  test("what is typed wrong is told with what was probably meant, and exits with 64", async (t) => {
    const { run } = alone(t);
    const wrong: readonly (readonly [words: string, says: RegExp])[] = [
      ["sned main hi", /^sessiond: there is no command "sned"; did you mean send\?\n$/],
      ["xyzzy", /sessiond help/],
      [
        "ps --sate idle",
        /^sessiond: ps has no option --sate; did you mean --state\?; a word that begins with - comes after --\n$/,
      ],
      ["ps --state asleep", /idle, queued, running/],
      ["top extra", /one word too many/],
      ["send", /^sessiond: send needs key\. Usage: sessiond send \[options\] <key> \[text\.\.\.\]\n$/],
      ["ps --limit many", /--limit is a number/],
      ["spawn x --resume", /--name/],
      ["serve --port 99999", /--port/],
      ["send main --really?", /a word that begins with - comes after --/],
      ["config frobnicate", /show, path, check, set, unset/],
    ];
    for (const [words, says] of wrong) {
      const { exit, out, err } = await run(...words.split(" "));
      assert.deepEqual([exit, out], [64, ""], words);
      assert.match(err, says, words);
    }
  });

  test("for machines an error is one document on standard output", async (t) => {
    const { run } = alone(t);
    for (const [words, code, exit] of [
      [["ps", "--json"], "unreachable", 69],
      [["sned", "--json"], "bad_input", 64],
      [["--json"], "bad_input", 64],
    ] as const) {
      const got = await run(...words);
      assert.deepEqual([got.exit, got.err], [exit, ""]);
      const { error } = JSON.parse(got.out) as { error: { code: string; message: string; todo: string } };
      assert.equal(error.code, code);
      assert.ok(error.message !== "" && error.todo !== "");
    }
  });

  test("without a daemon it says how to start one", async (t) => {
    const { exit, err } = await alone(t).run("ps");
    assert.equal(exit, 69);
    assert.match(
      err,
      new RegExp(
        `^sessiond: no sessiond answers at ${NOWHERE}\\. Start it with \`npm start\` or \`sessiond serve\`\\.\n`,
      ),
    );
  });

  test("a home without a daemon is told so, and doctor says it too", async (t) => {
    const { home, run } = alone(t, { SESSIOND_URL: undefined });
    const { exit, err } = await run("ps");
    assert.equal(exit, 69);
    assert.match(err, new RegExp(`^sessiond: no daemon runs on ${home}\\. Start it with .*sessiond serve`));
    const doctor = await run("doctor");
    assert.equal(doctor.exit, 0);
    assert.match(doctor.out, new RegExp(`^note +daemon +no daemon runs on ${home}`, "m"));
  });

  test("help, and the version by every name, end well", async (t) => {
    const { env, run } = alone(t);
    assert.match((await run("help")).out, /^Usage: sessiond [^]*\n {2}ps\|list /);
    assert.match((await run("send", "--help")).out, /Exit codes with --wait/);
    assert.deepEqual(await run("--version"), { exit: 0, out: `${version}\n`, err: "" });
    const stub = await ran(t, { env, program: [process.execPath, BIN] }, "--version");
    assert.deepEqual(stub, { exit: 0, out: `${version}\n`, err: "" });
  });

  test("a pipe that is closed ends it without a word", async (t) => {
    const { env } = alone(t);
    // Who reads it has gone before a word is written: the sleep is longer than `true` takes, and it waits for that one's end.
    const command = `"${process.execPath}" "${CLI}" completion bash`;
    const script = `{ while kill -0 $(cat reader) 2>/dev/null; do sleep 0.02; done; ${command}; echo $? > exit; } | { echo $BASHPID > reader; exec 0<&-; }`;
    const folder = scratch(t);
    writeFileSync(join(folder, "reader"), "1");
    const { err } = await ran(t, { env, program: ["bash", "-c", `cd "${folder}" && ${script}`] });
    assert.equal(err, "");
    assert.equal(readFileSync(join(folder, "exit"), "utf8"), "141\n");
  });

  test("a configuration is set, kept with its comments, and refused where the daemon would refuse it", async (t) => {
    const { home, run } = alone(t);
    const path = join(home, "config.json5");
    assert.equal((await run("config", "path")).out, `${path}\n`);
    assert.equal((await run("config", "set", "agents.main.model", "rehearsal/small")).exit, 0);
    writeFileSync(path, readFileSync(path, "utf8").replace("{", "{ // mine"));
    assert.equal((await run("config", "set", "agents.main.limits.cost", "5")).exit, 0);
    assert.match(readFileSync(path, "utf8"), /\{ \/\/ mine/);
    const { agents } = JSON.parse((await run("config", "show", "--json")).out) as {
      agents: { main: { model: string; limits: { cost: number } } };
    };
    assert.deepEqual([agents.main.model, agents.main.limits.cost], ["rehearsal/small", 5]);
    const hostile = "a\u202eb\u009bc";
    const server = { command: "files", args: [hostile] };
    assert.equal((await run("config", "set", "mcpServers.files", JSON.stringify(server))).exit, 0);
    for (const more of [["--json"], []]) {
      const { out } = await run("config", "show", ...more);
      assert.doesNotMatch(out, /[\u202e\u009b]/, "a terminal would obey it");
      assert.deepEqual((JSON.parse(out) as { mcp: { files: object } }).mcp.files, {
        ...server,
        kind: "stdio",
        name: "files",
        env: {},
        cwd: process.cwd(),
      });
    }
    const before = readFileSync(path, "utf8");
    const refused = await run("config", "set", "agents.main.modl", "x");
    assert.equal(refused.exit, 64);
    assert.match(refused.err, /did you mean model\?/);
    assert.equal(readFileSync(path, "utf8"), before);
    assert.equal((await run("config", "unset", "agents.main.limits.cost")).exit, 0);
    assert.equal((await run("config", "check")).exit, 0);
    writeFileSync(path, "{ agents: ");
    assert.equal((await run("config", "check")).exit, 64);
  });

  test("doctor finds a home that others may read, and a model without its key", async (t) => {
    const { home, run } = alone(t);
    mkdirSync(home, { mode: 0o700 });
    assert.equal((await run("doctor")).exit, 0);
    chmodSync(home, 0o755);
    await run("config", "set", "agents.main.model", "anthropic/claude-sonnet-4-5");
    const { exit, out } = await run("doctor", "--json");
    const { findings } = JSON.parse(out) as { findings: { about: string; grade: string; todo: string }[] };
    const wrong = findings.filter(({ grade }) => grade === "wrong");
    assert.deepEqual([exit, wrong.map(({ about }) => about)], [1, ["home", "model"]]);
    assert.equal(wrong[0]?.todo, `chmod 700 ${home}`);
    assert.match(wrong[1]?.todo ?? "", /ANTHROPIC_API_KEY/);
  });

  test("the token of a home is not sent to another machine", async (t) => {
    const { home, run } = alone(t, { SESSIOND_URL: "http://gateway.invalid:7717" });
    mkdirSync(home, { mode: 0o700 });
    writeFileSync(join(home, "token"), "of-this-home\n", { mode: 0o600 });
    const { exit, err } = await run("mcp");
    assert.equal(exit, 77);
    assert.match(err, /no token for http:\/\/gateway\.invalid:7717 was found/);
  });
});
