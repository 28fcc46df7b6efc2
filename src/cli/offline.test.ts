import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { filledHome, KEYS } from "../../test/fixtures/content.ts";
import { Home, scratch } from "../../test/fixtures/home.ts";

const MAIN = fileURLToPath(new URL("main.ts", import.meta.url));

interface Answer {
  readonly exit: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

function run(...words: readonly string[]): Answer {
  const { status, stdout, stderr } = spawnSync(process.execPath, [MAIN, ...words], { encoding: "utf8" });
  return { exit: status, stdout, stderr };
}

/** One line of standard output, and nothing else. */
function json(answer: Answer): unknown {
  assert.equal(answer.stderr, "");
  assert.equal(answer.stdout.indexOf("\n"), answer.stdout.length - 1);
  return JSON.parse(answer.stdout);
}

const sessions = Object.keys(KEYS).length;

test("fsck of a sound home says so and exits with 0", async (t) => {
  const home = await filledHome(t);
  const people = run("fsck", "--home", home.path);
  assert.deepEqual(people, {
    exit: 0,
    stdout: `${sessions} sessions: rows, mail, journal, blobs and files agree\n`,
    stderr: "",
  });
  const machines = run("fsck", "--home", home.path, "--json");
  assert.deepEqual([machines.exit, json(machines)], [0, { sessions, findings: [] }]);
});

test("fsck of a damaged home names the place and exits with 1", async (t) => {
  const home = await filledHome(t);
  rmSync(home.paths.state);
  const people = run("fsck", "--home", home.path);
  assert.equal(people.exit, 1);
  assert.match(
    people.stdout,
    /^damage {2}.*state\.sqlite {2}missing, .* run rebuild\n0 sessions: 1 damaged place\n$/,
  );
  const machines = run("fsck", "--home", home.path, "--json");
  const answer = json(machines) as { findings: readonly { grade: string; where: string }[] };
  assert.deepEqual([machines.exit, answer.findings.length], [1, 1]);
  assert.deepEqual([answer.findings[0]?.grade, answer.findings[0]?.where], ["damage", home.paths.state]);
});

test("a note is no damage: fsck tells it and exits with 0", async (t) => {
  const home = await filledHome(t);
  writeFileSync(join(home.paths.agents, "main", "sessions", "unknown.jsonl"), "");
  const { exit, stdout } = run("fsck", "--home", home.path);
  assert.match(stdout, /^note {2}.*unknown\.jsonl {2}no session has this transcript/);
  assert.equal(exit, 0);
});

test("a home in use is refused with 78, and the words name who has it", async (t) => {
  const home = await Home.open(t);
  for (const command of ["fsck", "rebuild"]) {
    const people = run(command, "--home", home.path);
    assert.deepEqual([people.exit, people.stdout], [78, ""]);
    assert.match(
      people.stderr,
      new RegExp(`^sessiond: ${home.path} is in use by sessiond pid ${process.pid} `),
    );
    const machines = run(command, "--home", home.path, "--json");
    const answer = json(machines) as { ok: boolean; error: { code: string; message: string } };
    assert.deepEqual([machines.exit, answer.ok, answer.error.code], [78, false, "in_use"]);
  }
});

test("a command or an option that is none, one that is missing, and a word too many are refused with 64", (t) => {
  const wrong = [
    ["fcsk"],
    [],
    ["fsck", "--hoem", "/"],
    ["backup", "--home", scratch(t)],
    ["fsck", scratch(t)],
  ];
  for (const words of wrong) {
    const people = run(...words);
    assert.deepEqual([people.exit, people.stdout], [64, ""], words.join(" "));
    assert.match(people.stderr, /^sessiond: /);
    const machines = run(...words, "--json");
    const answer = json(machines) as { ok: boolean; error: { code: string } };
    assert.deepEqual(
      [machines.exit, answer.ok, answer.error.code],
      [64, false, "bad_input"],
      words.join(" "),
    );
  }
});

test("a home that is not there is refused with 66, and not made", (t) => {
  const home = join(scratch(t), "nowhere");
  for (const words of [["fsck"], ["rebuild"], ["backup", "--to", `${home}.copy`]])
    assert.equal(run(...words, "--home", home).exit, 66, words[0]);
  assert.deepEqual([existsSync(home), existsSync(`${home}.copy`)], [false, false]);
});

test("a directory that is no home is refused with 66, and nothing is put into it", (t) => {
  const directory = scratch(t);
  writeFileSync(join(directory, "letter.txt"), "");
  for (const command of ["fsck", "rebuild"])
    assert.equal(run(command, "--home", directory).exit, 66, command);
  assert.deepEqual(readdirSync(directory), ["letter.txt"]);
});

test("rebuild says what it restored and what is lost", async (t) => {
  const home = await filledHome(t);
  const machines = run("rebuild", "--home", home.path, "--json");
  const result = json(machines) as { sessions: number; lost: readonly string[]; keptAs: string };
  assert.deepEqual([machines.exit, result.sessions, result.lost.length], [0, sessions, 8]);
  assert.ok(existsSync(result.keptAs));
  rmSync(home.paths.state);
  const people = run("rebuild", "--home", home.path);
  assert.deepEqual([people.exit, people.stderr], [0, ""]);
  assert.match(
    people.stdout,
    new RegExp(
      `^not restored: there is no old state: .*\n${sessions} sessions restored from their transcripts\n$`,
    ),
  );
});

test("backup says what it copied; a directory that is not empty is refused with 73", async (t) => {
  const home = await filledHome(t);
  const to = join(scratch(t), "copy");
  const people = run("backup", "--home", home.path, "--to", to);
  assert.deepEqual(people, {
    exit: 0,
    stdout: `${sessions} sessions and 2 blobs copied to ${to}\n`,
    stderr: "",
  });
  const machines = run("backup", "--home", home.path, "--to", to, "--json");
  const answer = json(machines) as { ok: boolean; error: { code: string } };
  assert.deepEqual([machines.exit, answer.ok, answer.error.code], [73, false, "exists"]);
});

test("a backup of a damaged home is made, names what is damaged, and exits with 1", async (t) => {
  const home = await filledHome(t);
  await home.reopen();
  rmSync(await home.file(KEYS.main));
  await home.close();
  const people = run("backup", "--home", home.path, "--to", join(scratch(t), "copy"));
  assert.equal(people.exit, 1);
  assert.match(people.stdout, /^damaged in the home, and so in the copy \(see fsck\): agent:main:main\n/);
});

test("what the disk refuses is the disk's fault, not the caller's: 74", async (t) => {
  const home = await filledHome(t);
  const file = join(scratch(t), "file");
  writeFileSync(file, "");
  const machines = run("backup", "--home", home.path, "--to", join(file, "copy"), "--json");
  const answer = json(machines) as { error: { code: string } };
  assert.deepEqual([machines.exit, answer.error.code], [74, "disk_failed"]);
});
