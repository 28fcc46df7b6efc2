// Archives in the offline commands: fsck looks at them, a backup has them, and rebuild finds them.

import assert from "node:assert/strict";
import {
  cpSync,
  existsSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, test, type TestContext } from "node:test";
import { appending, Home, said, scratch } from "../../test/fixtures/home.ts";
import { Program } from "../../test/fixtures/program.ts";
import { DEFAULT_AGENT, namedKey, type SessionKey } from "../routing/key.ts";
import { packedPath, transcriptPath } from "../store/local/paths.ts";
import { backup } from "./backup.ts";
import { fsck, type Finding } from "./fsck.ts";
import { rebuild } from "./rebuild.ts";

const LONG = namedKey(DEFAULT_AGENT, "long");
const ANEW = namedKey(DEFAULT_AGENT, "anew");
const PLAIN = namedKey(DEFAULT_AGENT, "plain");

async function archive(home: Home, key: SessionKey): Promise<string> {
  const { id: transcript, lastSeq } = (await home.row(key)).transcript;
  await home.store.commit([{ do: "archive", key, expect: { transcript, lastSeq }, why: "stale" }]);
  return transcript;
}

async function rotate(home: Home, key: SessionKey, keep: "context" | "nothing"): Promise<void> {
  const after = (await home.row(key)).transcript.lastSeq;
  const transcript = home.world.newId();
  await home.store.commit([{ do: "rotate", key, fence: 0, after, transcript, cwd: "/", keep }]);
}

/** A closed home: one archive over two packed files with a blob, one of a session that began anew, packed, and a plain one. */
async function shelved(t: TestContext): Promise<{ home: Home; long: string; old: string; plain: string }> {
  const home = await Home.open(t);
  const blob = await home.store.putBlob(Buffer.from("a result"));
  await home.talk("long", "one", "two", "three");
  const naming = { type: "text", text: "named", blob } as const;
  const message = { role: "user", content: [naming], timestamp: 0 } as const;
  await home.append(LONG, [{ type: "message", timestamp: "2026-01-01T00:00:00.000Z", message }]);
  const compaction = {
    ...{ type: "compaction" as const, timestamp: "2026-01-01T00:00:01.000Z", summary: "so far" },
    ...{ firstKeptEntryId: (await entryIds(home, LONG))[2] ?? "", tokensBefore: 1 },
  } as const;
  await home.append(LONG, [compaction], { contextSeq: 3 });
  await rotate(home, LONG, "context");
  await home.say(LONG, "five");
  await home.talk("anew", "before");
  await rotate(home, ANEW, "nothing");
  await home.say(ANEW, "after");
  await home.talk("plain", "as it is");
  const long = await archive(home, LONG);
  const [old] = (await home.store.archives({ key: ANEW })).rows;
  for (const id of [long, old?.id ?? ""]) await home.store.pack(id);
  const plain = await archive(home, PLAIN);
  await home.close();
  return { home, long, old: old?.id ?? "", plain };
}

async function entryIds(home: Home, key: SessionKey): Promise<string[]> {
  const items = await Array.fromAsync(home.store.entries((await home.row(key)).transcript.id, { since: 0 }));
  return items.map((item) => (item.type === "gap" ? "" : item.id));
}

async function findings(path: string): Promise<readonly Finding[]> {
  return (await fsck(path, 0, () => {})).findings;
}

/** Everything that was put away, brought back and read. */
async function readAll(home: Home): Promise<Record<string, string[]>> {
  const texts: Record<string, string[]> = {};
  for (const { id, key } of (await home.store.archives({})).rows) {
    await home.store.unpack(id);
    const present = await home.store.session(key);
    const aside =
      present === null
        ? []
        : [
            {
              do: "archive",
              key,
              expect: { transcript: present.transcript.id, lastSeq: present.transcript.lastSeq },
              why: "asked",
            } as const,
          ];
    await home.store.commit([...aside, { do: "restore", archive: id, over: null }]);
    texts[key] = await home.read(key);
  }
  return texts;
}

const TEXTS = {
  [LONG]: ["one", "two", "three", "named", "so far", "five"],
  [ANEW]: ["before"],
  [PLAIN]: ["as it is"],
};

test("a copy has all archives, each in its form", async (t) => {
  const { home } = await shelved(t);
  assert.deepEqual(await findings(home.path), []);
  const to = join(scratch(t), "copy");
  const { sessions, blobs, skipped, damaged } = backup(home.path, to, () => {});
  assert.deepEqual(
    { sessions, blobs, skipped, damaged },
    { sessions: 1, blobs: 1, skipped: [], damaged: [] },
  );
  assert.deepEqual(await findings(to), []);
  assert.deepEqual(filesIn(to), filesIn(home.path));
  assert.deepEqual(await readAll(await Home.open(t, to)), TEXTS);
});

test("a copy names what is missing of an archive in the home itself", async (t) => {
  const { home, long } = await shelved(t);
  rmSync(packedPath(home.paths, DEFAULT_AGENT, long));
  const to = join(scratch(t), "copy");
  assert.deepEqual(backup(home.path, to, () => {}).damaged, [`archive ${long} of ${LONG}`]);
});

test("a copy made while sessions go, are packed, come back and are purged is sound", async (t) => {
  const path = join(scratch(t), "home");
  const source = `
    const store = await open();
    const key = (n) => namedKey(DEFAULT_AGENT, String(n));
    for (let n = 0; n < 6; n += 1)
      await store.commit([opening(key(n), world.newId()), appending(key(n), 0, [said("x".repeat(20_000)), said("2")])]);
    say("ready");
    let last = 2;
    for (;;) for (let n = 0; n < 6; n += 1) {
      const row = await store.session(key(n));
      if (row === null) continue;
      const { id: transcript, lastSeq } = row.transcript;
      await store.commit([{ do: "archive", key: key(n), expect: { transcript, lastSeq }, why: "asked" }]);
      await store.pack(transcript);
      if (n === 5) { await store.commit([{ do: "purge", archive: transcript }]); continue; }
      await store.unpack(transcript);
      await store.commit([{ do: "restore", archive: transcript, over: null }, appending(key(n), lastSeq, [said("more")])]);
    }
  `;
  const program = new Program(t, { home: path, source });
  assert.equal(await program.hear(), "ready");
  for (let round = 0; round < 8; round += 1) {
    const to = join(scratch(t), "copy");
    const { damaged } = backup(path, to, () => {});
    assert.deepEqual(damaged, []);
    const copy = await Home.open(t, to); // its journal is written into its files
    await copy.close();
    assert.deepEqual(copy.deaths, []);
    assert.deepEqual(await findings(to), []);
    await copy.reopen();
    const rows = (await copy.store.sessions({})).rows.length;
    assert.ok(rows + (await copy.store.archives({})).rows.length >= 5);
    for (const texts of Object.values(await readAll(copy))) assert.equal(texts[1], "2");
    await copy.close();
  }
  await program.kill();
});

test("rebuild makes archives of what is packed, and sessions of what is not", async (t) => {
  const { home, long, old } = await shelved(t);
  const before = filesIn(home.path);
  await home.reopen();
  const known = new Map((await home.store.archives({})).rows.map((each) => [each.id, each]));
  await home.close();
  home.loseDatabases();
  const { sessions, lost } = rebuild(home.path, 77, () => {});
  assert.deepEqual([sessions, lost.length], [2, 1]); // that there was no old state
  assert.deepEqual(filesIn(home.path), before);
  assert.deepEqual(await findings(home.path), []);
  await home.reopen();
  const { rows } = await home.store.archives({});
  assert.deepEqual(rows.map(({ id }) => id).toSorted(), [long, old].toSorted());
  for (const { id, key, agent, why, archivedAtMs, session, bytes, packedBytes } of rows) {
    const was = known.get(id);
    assert.deepEqual([why, archivedAtMs], ["asked", 77]);
    assert.deepEqual(
      { key, agent, bytes, packedBytes, transcript: session.transcript, title: session.title },
      {
        ...{ key: was?.key, agent: was?.agent, bytes: was?.bytes, packedBytes: was?.packedBytes },
        ...{ transcript: was?.session.transcript, title: was?.session.title },
      },
    );
  }
  assert.deepEqual(await home.read(PLAIN), TEXTS[PLAIN]);
  assert.deepEqual(await home.read(ANEW), ["after"]);
  const { [PLAIN]: _plain, ...others } = TEXTS;
  assert.deepEqual(await readAll(home), others);
  await home.store.commit([appending(LONG, 6, [said("and on")])]);
  assert.equal((await home.read(LONG)).at(-1), "and on");
  await home.close();
  assert.deepEqual(await findings(home.path), []);
});

test("rebuild leaves a packed file that cannot be read as it is, and says so", async (t) => {
  const { home, old } = await shelved(t);
  const path = packedPath(home.paths, DEFAULT_AGENT, old);
  const half = readFileSync(path).subarray(0, 40);
  writeFileSync(path, half);
  home.loseDatabases();
  const { lost } = rebuild(home.path, 77, () => {});
  assert.ok(lost.some((each) => each.startsWith(path) && each.includes("cannot be unpacked")));
  assert.deepEqual(readFileSync(path), half);
  await home.reopen();
  assert.equal((await home.store.archives({})).rows.length, 1);
});

test("a home that has nothing but packed transcripts is not taken for a new one", async (t) => {
  const { home } = await shelved(t);
  home.loseDatabases();
  rmSync(join(home.paths.agents, DEFAULT_AGENT, "sessions"), { recursive: true });
  await assert.rejects(home.reopen(), { code: "damaged" });
});

describe("fsck finds", () => {
  const cases: Readonly<Record<string, (at: Awaited<ReturnType<typeof shelved>>) => RegExp>> = {
    "a packed file that is missing": ({ home, long }) => {
      rmSync(packedPath(home.paths, DEFAULT_AGENT, long));
      return /missing/;
    },
    "a packed file that was altered": ({ home, old }) => {
      const path = packedPath(home.paths, DEFAULT_AGENT, old);
      const bytes = readFileSync(path);
      bytes[bytes.length >> 1] = (bytes[bytes.length >> 1] ?? 0) ^ 8;
      writeFileSync(path, bytes);
      return /cannot be unpacked/;
    },
    "one in the place of another": ({ home, long, old }) => {
      cpSync(packedPath(home.paths, DEFAULT_AGENT, old), packedPath(home.paths, DEFAULT_AGENT, long));
      return /it holds/;
    },
    "a packed file of nobody": ({ home, long }) => {
      const path = packedPath(home.paths, DEFAULT_AGENT, long);
      cpSync(path, path.replace(long, "nobody"));
      return /no archive that is packed/;
    },
    "both forms of one": ({ home, long, plain }) => {
      const path = transcriptPath(home.paths, DEFAULT_AGENT, plain);
      cpSync(path, path.replace(plain, long));
      return /is packed, and this is there too/;
    },
    "a plain file that is missing": ({ home, plain }) => {
      const path = transcriptPath(home.paths, DEFAULT_AGENT, plain);
      renameSync(path, `${path}.aside`);
      return /missing/;
    },
    "a plain file that lacks bytes": ({ home, plain }) => {
      truncateSync(transcriptPath(home.paths, DEFAULT_AGENT, plain), 200);
      return /is missing|is not JSON|is not an entry|longer/;
    },
  };
  for (const [what, harm] of Object.entries(cases))
    test(what, async (t) => {
      const at = await shelved(t);
      const expected = harm(at);
      const found = await findings(at.home.path);
      assert.ok(found.length > 0);
      assert.match(found[0]?.message ?? "", expected);
      assert.ok(existsSync(at.home.paths.state));
    });
});

function filesIn(home: string): string[] {
  const names = readdirSync(join(home, "agents"), { recursive: true, encoding: "utf8" });
  return names.filter((name) => name.includes(".")).toSorted();
}
