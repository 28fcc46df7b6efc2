// What only files can show of a history that went on in new ones: where its lines are, and which files a reader opens.

import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync, readlinkSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { test, type TestContext } from "node:test";
import { Home, said } from "../../../test/fixtures/home.ts";
import { DEFAULT_AGENT, namedKey, type SessionKey } from "../../routing/key.ts";
import type { Header } from "../../transcript/entry.ts";
import type { Of } from "../rules.ts";
import { readPage } from "./history.ts";
import { Trails } from "./trails.ts";
import { transcriptPath } from "./paths.ts";
import { snapshot } from "./spliced.ts";

const KEY = namedKey(DEFAULT_AGENT, "long");

async function rotate(home: Home, keep: Of<"rotate">["keep"] = "context"): Promise<string> {
  const after = (await home.row(KEY)).transcript.lastSeq;
  const transcript = home.world.newId();
  await home.store.commit([{ do: "rotate", key: KEY, fence: 0, after, transcript, cwd: "/tmp", keep }]);
  return transcript;
}

/** Three files, oldest first: of entries 1–30, 25–60, 55–90. */
async function threeFiles(
  t: TestContext,
): Promise<{ readonly home: Home; readonly files: readonly string[] }> {
  const home = await Home.open(t);
  await home.talk("long", ...words(1, 30));
  const ids = [(await home.row(KEY)).transcript.id];
  for (const last of [30, 60]) {
    await home.append(KEY, words(last + 1, last + 5).map(said), { contextSeq: last - 5 });
    ids.push(await rotate(home));
    await home.say(KEY, ...words(last + 6, last + 30));
  }
  return { home, files: ids.map((id) => transcriptPath(home.paths, DEFAULT_AGENT, id)) };
}

function words(from: number, to: number): string[] {
  return Array.from({ length: to - from + 1 }, (_, at) => `entry ${from + at} ${"x".repeat(12_000)}`);
}

function linesOf(file: string): readonly string[] {
  return readFileSync(file, "utf8").split("\n").slice(0, -1);
}

test("a new file begins with a first line that names the one before, and then with the very lines it had", async (t) => {
  const { home, files } = await threeFiles(t);
  await home.close();
  for (const [at, file] of files.entries()) {
    const [first = "", ...lines] = linesOf(file);
    const header = JSON.parse(first) as Header;
    const before = files[at - 1];
    const firstSeq = [undefined, 25, 55][at];
    assert.deepEqual(
      [header.previous, header.firstSeq, header.key],
      [before?.split("/").at(-1), firstSeq, KEY],
    );
    if (before === undefined) continue;
    const copied = linesOf(before).slice(
      1 + (firstSeq ?? 1) - ((JSON.parse(linesOf(before)[0] ?? "") as Header).firstSeq ?? 1),
    );
    assert.ok(copied.length > 5);
    assert.deepEqual(lines.slice(0, copied.length), copied);
  }
});

const skip = process.platform === "linux" ? false : "what is open is asked of /proc";

test(
  "a page at the end opens the newest file and no other; one over an end opens the next",
  { skip },
  async (t) => {
    const { home, files } = await threeFiles(t);
    const { id } = (await home.row(KEY)).transcript;
    await home.close();
    const database = new DatabaseSync(home.paths.state);
    const openNow = (): string[] =>
      readdirSync("/proc/self/fd")
        .flatMap((fd) => {
          try {
            return [readlinkSync(`/proc/self/fd/${fd}`)];
          } catch {
            return [];
          }
        })
        .filter((path) => path.endsWith(".jsonl"));
    try {
      const asked = [
        [{ from: "context" }, 1],
        [{ from: 70 }, 1],
        [{ since: 90 }, 1],
        [{ before: null }, 1],
        [{ before: 90 }, 1],
        [{ before: 60 }, 2],
      ] as const;
      for (const [range, count] of asked) {
        const taken = snapshot(database, home.paths, id);
        assert(taken);
        readPage(taken, range, { stop: null, trails: new Trails() });
        assert.deepEqual(openNow().toSorted(), files.slice(-count).toSorted(), JSON.stringify(range));
        taken.source.close();
      }
      assert.deepEqual(openNow(), []);
    } finally {
      database.close();
    }
  },
);

test("a file that was rotated away and never written is written by the next start", async (t) => {
  const { home, files } = await threeFiles(t);
  // At once: nothing of this is in its file, and then it is nobody's current one any more.
  await home.append(KEY, [said("one"), said("two")], { contextSeq: 88 });
  await rotate(home, "nothing");
  await home.say(KEY, "anew");
  await home.reopen();
  assert.ok(
    linesOf(files[2] ?? "")
      .at(-1)
      ?.includes('"two"'),
  );
});

test("deleting takes all files of a history", async (t) => {
  const { home, files } = await threeFiles(t);
  await home.store.checkpoint();
  for (const file of files) assert.ok(existsSync(file));
  await home.store.commit([{ do: "delete", key: KEY satisfies SessionKey, expect: null }]);
  await home.store.checkpoint();
  for (const file of files) assert.ok(!existsSync(file));
});
