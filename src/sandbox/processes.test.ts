import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { afterwards } from "../../test/fixtures/home.ts";
import { alive, DAEMON, KEY, OTHER_KEY, outputOf, Stage, until } from "../../test/sandbox/stage.ts";
import { unlessAborted } from "../base/waiting.ts";
import type { World } from "../base/world.ts";
import { KILLED_GRACE_MS } from "../limits.ts";
import { seenOf } from "./proc.ts";
import { plainEnv } from "./processes.ts";

const skip = process.platform === "linux" ? false : "trees are found through /proc";

test(
  "a program's output, errors and exit code come back, and its record is gone then",
  { skip },
  async (test) => {
    const stage = new Stage(test);
    const { text, exitCode, signal, left, running } = await stage.run("echo out; echo err >&2; exit 3");
    assert.deepEqual(text.split("\n").toSorted(), ["", "err", "out"]);
    assert.deepEqual({ exitCode, signal, left }, { exitCode: 3, signal: null, left: 0 });
    assert.deepEqual(stage.records, []);
    assert.deepEqual(stage.processes.of(KEY), []);
    assert.deepEqual(alive([running.id]), []);
  },
);

test("P1: what runs has a record, and is known as its session's", { skip }, async (test) => {
  const stage = new Stage(test);
  const running = await stage.start("cat");
  assert.deepEqual(stage.records, [`${running.id}.json`]);
  assert.deepEqual(stage.processes.of(KEY), [running]);
  assert.deepEqual(stage.processes.of(OTHER_KEY), []);
  const output = outputOf(running);
  running.stdin.end("read this");
  assert.equal((await running.ended).exitCode, 0);
  assert.equal(output.text(), "read this");
});

test("P1: what cannot be recorded is not executed, and the model is told why", { skip }, async (test) => {
  const stage = new Stage(test);
  writeFileSync(stage.folder, "in the way"); // as if the disk took no more
  const trace = join(stage.home, "trace");
  await assert.rejects(stage.start(`echo ran > "${trace}"`), /its record could not be written/);
  rmSync(stage.folder);
  assert.equal((await stage.run("exit 0")).exitCode, 0); // as soon as it can be, it is
  assert.ok(!existsSync(trace));
  assert.deepEqual(stage.records, []);
});

test("a program that a signal ended is told as shells do", { skip }, async (test) => {
  assert.equal((await new Stage(test).run("kill -9 $$")).exitCode, 137);
});

test("CPU time and memory are accounted", { skip }, async (test) => {
  const stage = new Stage(test);
  const busy = `const until = process.cpuUsage().user + 300_000; while (process.cpuUsage().user < until);`;
  const large = `const held = Buffer.alloc(64 * 1024 * 1024, 1); setTimeout(() => held.length, 5_000);`;
  const ran = await stage.run(`"${process.execPath}" -e '${busy}'`);
  assert.ok(ran.cpuMs >= 300, `${ran.cpuMs}`);
  const held = await stage.run(`"${process.execPath}" -e '${large}'`);
  assert.ok(held.peakBytes >= 48 * 1024 * 1024, `${held.peakBytes}`);
});

test("CPU time is known also of one that was killed", { skip }, async (test) => {
  const stage = new Stage(test);
  const running = await stage.start(
    `exec "${process.execPath}" -e 'process.on("SIGTERM", () => {}); while (process.cpuUsage().user < 400_000); console.log("on"); for (;;);'`,
  );
  const output = outputOf(running);
  await until(() => output.chars > 0); // It has computed for 400 ms, however long that took.
  await running.kill();
  const { exitCode, signal, cpuMs } = await running.ended;
  assert.deepEqual({ exitCode, signal }, { exitCode: null, signal: "SIGKILL" });
  assert.ok(cpuMs >= 300, `${cpuMs}`);
});

test(
  "kill ends one that ignores SIGTERM, and a daemon that left group, session and parent",
  { skip },
  async (test) => {
    const stage = new Stage(test);
    const running = await stage.start(`trap '' TERM; ${DAEMON}; while :; do sleep 1; done`);
    const output = outputOf(running);
    await until(() => output.text().includes("daemon"));
    assert.ok(alive([running.id]).length >= 3);
    await Promise.all([running.kill(), running.kill()]);
    assert.deepEqual(alive([running.id]), []);
    assert.deepEqual(stage.records, []);
    await running.ended;
  },
);

test("one that ends by SIGTERM has the time to, and its report is heard", { skip }, async (test) => {
  const stage = new Stage(test);
  const running = await stage.start(
    `trap 'echo goodbye; exit 7' TERM; echo on; while :; do sleep 0.05; done`,
  );
  const output = outputOf(running);
  await until(() => output.chars > 0);
  await running.kill();
  assert.equal((await running.ended).exitCode, 7);
  assert.match(output.text(), /goodbye/);
});

test(
  "what a program leaves behind is counted, keeps its record, and is ended by kill",
  { skip },
  async (test) => {
    const stage = new Stage(test);
    // The second has no marker and no parent; its session gives it away while the launcher waits.
    const { left, running } = await stage.run("sleep 1000 & env -i sleep 1000 & exit 0");
    assert.equal(left, 2);
    assert.deepEqual(stage.processes.of(KEY), [running]);
    assert.deepEqual(stage.records, [`${running.id}.json`]);
    assert.equal(alive([running.id]).length, 2); // the launcher waits as long as they live
    await running.kill();
    assert.deepEqual(alive([running.id]), []);
    assert.deepEqual(stage.records, []);
  },
);

/** Of a chain: each link begins the next one and ends at once. It ends by itself after some seconds, whatever happens. */
const CHAIN = "echo >> links; [ $1 -ge 2000 ] || sh chain $(($1 + 1)) & exit 0";

for (const isAlone of [true, false])
  test(
    `a chain of processes ${isAlone ? "" : "that began in the foreground "}is seen and ended, however short each of them lives`,
    { skip },
    async (test) => {
      const stage = new Stage(test);
      writeFileSync(join(stage.home, "chain"), CHAIN);
      const links = (): number => statSync(join(stage.home, "links")).size;
      for (let round = 0; round < 5; round += 1) {
        rmSync(join(stage.home, "links"), { force: true });
        const running = await stage.start(`sh chain 1; ${isAlone ? "exit 0" : "sleep 1000"}`);
        outputOf(running);
        await until(() => existsSync(join(stage.home, "links")));
        if (isAlone) {
          assert.ok((await running.ended).left > 0);
          assert.deepEqual(stage.records, [`${running.id}.json`]);
        }
        await running.kill();
        const before = links();
        await stage.world.sleep(50, new AbortController().signal);
        assert.equal(links(), before);
        assert.ok(before < 2_000, "it ended by itself");
        assert.deepEqual(stage.records, []);
      }
    },
  );

test("P2: what was left behind and ended by itself is forgotten", { skip }, async (test) => {
  const stage = new Stage(test);
  const { left } = await stage.run("sleep 0.6 & exit 0");
  assert.equal(left, 1);
  await until(() => stage.processes.of(KEY).length === 0);
  await until(() => stage.records.length === 0);
});

test(
  "killAll ends what is of one session, and all; also what is just being started",
  { skip },
  async (test) => {
    const stage = new Stage(test);
    const [one, other, own] = await Promise.all([
      stage.start("sleep 1000"),
      stage.start("sleep 1000", OTHER_KEY),
      stage.start("sleep 1000", null),
    ]);
    const late = stage.start("sleep 1000");
    await stage.processes.killAll(KEY);
    assert.deepEqual(alive([one.id, (await late).id]), []);
    assert.deepEqual(stage.processes.of(OTHER_KEY), [other]);
    await stage.processes.killEverything();
    assert.deepEqual(alive([other.id, own.id]), []);
    assert.deepEqual(stage.records, []);
  },
);

/** From now on a pause that only the usual grace has is never over, unless it is called off or the test is done. */
function withoutLongPauses(test: TestContext, world: World): void {
  const { promise: done, resolve } = Promise.withResolvers<void>();
  const really = world.sleep.bind(world);
  test.mock.method(world, "sleep", (ms: number, signal: AbortSignal) =>
    ms < 400 ? really(ms, signal) : unlessAborted(done, signal),
  );
  afterwards(test, resolve);
}

/** Three that ignore SIGTERM: one, its child, and a daemon that left group, session and parent. */
const STUBBORN = `trap '' TERM; ${DAEMON}; while :; do sleep 1; done`;

test(
  "a killed session's tree is gone after a short grace, also what hides and ignores",
  { skip },
  async (test) => {
    const stage = new Stage(test);
    withoutLongPauses(test, stage.world);
    const [one, other] = [await stage.start(STUBBORN), await stage.start("cat", OTHER_KEY)];
    const output = outputOf(one);
    await until(() => output.text().includes("daemon"));
    let isDone = false;
    const killed = stage.processes.killAll(KEY, KILLED_GRACE_MS).then(() => (isDone = true));
    await until(() => isDone);
    await killed;
    assert.deepEqual(alive([one.id]), []);
    assert.deepEqual(stage.records, [`${other.id}.json`]);
    assert.deepEqual(stage.processes.of(KEY), []);
  },
);

test("P3: what a killed daemon left has a short grace", { skip }, async (test) => {
  const stage = new Stage(test);
  withoutLongPauses(test, stage.world);
  const id = stage.world.newId();
  stage.ids.push(id);
  const env = { ...process.env, SESSIOND_PROCESS: id };
  const left = spawn("sh", ["-c", STUBBORN], { stdio: ["ignore", "pipe", "ignore"], detached: true, env });
  await once(left.stdout, "data"); // of the daemon
  const pid = left.pid ?? assert.fail();
  const startTicks = (await seenOf(pid))?.startTicks ?? assert.fail();
  const bootId = readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
  const owner = { pid: 2 ** 22 - 1, startTicks: 1 }; // nobody
  mkdirSync(stage.folder, { recursive: true });
  const record = { id, pid, startTicks, bootId, session: KEY, owner };
  writeFileSync(join(stage.folder, `${id}.json`), JSON.stringify(record));
  let ended: number | null = null;
  const reaped = stage.processes.reapLeft().then((trees) => (ended = trees));
  await until(() => ended !== null);
  assert.equal(await reaped, 1);
  assert.deepEqual(alive([id]), []);
  assert.deepEqual(stage.records, []);
});

test("what cannot be started is refused in words, and leaves nothing", { skip }, async (test) => {
  const stage = new Stage(test);
  const { processes, home } = stage;
  const usual = { cwd: home, env: plainEnv(process.env), session: KEY };
  const refused = (more: object, why: RegExp): Promise<void> =>
    assert.rejects(processes.start({ command: ["true"], ...usual, ...more }), why);
  await refused({ cwd: join(home, "nowhere") }, /there is no folder/);
  await refused({ command: ["no-such-program"] }, /there is no program "no-such-program"/);
  await refused({ command: ["exit", "3"] }, /there is no program "exit"/); // of the shell, not of the system
  await refused({ command: [] }, /there is no program/);
  await refused({ command: ["true", "x".repeat(3_000_000)] }, /too long for this system/);
  assert.deepEqual(processes.of(KEY), []);
  assert.equal(existsSync(stage.folder), false);
});

test("arguments are handed over as they are", { skip }, async (test) => {
  const stage = new Stage(test);
  const command = ["printf", "%s\n", "a b", "$(echo no)", `'"`, "*", ""];
  const running = await stage.processes.start({
    command,
    cwd: stage.home,
    env: plainEnv(process.env),
    session: null,
  });
  const output = outputOf(running);
  await running.ended;
  assert.equal(output.text(), `a b\n$(echo no)\n'"\n*\n\n`);
});

test("the environment has what programs need, and no keys", () => {
  const env = plainEnv({
    PATH: "/bin",
    LC_ALL: "C",
    TZ: "UTC",
    ANTHROPIC_API_KEY: "k",
    PATHS: "x",
    NODE_OPTIONS: "--x",
  });
  assert.deepEqual(env, { PATH: "/bin", LC_ALL: "C", TZ: "UTC" });
});
