import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { SimulatedWorld } from "../../src/base/world.ts";
import { Disk } from "./disk.ts";
import { liveOn, type Lives } from "./lives.ts";
import { saidBefore, type Tree } from "./operation.ts";
import { play, PROLOGUE } from "./stage.ts";
import { canTrace } from "./trace.ts";
import { readTree } from "./tree.ts";

const skip = (await canTrace()) ?? false;

/** The first program is killed when it has said "now", and the second runs on what it left. */
async function liveTwice(
  t: TestContext,
  first: string,
  second: string,
): Promise<{ readonly lives: Lives; readonly root: string }> {
  const { recording, root } = await play(t, first);
  const now = recording.operations.findIndex(
    (operation) => operation.op === "said" && Buffer.from(operation.bytes).toString() === "now\n",
  );
  const program = join(root, "../second.mjs");
  await writeFile(program, PROLOGUE + second);
  const lives = await liveOn(recording, now + 1, {
    command: process.execPath,
    args: [program, root],
    env: {},
    root,
  });
  return { lives, root };
}

function plain(tree: Tree): Record<string, string | null> {
  return Object.fromEntries([...tree].map(([path, bytes]) => [path, bytes && Buffer.from(bytes).toString()]));
}

/** What the cuts at the very end leave, each once. */
function leftAtTheEnd({ operations, ...rest }: Lives): Set<string> {
  const disk = new Disk({ operations, ...rest });
  return new Set(
    Array.from({ length: 200 }, (_, seed) => {
      const world = new SimulatedWorld(seed);
      return JSON.stringify(plain(disk.cut(operations.length, () => world.random()).tree));
    }),
  );
}

test(
  "what a killed life did not sync can be lost although the next one synced the file",
  { skip },
  async (t) => {
    const first = `fs.writeFileSync(root + "/f", "one "); say("now"); fs.writeFileSync(root + "/g", "never");`;
    const second = `
    const fd = fs.openSync(root + "/f", "r+");
    fs.writeSync(fd, "two", 4);
    fs.fsyncSync(fd);
  `;
    const forgetful = await liveTwice(t, first, second);
    assert.deepEqual(leftAtTheEnd(forgetful.lives), new Set(["{}", '{"f":"one two"}']));
    const careful = await liveTwice(t, first, `${second} syncDirectory(root);`);
    assert.deepEqual(leftAtTheEnd(careful.lives), new Set(['{"f":"one two"}']));
  },
);

test(
  "a second life finds what the first wrote, synced or not, and nothing that came after its end",
  { skip },
  async (t) => {
    const { lives, root } = await liveTwice(
      t,
      `
      fs.mkdirSync(root + "/d");
      fs.writeFileSync(root + "/d/a", "a");
      fs.renameSync(root + "/d/a", root + "/d/b");
      say("now");
      fs.rmSync(root + "/d/b");
    `,
      `
      say(fs.readdirSync(root + "/d").join());
      fs.renameSync(root + "/d/b", root + "/d/c");
      fs.appendFileSync(root + "/d/c", "more");
      fs.writeFileSync(root + "/d/b", "new");
    `,
    );
    const { operations, second, left } = lives;
    assert.deepEqual(plain(left), { d: null, "d/b": "a" });
    assert.equal(saidBefore(operations, second), "now\n");
    assert.equal(saidBefore(operations.slice(second), operations.length), "b\n");
    const running = new Disk(lives).running(operations.length);
    assert.deepEqual(plain(running), { d: null, "d/b": "new", "d/c": "amore" });
    assert.deepEqual(plain(running), plain(await readTree(root)));
  },
);
