import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { afterwards, cannotMount, Home, mount, scratch } from "../../../test/fixtures/home.ts";
import { Program } from "../../../test/fixtures/program.ts";
import { judgeFilesystem, takeHome } from "./owner.ts";
import { pathsIn } from "./paths.ts";

const NOON = Date.UTC(2026, 0, 1, 12);

/** The first hundred bytes of a database of one page in WAL mode. */
const HEADER = Buffer.concat([
  Buffer.from("SQLite format 3\0"),
  Buffer.from("1000020200402020000000010000000100000000000000000000000100000004", "hex"),
  Buffer.alloc(8),
  Buffer.from("00000001", "hex"),
  Buffer.alloc(32),
  Buffer.from("00000001002e9088", "hex"),
]);

/** Nobody, on every Linux. */
const NOBODY = 65534;

/** Why no program can be run as somebody else here; false: it can. Tried, because a checkout may be for its owner only. */
function cannotBeNobody(): string | false {
  if (process.getuid?.() !== 0) return "only root can run a program as somebody else";
  const tried = spawnSync(
    process.execPath,
    ["--eval", `require("fs").readFileSync(${JSON.stringify(import.meta.filename)})`],
    {
      uid: NOBODY,
      gid: NOBODY,
    },
  );
  return tried.status === 0 ? false : "another user cannot reach this checkout";
}

/** Takes the home and says so, or says which fault it got. */
const TAKE = `
  try {
    await open();
    say("taken");
    await forever();
  } catch (error) {
    say({ code: error.code, message: error.message });
  }
`;

describe("the owner of a home", () => {
  test("a second one in the same process is refused, and told who the first is", (t) => {
    const paths = pathsIn(scratch(t));
    const owner = takeHome(paths, NOON);
    afterwards(t, () => owner.release());
    assert.throws(() => takeHome(paths, NOON + 1), {
      name: "Fault",
      code: "in_use",
      message: new RegExp(`pid ${process.pid} \\(started 2026-01-01T12:00:00.000Z\\)`),
    });
  });

  test("a second one in another process is refused, and told who the first is", async (t) => {
    const home = await Home.open(t);
    const second = new Program(t, { home: home.path, source: TAKE });
    const refusal = (await second.hear()) as { code: string; message: string };
    assert.equal(refusal.code, "in_use");
    const started = new Date(home.world.nowMs()).toISOString();
    assert.ok(refusal.message.includes(`pid ${process.pid} (started ${started})`), refusal.message);
    await home.talk("one", "the first goes on");
  });

  test("when it is released, the home is free", (t) => {
    const paths = pathsIn(scratch(t));
    takeHome(paths, NOON).release();
    takeHome(paths, NOON).release();
  });

  test("when it is killed, the home is free at once", async (t) => {
    const home = scratch(t);
    const holder = new Program(t, { home, source: TAKE });
    assert.equal(await holder.hear(), "taken");
    assert.throws(() => takeHome(pathsIn(home), NOON), {
      code: "in_use",
      message: new RegExp(`pid ${holder.pid} `),
    });
    await holder.kill();
    takeHome(pathsIn(home), NOON).release();
  });

  test("of many that come to a new home together exactly one gets it, and the others hear that it is in use", async (t) => {
    for (let round = 0; round < 3; round += 1) {
      const home = join(scratch(t), "home");
      const programs = Array.from({ length: 6 }, () => new Program(t, { home, source: TAKE }));
      const answers = await Promise.all(programs.map((program) => program.hear()));
      const refusals = answers.filter((answer) => answer !== "taken") as { code: string }[];
      assert.deepEqual(
        refusals.map(({ code }) => code),
        Array.from({ length: 5 }, () => "in_use"),
      );
      await Promise.all(programs.map((program) => program.kill()));
    }
  });

  for (const [what, bytes] of [
    ["is no database", Buffer.from("what a power cut left ".repeat(400))],
    ["is empty", Buffer.alloc(0)],
    ["is full of zeros", Buffer.alloc(8192)],
    ["begins like a database and goes on otherwise", Buffer.concat([HEADER, Buffer.alloc(8092, 0xee)])],
  ] as const) {
    test(`an owner.sqlite that ${what} is replaced`, (t) => {
      const paths = pathsIn(scratch(t));
      writeFileSync(paths.owner, bytes);
      const owner = takeHome(paths, NOON);
      assert.throws(() => takeHome(paths, NOON), {
        code: "in_use",
        message: new RegExp(`pid ${process.pid} `),
      });
      owner.release();
    });
  }
});

describe("a home that cannot be used", () => {
  test("a file is refused as unreadable_home", (t) => {
    const path = join(scratch(t), "file");
    writeFileSync(path, "not a directory");
    assert.throws(() => takeHome(pathsIn(path), NOON), {
      code: "unreadable_home",
      message: new RegExp(path),
    });
  });

  test(
    "a place where the system makes no directories is refused, and nobody waits for ever",
    { skip: !existsSync("/proc/self") },
    () => {
      assert.throws(() => takeHome(pathsIn("/proc/sessiond/home"), NOON), { code: "unreadable_home" });
    },
  );

  test("no name at all is bad_input: it would be the current directory", () => {
    assert.throws(() => pathsIn(""), { code: "bad_input" });
    assert.throws(() => pathsIn(undefined as never), { code: "bad_input" });
  });

  test("a place below a file is refused as unreadable_home", (t) => {
    const path = join(scratch(t), "file");
    writeFileSync(path, "not a directory");
    assert.throws(() => takeHome(pathsIn(join(path, "home")), NOON), { code: "unreadable_home" });
    assert.ok(statSync(path).isFile());
  });

  for (const [what, mode, before] of [
    ["may not read", 0o700, false],
    ["may read and not write", 0o755, false],
    ["may read and not write, and that others have used", 0o755, true],
  ] as const) {
    test(
      `a directory that its user ${what} is refused as unreadable_home`,
      { skip: cannotBeNobody() },
      async (t) => {
        const outside = scratch(t);
        chmodSync(outside, 0o755);
        const home = join(outside, "home");
        mkdirSync(home);
        if (before) takeHome(pathsIn(home), NOON).release();
        chmodSync(home, mode);
        const program = new Program(t, { home, source: TAKE, uid: NOBODY });
        const refusal = (await program.hear()) as { code: string; message: string };
        assert.equal(refusal.code, "unreadable_home");
        assert.ok(refusal.message.includes(home), refusal.message);
        assert.match(refusal.message, /EACCES/);
      },
    );
  }

  test(
    "a home that its user may not make is refused as unreadable_home",
    { skip: cannotBeNobody() },
    async (t) => {
      const program = new Program(t, { home: join(scratch(t), "home"), source: TAKE, uid: NOBODY });
      assert.equal(((await program.hear()) as { code: string }).code, "unreadable_home");
    },
  );
});

describe("the filesystem of a home", () => {
  for (const [name, magic] of [
    ["NFS", 0x6969],
    ["SMB", 0x517b],
    ["CIFS", 0xff534d42],
    ["SMB2", 0xfe534d42],
    ["9p", 0x01021997],
  ] as const) {
    test(`${name} is refused as network_filesystem`, () => {
      const refusal = { code: "network_filesystem", message: new RegExp(`/some/home is on ${name},`) };
      assert.throws(() => judgeFilesystem(magic, "/some/home"), refusal);
      assert.throws(() => judgeFilesystem(magic | 0, "/some/home"), refusal); // some systems report it signed
    });
  }

  for (const [name, magic] of [
    ["overlay", 0x794c7630],
    ["FUSE", 0x65735546],
  ] as const) {
    test(`${name} is accepted with a warning`, () => {
      assert.match(judgeFilesystem(magic, "/some/home") ?? "", new RegExp(`/some/home is on ${name}:`));
    });
  }

  test("ext4, XFS, Btrfs and tmpfs are accepted without a word", () => {
    for (const magic of [0xef53, 0x58465342, 0x9123683e, 0x01021994])
      assert.equal(judgeFilesystem(magic, "/some/home"), null);
  });

  test("a home on a real overlay works, and the log warns of it", { skip: cannotMount() }, async (t) => {
    const below = scratch(t);
    const [lower, upper, work] = ["lower", "upper", "work"].map((name) => join(below, name));
    for (const directory of [lower, upper, work]) mkdirSync(directory ?? "");
    const layers = `lowerdir=${lower},upperdir=${upper},workdir=${work}`;
    try {
      mount(t, join(below, "merged"), ["-t", "overlay", "-o", layers, "overlay"]);
    } catch (error) {
      return t.skip(`no overlay can be mounted here: ${String(error).split("\n")[0]}`);
    }
    const home = await Home.open(t, join(below, "merged", "home"));
    await home.talk("one", "hello");
    assert.deepEqual(
      home.heard.map(({ msg }) => /is on overlay:/.test(msg)),
      [true],
    );
  });
});
