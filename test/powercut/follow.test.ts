// What the trace of a real program shows too seldom to be tested with one: threads in each other's way.

import assert from "node:assert/strict";
import { test } from "node:test";
import { Disk } from "./disk.ts";
import { Files } from "./files.ts";
import { Follower } from "./follow.ts";
import { Lines } from "./line.ts";
import type { Recording } from "./operation.ts";

/** Lines as strace writes them, but for the paths and strings, which are readable here. */
function follow(...lines: readonly string[]): Recording {
  const files = new Files({ real: "/r", given: "/link" }, new Map());
  const follower = new Follower(files, "/");
  const reader = new Lines();
  const text = ['1 execve("/p", ["/p"], 0x1 /* 2 vars */) = 0', ...lines]
    .map((line) => `${hex(line)}\n`)
    .join("");
  // Chunks of a few bytes: every line spans some.
  const bytes = Buffer.from(text, "latin1");
  for (let at = 0; at < bytes.length; at += 7)
    reader.push(bytes.subarray(at, at + 7), (line) => follower.take(line));
  reader.close();
  return files.recording();
}

function hex(line: string): string {
  return line
    .replaceAll(/"([^"]*)"/g, (_, text: string) => `"${escaped(text)}"`)
    .replaceAll(/<(\/[^>]*)>/g, (_, text: string) => `<${escaped(text)}>`);
}

function escaped(text: string): string {
  return Buffer.from(text)
    .toString("hex")
    .replaceAll(/../g, String.raw`\x$&`);
}

function final(recording: Recording): Record<string, string | null> {
  const tree = new Disk(recording).running(recording.operations.length);
  return Object.fromEntries([...tree].map(([path, bytes]) => [path, bytes && Buffer.from(bytes).toString()]));
}

const OPEN = `1 openat(AT_FDCWD</>, "/r/f", O_RDWR|O_CREAT|O_CLOEXEC, 0666) = 3</r/f>`;
const THREAD = "1 clone3({flags=CLONE_VM|CLONE_FS|CLONE_FILES|CLONE_THREAD, stack_size=0x1}, 88) = 2";

test("a sync covers what was done before it began, and counts when it is done", () => {
  const { operations } = follow(
    OPEN,
    THREAD,
    `1 pwrite64(3</r/f>, "before", 6, 0) = 6`,
    `2 fdatasync(3</r/f> <unfinished ...>`,
    `1 pwrite64(3</r/f>, "during", 6, 512) = 6`,
    `2 <... fdatasync resumed>)           = 0`,
    `1 write(1</out>, "ok", 2)            = 2`,
  );
  assert.deepEqual(
    operations.map(({ op }) => op),
    ["create", "write", "write", "sync", "said"],
  );
  const [, before, during, sync] = operations;
  assert.ok(before !== undefined && during !== undefined && sync !== undefined);
  assert.ok(before.done <= sync.begun && during.done > sync.begun);
});

test("a write counts from its beginning, and what it wrote is known at its end", () => {
  const { operations } = follow(
    OPEN,
    THREAD,
    `1 pwrite64(3</r/f>, "0123456789", 10, 0 <unfinished ...>`,
    `2 write(1</out>, "ok", 2) = 2`,
    `1 <... pwrite64 resumed>) = 4`,
    `1 pwrite64(3</r/f>, "no", 2, 0) = -1 ENOSPC (No space left on device)`,
  );
  assert.deepEqual(
    operations.map((one) => [one.op, one.op === "write" ? one.bytes.length : 0]),
    [
      ["create", 0],
      ["write", 4],
      ["said", 0],
    ],
  );
});

test("a number closed by one thread and given to another means the new file", () => {
  const recording = follow(
    OPEN,
    THREAD,
    `1 close(3</r/f> <unfinished ...>`,
    `2 openat(AT_FDCWD</>, "/r/g", O_WRONLY|O_CREAT, 0666) = 3</r/g>`,
    `1 <... close resumed>) = 0`,
    `2 write(3</r/g>, "g", 1) = 1`,
    `1 write(3</r/g>, "h", 1) = 1`,
  );
  assert.deepEqual(final(recording), { f: "", g: "gh" });
});

test("a thread that shows before its clone returns has the same descriptors, a process its own", () => {
  const recording = follow(
    OPEN,
    `1 clone3({flags=CLONE_VM|CLONE_FILES, exit_signal=0} <unfinished ...>`,
    `2 write(3</r/f>, "a", 1) = 1`,
    `1 <... clone3 resumed> => {parent_tid=[2]}, 88) = 2`,
    `1 vfork( <unfinished ...>`,
    `3 close(3</r/f>) = 0`,
    `3 +++ exited with 0 +++`,
    `1 <... vfork resumed>) = 3`,
    `1 --- SIGCHLD {si_signo=SIGCHLD} ---`,
    `1 write(3</r/f>, "b", 1) = 1`,
  );
  assert.deepEqual(final(recording), { f: "ab" });
});

test("appending wins over an offset, and a path through a link is the real one", () => {
  const recording = follow(
    `1 mkdir("/link/d/", 0777) = 0`,
    `1 openat(AT_FDCWD</r>, "d/./f", O_WRONLY|O_CREAT|O_APPEND, 0666) = 4</r/d/f>`,
    `1 write(4</r/d/f>, "one", 3) = 3`,
    `1 dup2(4</r/d/f>, 9) = 9</r/d/f>`,
    `1 pwrite64(9</r/d/f>, "two", 3, 0) = 3`,
    `1 openat(AT_FDCWD</>, "/elsewhere/x", O_WRONLY) = 5</r/d/f>`,
    `1 writev(5</r/d/f>, [{iov_base="O", iov_len=1}, {iov_base="N", iov_len=1}], 2) = 2`,
  );
  assert.deepEqual(final(recording), { d: null, "d/f": "ONetwo" });
});

test("what the trace cannot tell is an error", () => {
  const append = `1 openat(AT_FDCWD</>, "/r/f", O_WRONLY|O_CREAT|O_APPEND, 0666) = 3</r/f>`;
  const cases: readonly (readonly [RegExp, readonly string[]])[] = [
    [
      /same time/,
      [
        append,
        THREAD,
        `1 write(3</r/f>, "a", 1 <unfinished ...>`,
        `2 write(3</r/f>, "b", 1) = 1`,
        `1 <... write resumed>) = 1`,
      ],
    ],
    [
      /same time/,
      [
        OPEN,
        THREAD,
        `1 unlink("/r/f" <unfinished ...>`,
        `2 openat(AT_FDCWD</>, "/r/f", O_RDWR|O_CREAT) = 4</r/f>`,
        `1 <... unlink resumed>) = 0`,
      ],
    ],
    [
      /went on after/,
      [
        OPEN,
        "1 fork() = 2",
        `1 pwrite64(3</r/f>, "a", 1, 0 <unfinished ...>`,
        "1 +++ killed by SIGKILL +++",
        `2 pwrite64(3</r/f>, "b", 1, 9) = 1`,
      ],
    ],
    [/was opened/, [`1 write(7</r/f>, "a", 1) = 1`]],
    [/descriptor 3 is f/, [OPEN, `1 write(3</r/g>, "a", 1) = 1`]],
    [/is known, or new/, [`1 openat(AT_FDCWD</>, "/r/f", O_RDONLY) = 3</r/f>`]],
    [/directory of/, [`1 mkdir("/r/a/b", 0777) = 0`]],
    [/too long/, [OPEN, `1 write(3</r/f>, "abc"..., 9) = 9`]],
    [
      /cannot tell/,
      [OPEN, "1 mmap(NULL, 4096, PROT_READ|PROT_WRITE, MAP_SHARED, 3</r/f>, 0) = 0x7f0000000000"],
    ],
    [/cannot tell/, ["1 io_uring_setup(256, {flags=0}) = 3<anon_inode:[io_uring]>"]],
    [/has a meaning/, ["1 frobnicate(3) = 0"]],
  ];
  for (const [message, lines] of cases) assert.throws(() => follow(...lines), message);
});

test("what is allowed beside it passes: shared memory, other directories, refused rings, two opens at once", () => {
  const recording = follow(
    OPEN,
    THREAD,
    `1 openat(AT_FDCWD</>, "/r/f-shm", O_RDWR|O_CREAT, 0666) = 4</r/f-shm>`,
    "1 mmap(NULL, 4096, PROT_READ|PROT_WRITE, MAP_SHARED, 4</r/f-shm>, 0) = 0x7f0000000000",
    `1 unlink("/r/f-shm") = 0`,
    `1 close(4</r/f-shm>(deleted)) = 0`,
    `1 mkdir("/root", 0777) = 0`,
    "1 io_uring_setup(256, {flags=0}) = -1 ENOSYS (Function not implemented) (INJECTED)",
    `1 openat(AT_FDCWD</>, "/r/g", O_RDWR|O_CREAT <unfinished ...>`,
    `2 openat(AT_FDCWD</>, "/r/g", O_RDWR|O_CREAT) = 5</r/g>`,
    `1 <... openat resumed>) = 4</r/g>`,
    `1 pwrite64(4</r/g>, "ab", 2, 0 <unfinished ...>`,
    `2 pwrite64(5</r/g>, "cd", 2, 2) = 2`,
    `1 <... pwrite64 resumed>) = 2`,
  );
  assert.deepEqual(final(recording), { f: "", g: "abcd" });
});
