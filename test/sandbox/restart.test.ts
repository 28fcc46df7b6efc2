import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import files from "node:fs/promises";
import { syncBuiltinESMExports } from "node:module";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { fileURLToPath } from "node:url";
import { RealWorld } from "../../src/base/world.ts";
import { seenOf } from "../../src/sandbox/proc.ts";
import { afterwards } from "../fixtures/home.ts";
import { Program } from "../fixtures/program.ts";
import { alive, DAEMON, outputOf, Stage, until } from "./stage.ts";

const skip = process.platform === "linux" ? false : "trees are found through /proc";

/** A daemon: has `processes` on the folder of the stage, in a world that a test may break. */
function daemon(test: TestContext, stage: Stage, source: string): Program {
  const of = (file: string): string =>
    JSON.stringify(fileURLToPath(new URL(`../../src/${file}`, import.meta.url)));
  const prologue = `
    const { Processes, plainEnv } = await import(${of("sandbox/processes.ts")});
    const processesIn = (world) => new Processes({ folder: home + "/processes", world, log: openLog("silent") });
    const starting = (script) => ({ command: ["sh", "-c", script], cwd: home, env: plainEnv(process.env), session: null });
  `;
  return new Program(test, { home: stage.home, source: prologue + source });
}

test(
  "P3: what a killed daemon left is ended by the next start, also what hid from it",
  { skip },
  async (test) => {
    const stage = new Stage(test);
    const program = daemon(
      test,
      stage,
      `const processes = processesIn(world);
     const one = await processes.start(starting(${JSON.stringify(`trap '' TERM; ${DAEMON}; sleep 1000`)}));
     const two = await processes.start(starting("sleep 1000"));
     one.stdout.once("data", () => say([one.id, two.id]));
     await forever();`,
    );
    const ids = (await program.hear()) as string[];
    stage.ids.push(...ids);
    assert.equal(await stage.another().reapLeft(), 0); // its owner lives
    assert.ok(alive(ids).length >= 4);
    await program.kill();
    assert.ok(alive(ids).length >= 4); // they outlive it: nobody else ends them
    assert.equal(await stage.another().reapLeft(), 2);
    assert.deepEqual(alive(ids), []);
    assert.deepEqual(stage.records, []);
  },
);

for (const dies of [true, false])
  test(
    `P1: a daemon that ${dies ? "dies" : "does not die"} between record and start has executed ${dies ? "nothing" : "it"}`,
    { skip },
    async (test) => {
      const stage = new Stage(test);
      const program = daemon(
        test,
        stage,
        `let asked = 0; // The clock is asked for the first time when the record is there and nothing was executed.
       class Breaking extends RealWorld {
         nowMs() {
           if (${dies} && asked++ === 0) process.kill(process.pid, "SIGKILL");
           return super.nowMs();
         }
       }
       const running = await processesIn(new Breaking()).start(starting("touch executed"));
       await running.ended;`,
      );
      const { code } = await program.ended;
      assert.equal(code, dies ? null : 0);
      if (dies) {
        const [name = ""] = stage.records;
        const id = name.replace(".json", "");
        assert.equal((JSON.parse(readFileSync(join(stage.folder, name), "utf8")) as { id: string }).id, id);
        await until(() => alive([id]).length === 0); // The launcher ends by itself.
        assert.equal(await stage.another().reapLeft(), 0);
      }
      assert.deepEqual(stage.records, []);
      assert.equal(existsSync(join(stage.home, "executed")), !dies);
    },
  );

test("hostile records kill nobody", { skip }, async (test) => {
  const stage = new Stage(test);
  const victim = spawn("sleep", ["1000"], { stdio: "ignore", detached: true });
  afterwards(test, () => victim.kill("SIGKILL"));
  const pid = victim.pid ?? 0;
  const startTicks = (await seenOf(pid))?.startTicks ?? 0;
  const bootId = readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
  const world = new RealWorld();
  const owner = { pid: 2 ** 22 - 1, startTicks: 1 };
  const usual = { pid, startTicks, bootId, session: null, owner };
  mkdirSync(stage.folder, { recursive: true });
  const put = (content: (id: string) => string | object): void => {
    const id = world.newId();
    const text = content(id);
    writeFileSync(join(stage.folder, `${id}.json`), typeof text === "string" ? text : JSON.stringify(text));
  };
  put((id) => ({ id, ...usual })); //                               all of it right, but it is not ours
  put((id) => ({ id, ...usual, startTicks: startTicks - 1 })); //   the pid was given again
  put((id) => ({ id, ...usual, bootId: "another" }));
  put((id) => ({ id, ...usual, pid: -1 }));
  put((id) => ({ id, ...usual, pid: 1, startTicks: 0 }));
  put((id) => ({ id, ...usual, pid: `${pid}` }));
  put((id) => ({ id, ...usual, more: 1 }));
  put(() => ({ id: world.newId(), ...usual }));
  put((id) => ({ id, ...usual, session: "x".repeat(10_000_000) }));
  put(() => "");
  put(() => "null");
  put(() => "{");
  put(() => "\0".repeat(5_000));
  symlinkSync("/dev/zero", join(stage.folder, `${world.newId()}.json`));
  mkdirSync(join(stage.folder, `${world.newId()}.json`));
  writeFileSync(join(stage.folder, "notes.txt"), "not ours");
  assert.equal(await stage.another().reapLeft(), 0);
  assert.deepEqual(victim.exitCode ?? victim.signalCode, null);
  assert.equal((await seenOf(pid))?.startTicks, startTicks);
  assert.equal(stage.records.filter((name) => name.endsWith(".json")).length, 1); // a folder is no record of ours
  assert.ok(stage.records.includes("notes.txt"));
});

test(
  "a record that cannot be read now stays, and the next start ends what it is about",
  { skip },
  async (test) => {
    const stage = new Stage(test);
    const id = stage.world.newId();
    stage.ids.push(id);
    const left = spawn("sleep", ["1000"], { stdio: "ignore", env: { ...process.env, SESSIOND_PROCESS: id } });
    const ended = once(left, "exit");
    const { startTicks = 0 } = (await seenOf(left.pid ?? 0)) ?? {};
    const bootId = readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
    const owner = { pid: 2 ** 22 - 1, startTicks: 1 };
    mkdirSync(stage.folder, { recursive: true });
    const path = join(stage.folder, `${id}.json`);
    writeFileSync(path, JSON.stringify({ id, pid: left.pid, startTicks, bootId, session: null, owner }));

    const really = files.open;
    const opening = test.mock.method(files, "open", async (...how: Parameters<typeof really>) => {
      if (how[0] === path) throw Object.assign(new Error("too many open files"), { code: "EMFILE" });
      return await really(...how);
    });
    syncBuiltinESMExports(); // What was imported by name is the same from now on.
    assert.equal(await stage.another().reapLeft(), 0);
    assert.equal(opening.mock.calls.filter(({ arguments: [opened] }) => opened === path).length, 1);
    opening.mock.restore();
    syncBuiltinESMExports();
    assert.deepEqual(stage.records, [`${id}.json`]);
    assert.match(stage.logged.join(""), /its record stays/);
    assert.equal(alive([id]).length, 1);

    assert.equal(await stage.another().reapLeft(), 1);
    assert.deepEqual(stage.records, []);
    await ended;
  },
);

test(
  "a record whose process still runs in a living daemon is left alone, also by itself",
  { skip },
  async (test) => {
    const stage = new Stage(test);
    const running = await stage.start("cat");
    const output = outputOf(running);
    assert.equal(await stage.processes.reapLeft(), 0);
    assert.deepEqual(stage.records, [`${running.id}.json`]);
    running.stdin.end("still here");
    await running.ended;
    assert.equal(output.text(), "still here");
  },
);
