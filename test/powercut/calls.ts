// Calls
//
// What each system call means for the files below the root.
//
//   Owns:      the table of calls, and what they do to descriptors and offsets.
//   Does not:  know names and inodes (files.ts), or who shares a table with whom (follow.ts).
//
// Invariants
//   C1. strace prints the path behind every descriptor. It must be what the table says, at each use. So a
//       descriptor that came in a way not seen here is an error and not a silent gap.
//   C2. A call that changes a file below the root and has no meaning here is an error.
//   C3. close() acts when it begins, everything that returns a descriptor when it ends: in between, the number
//       may already belong to another thread.

import { join } from "node:path";
import type { Files, Inode, Span } from "./files.ts";
import type { Call, Result } from "./line.ts";
import { isSharedMemory } from "./operation.ts";

/** What descriptors made from one another share. "said": standard output; "ignored": nothing is recorded of it. */
export interface Opened {
  readonly target: Inode | "said" | "ignored";
  append: boolean;
  offset: number;
}

export type Table = Map<number, { readonly opened: Opened; closeOnExec: boolean }>;

export interface Flight {
  readonly files: Files;
  readonly thread: { table: Table; readonly place: { cwd: string } };
  readonly span: Span;
  readonly call: Call;
}

/** Runs when the call begins. What it returns runs when the call has succeeded. */
type Begin = (flight: Flight) => ((result: Result) => void) | null;

/** An assertion that puts the call into words only when it fails: it stands in the way of every line. */
function must(call: Call, condition: boolean, belief: string): asserts condition {
  if (!condition) throw new Error(`assertion failed: ${belief}: ${call}`);
}

/** The path argument `index`, seen from the directory in argument `from` (null: from the working directory). */
function pathAt({ files, thread, call }: Flight, index: number, from: number | null): string {
  const path = call.path(index);
  const base = from === null ? thread.place.cwd : (call.descriptor(from).path ?? "/");
  const whole = path.startsWith("/") ? join(path) : join(base, path);
  return files.real(whole.length > 1 && whole.endsWith("/") ? whole.slice(0, -1) : whole);
}

/** What stands behind the descriptor in argument `index`; null: nothing of ours. */
function openedAt({ files, thread, call }: Flight, index: number): Opened | null {
  const seen = call.descriptor(index);
  const opened = thread.table.get(seen.number)?.opened ?? null;
  const inside = seen.path !== null && files.has(seen.path) && !isSharedMemory(seen.path);
  if (opened === null) {
    must(call, !inside, `the trace shows where ${seen.path} was opened (C1)`);
  } else if (typeof opened.target !== "string") {
    const same = inside && (seen.deleted || files.at(seen.path) === opened.target || files.renaming);
    must(call, same, `descriptor ${seen.number} is ${files.pathOf(opened.target)} (C1)`);
  }
  return opened;
}

/** The same, when it is a file or directory below the root. */
function inodeAt(flight: Flight, index: number): Inode | null {
  const target = openedAt(flight, index)?.target ?? "ignored";
  return typeof target === "string" ? null : target;
}

function open(index: number, from: number | null): Begin {
  return (flight) => {
    const { files, thread, span, call } = flight;
    const asked = pathAt(flight, index, from);
    const flags = call.name === "creat" ? "O_CREAT|O_TRUNC" : call.text(index + 1);
    const has = (flag: string): boolean => new RegExp(`\\b${flag}\\b`).test(flags);
    if (has("O_CREAT") && files.has(asked)) files.claim(span, asked, "shared");
    return (result) => {
      thread.table.delete(result.value);
      // A link on the way hides the real path; strace sees it behind the new descriptor.
      const path = files.has(asked) ? asked : (result.path ?? asked);
      if (!files.has(path)) return;
      const hold = (target: Opened["target"]): void => {
        const opened = { target, append: has("O_APPEND"), offset: 0 };
        thread.table.set(result.value, { opened, closeOnExec: has("O_CLOEXEC") });
      };
      if (isSharedMemory(path)) return hold("ignored");
      must(call, !/O_TMPFILE|O_SYNC|O_DSYNC/.test(flags), "no file is opened like this (C2)");
      const known = files.at(path);
      must(call, known !== null || has("O_CREAT"), `${path} is known, or new (C2)`);
      if (known !== null && has("O_TRUNC")) files.truncate(span, known, 0);
      hold(known ?? files.create(span, path, "create"));
    };
  };
}

/** `offset` is the argument that says where; null: the descriptor knows. */
function write(offset: number | null): Begin {
  return (flight) => {
    const { files, span, call } = flight;
    const opened = openedAt(flight, 0);
    if (opened === null || opened.target === "ignored") return null;
    const bytes = call.bytes(1);
    if (opened.target === "said")
      return ({ value }) =>
        files.emit(span, { op: "said", bytes: bytes.subarray(0, value) }, "standard output");

    must(call, call.name !== "pwritev2" || call.text(4) === "0", "no write has flags (C2)");
    const inode = opened.target;
    const given = offset === null ? -1 : call.number(offset);
    // O_APPEND wins over any offset given: so it is on Linux.
    const at = opened.append ? inode.size : given >= 0 ? given : opened.offset;
    const free = opened.append || given < 0;
    files.claim(span, inode, free ? "whole" : { from: at, to: at + bytes.length });
    return ({ value }) => {
      files.write(span, inode, { offset: at, bytes: bytes.subarray(0, value) });
      if (given < 0) opened.offset = at + value;
    };
  };
}

/** Arguments of a copy inside the kernel, the bytes of which are not in the trace. `at`: offsets; null: implied. */
function copy(from: { fd: number; at: number }, to: { fd: number; at: number | null }): Begin {
  return (flight) => {
    const { files, span, call } = flight;
    const [source, sink] = [openedAt(flight, from.fd), openedAt(flight, to.fd)];
    const given = to.at === null ? Number.NaN : call.number(to.at);
    const start = call.number(from.at);
    for (const opened of [source, sink])
      if (opened !== null && typeof opened.target !== "string") files.claim(span, opened.target, "whole");
    return ({ value }) => {
      const offset = start >= 0 ? start : (source?.offset ?? 0);
      if (source !== null && !(start >= 0)) source.offset += value;
      if (sink === null || typeof sink.target === "string") return;
      must(call, source !== null && typeof source.target !== "string", "bytes come from below the root (C2)");
      const at = sink.append ? sink.target.size : given >= 0 ? given : sink.offset;
      const bytes = files.contentOf(source.target).subarray(offset, offset + value);
      files.write(span, sink.target, { offset: at, bytes });
      if (!(given >= 0)) sink.offset = at + value;
    };
  };
}

const resize: Begin = (flight) => {
  const { files, span, call } = flight;
  const inode = call.name === "truncate" ? files.at(pathAt(flight, 0, null)) : inodeAt(flight, 0);
  if (inode === null) return null;
  files.claim(span, inode, "whole");
  return () => files.truncate(span, inode, call.number(1));
};

const allocate: Begin = (flight) => {
  const { files, span, call } = flight;
  const inode = inodeAt(flight, 0);
  if (inode === null) return null;
  files.claim(span, inode, "whole");
  return () => {
    if (call.text(1) === "FALLOC_FL_KEEP_SIZE") return; // room only: nothing a reader could see
    must(call, call.text(1) === "0", "fallocate only makes files longer (C2)");
    files.truncate(span, inode, Math.max(inode.size, call.number(2) + call.number(3)));
  };
};

const sync: Begin = (flight) => {
  const inode = inodeAt(flight, 0);
  if (inode === null) return null;
  return () => flight.files.emit(flight.span, { op: "sync", inode: inode.id }, flight.files.pathOf(inode));
};

function rename(from: number, fromDirectory: number | null, to: number, toDirectory: number | null): Begin {
  return (flight) => {
    const { files, span, call } = flight;
    const [old, path] = [pathAt(flight, from, fromDirectory), pathAt(flight, to, toDirectory)];
    if (!files.has(old) && !files.has(path)) return null;
    files.claim(span, old, "whole");
    files.claim(span, path, "whole");
    return () => {
      must(call, files.has(old) && files.has(path), "no name crosses the border of the root (C2)");
      if (call.name.startsWith("link")) return files.link(span, files.known(old), path);
      must(call, !call.toString().includes("RENAME_EXCHANGE"), "names are not exchanged (C2)");
      files.rename(span, old, path);
    };
  };
}

/** mkdir, unlink, rmdir. */
function name(op: "mkdir" | "unlink" | "rmdir", index: number, from: number | null): Begin {
  return (flight) => {
    const { files, span, call } = flight;
    const path = pathAt(flight, index, from);
    if (!files.has(path) || (op === "unlink" && isSharedMemory(path))) return null;
    files.claim(span, path, op === "mkdir" ? "shared" : "whole");
    return () => {
      if (op === "mkdir") files.create(span, path, op);
      else
        files.remove(
          span,
          path,
          call.name === "unlinkat" && call.text(2).includes("AT_REMOVEDIR") ? "rmdir" : op,
        );
    };
  };
}

const duplicate: Begin = ({ thread, call }) => {
  const held = thread.table.get(call.descriptor(0).number);
  return ({ value }) => {
    thread.table.delete(value);
    const closeOnExec = /CLOEXEC/.test(call.toString());
    if (held !== undefined) thread.table.set(value, { opened: held.opened, closeOnExec });
  };
};

const control: Begin = (flight) => {
  const { thread, call } = flight;
  const [command, number] = [call.text(1), call.descriptor(0).number];
  if (command.startsWith("F_DUPFD")) return duplicate(flight);
  const held = thread.table.get(number);
  if (held === undefined) return null;
  return () => {
    if (command === "F_SETFD") held.closeOnExec = call.text(2).includes("FD_CLOEXEC");
    if (command === "F_SETFL") held.opened.append = call.text(2).includes("O_APPEND");
    if (command === "FIOCLEX") held.closeOnExec = true;
    else if (call.name === "ioctl" && typeof held.opened.target !== "string")
      throw new Error(`no ioctl is used on a file (C2): ${call}`);
  };
};

const closeRange: Begin = ({ thread, call }) => {
  const last = call.number(1);
  for (const [number, held] of thread.table) {
    if (number < call.number(0) || number > (last >= 0 ? last : number)) continue;
    if (call.text(2).includes("CLOEXEC")) held.closeOnExec = true;
    else thread.table.delete(number);
  }
  return null;
};

/** A call that must not happen where `touches` is true. */
function refused(touches: (flight: Flight) => boolean): Begin {
  return (flight) => {
    if (!touches(flight)) return null;
    return () => {
      throw new Error(`the trace cannot tell what this does (C2): ${flight.call}`);
    };
  };
}

const ignored: Begin = () => null;

export const CALLS: Readonly<Record<string, Begin>> = {
  open: open(0, null),
  creat: open(0, null),
  openat: open(1, 0),
  openat2: open(1, 0),
  close: ({ thread, call }) => {
    thread.table.delete(call.descriptor(0).number); // C3
    return null;
  },
  close_range: closeRange,
  dup: duplicate,
  dup2: duplicate,
  dup3: duplicate,
  fcntl: control,
  ioctl: control,
  lseek: (flight) => {
    const opened = openedAt(flight, 0);
    return opened === null ? null : ({ value }) => void (opened.offset = value);
  },
  // A read moves the offset at which the next write goes. Reads at an offset of their own are not traced.
  read: (flight) => {
    const opened = openedAt(flight, 0);
    return opened === null ? null : ({ value }) => void (opened.offset += value);
  },
  readv: (flight) => {
    const opened = openedAt(flight, 0);
    return opened === null ? null : ({ value }) => void (opened.offset += value);
  },
  write: write(null),
  writev: write(null),
  pwrite64: write(3),
  pwritev: write(3),
  pwritev2: write(3),
  copy_file_range: copy({ fd: 0, at: 1 }, { fd: 2, at: 3 }),
  sendfile: copy({ fd: 1, at: 2 }, { fd: 0, at: null }),
  truncate: resize,
  ftruncate: resize,
  fallocate: allocate,
  fsync: sync,
  fdatasync: sync, // differs from fsync only in the times of the file, which nobody models
  sync_file_range: ignored, // promises nothing: the disk's own cache and the file's size are left out
  rename: rename(0, null, 1, null),
  renameat: rename(1, 0, 3, 2),
  renameat2: rename(1, 0, 3, 2),
  link: rename(0, null, 1, null),
  linkat: rename(1, 0, 3, 2),
  mkdir: name("mkdir", 0, null),
  mkdirat: name("mkdir", 1, 0),
  unlink: name("unlink", 0, null),
  unlinkat: name("unlink", 1, 0),
  rmdir: name("rmdir", 0, null),
  chdir: (flight) => {
    const path = pathAt(flight, 0, null);
    return () => void (flight.thread.place.cwd = path);
  },
  fchdir: ({ thread, call }) => {
    const { path } = call.descriptor(0);
    return () => void (thread.place.cwd = path ?? thread.place.cwd);
  },
  execve: ({ thread }) => {
    return () => void (thread.table = new Map([...thread.table].filter(([, held]) => !held.closeOnExec)));
  },
  // Who shares what with the new thread is decided in follow.ts.
  clone: ignored,
  clone3: ignored,
  fork: ignored,
  vfork: ignored,

  symlink: refused((flight) => flight.files.has(pathAt(flight, 1, null))),
  symlinkat: refused((flight) => flight.files.has(pathAt(flight, 2, 1))),
  mknod: refused((flight) => flight.files.has(pathAt(flight, 0, null))),
  mknodat: refused((flight) => flight.files.has(pathAt(flight, 1, 0))),
  splice: refused((flight) => inodeAt(flight, 2) !== null),
  mmap: refused((flight) => {
    const { call } = flight;
    const shared = call.text(3).includes("MAP_SHARED") && call.text(2).includes("PROT_WRITE");
    return shared && inodeAt(flight, 4) !== null;
  }),
  sync: refused(() => true),
  syncfs: refused(() => true),
  io_submit: refused(() => true),
  io_uring_setup: refused(() => true), // it is made to fail, see trace.ts
  open_by_handle_at: refused(() => true),
  execveat: refused(() => true),
};
