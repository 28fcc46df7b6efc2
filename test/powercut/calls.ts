// Calls
//
// What each system call means for the files below the root.
//
//   Owns:      the table of calls.
//   Does not:  know names and inodes (files.ts), or whose descriptor a number is (flight.ts, follow.ts).
//
// Invariants
//   C1. A call that changes a file below the root and has no meaning here is an error.
//   C2. close() acts when it begins, everything that returns a descriptor when it ends: in between, the number
//       may already belong to another thread.
//   C3. A write whose place the call does not say (append, implied offset) claims the whole file while it is under
//       way, so that two of them at once are found out (F2) instead of put in some order.

import { inodeAt, isOurs, must, openedAt, pathAt, type Flight, type Opened, type Where } from "./flight.ts";
import type { Result } from "./line.ts";
import { isSharedMemory } from "./operation.ts";

/** Runs when the call begins. What it returns runs when the call has succeeded. */
type Begin = (flight: Flight) => ((result: Result) => void) | null;

const FIRST: Where = { path: 0, from: null };
const SECOND: Where = { path: 1, from: null };
const FIRST_AT: Where = { path: 1, from: 0 };
const SECOND_AT: Where = { path: 3, from: 2 };

function open(where: Where): Begin {
  return (flight) => {
    const { files, thread, span, call } = flight;
    const asked = pathAt(flight, where);
    const flags = call.name === "creat" ? "O_CREAT|O_TRUNC" : call.text(where.path + 1);
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
      must(call, !/O_TMPFILE|O_SYNC|O_DSYNC/.test(flags), "no file is opened like this (C1)");
      const known = files.at(path);
      must(call, known !== null || has("O_CREAT"), `${path} is known, or new (C1)`);
      must(call, known === null || !(has("O_CREAT") && has("O_EXCL")), `${path} is new (C1)`);
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

    must(call, call.name !== "pwritev2" || call.text(4) === "0", "no write has flags (C1)");
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
      must(call, source !== null && typeof source.target !== "string", "bytes come from below the root (C1)");
      const at = sink.append ? sink.target.size : given >= 0 ? given : sink.offset;
      const bytes = files.contentOf(source.target).subarray(offset, offset + value);
      files.write(span, sink.target, { offset: at, bytes });
      if (!(given >= 0)) sink.offset = at + value;
    };
  };
}

const resize: Begin = (flight) => {
  const { files, span, call } = flight;
  const path = call.name === "truncate" ? pathAt(flight, FIRST) : null;
  if (path !== null && !isOurs(flight, path)) return null;
  const inode = path === null ? inodeAt(flight, 0) : files.at(path);
  if (inode === null) return path === null ? null : () => must(call, false, `${path} is known (C1)`);
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
    must(call, call.text(1) === "0", "fallocate only makes files longer (C1)");
    files.truncate(span, inode, Math.max(inode.size, call.number(2) + call.number(3)));
  };
};

const sync: Begin = (flight) => {
  const inode = inodeAt(flight, 0);
  if (inode === null) return null;
  return () => flight.files.emit(flight.span, { op: "sync", inode: inode.id }, flight.files.pathOf(inode));
};

/** rename and link. */
function rename(from: Where, to: Where): Begin {
  return (flight) => {
    const { files, span, call } = flight;
    const [old, path] = [pathAt(flight, from), pathAt(flight, to)];
    if (!files.has(old) && !files.has(path)) return null;
    files.claim(span, old, "whole");
    files.claim(span, path, "whole");
    return () => {
      must(call, files.has(old) && files.has(path), "no name crosses the border of the root (C1)");
      if (call.name.startsWith("link")) return files.link(span, files.known(old), path);
      const exchange = call.name === "renameat2" && call.text(4).includes("RENAME_EXCHANGE");
      must(call, !exchange, "names are not exchanged (C1)");
      files.rename(span, old, path);
    };
  };
}

/** mkdir, unlink, rmdir. */
function name(op: "mkdir" | "unlink" | "rmdir", where: Where): Begin {
  return (flight) => {
    const { files, span, call } = flight;
    const path = pathAt(flight, where);
    if (!files.has(path) || (op === "unlink" && isSharedMemory(path))) return null;
    files.claim(span, path, op === "mkdir" ? "shared" : "whole");
    const directory = call.name === "unlinkat" && call.text(2).includes("AT_REMOVEDIR");
    return () => {
      if (op === "mkdir") files.create(span, path, op);
      else files.remove(span, path, directory ? "rmdir" : op);
    };
  };
}

/** A read moves the offset at which the next write goes. Reads at an offset of their own are not traced. */
const read: Begin = (flight) => {
  const opened = openedAt(flight, 0);
  return opened === null ? null : ({ value }) => void (opened.offset += value);
};

const duplicate: Begin = ({ thread, call }) => {
  const held = thread.table.get(call.descriptor(0).number);
  return ({ value }) => {
    thread.table.delete(value);
    const flags = call.name === "fcntl" ? call.text(1) : call.name === "dup3" ? call.text(2) : "";
    const closeOnExec = flags.includes("CLOEXEC");
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
      throw new Error(`no ioctl is used on a file (C1): ${call}`);
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
      throw new Error(`the trace cannot tell what this does (C1): ${flight.call}`);
    };
  };
}

const ignored: Begin = () => null;

export const CALLS: Readonly<Record<string, Begin>> = {
  open: open(FIRST),
  creat: open(FIRST),
  openat: open(FIRST_AT),
  openat2: open(FIRST_AT),
  close: ({ thread, call }) => {
    thread.table.delete(call.descriptor(0).number); // C2
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
  read,
  readv: read,
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
  rename: rename(FIRST, SECOND),
  renameat: rename(FIRST_AT, SECOND_AT),
  renameat2: rename(FIRST_AT, SECOND_AT),
  link: rename(FIRST, SECOND),
  linkat: rename(FIRST_AT, SECOND_AT),
  mkdir: name("mkdir", FIRST),
  mkdirat: name("mkdir", FIRST_AT),
  unlink: name("unlink", FIRST),
  unlinkat: name("unlink", FIRST_AT),
  rmdir: name("rmdir", FIRST),
  chdir: (flight) => {
    const path = pathAt(flight, FIRST);
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

  symlink: refused((flight) => flight.files.has(pathAt(flight, SECOND))),
  symlinkat: refused((flight) => flight.files.has(pathAt(flight, { path: 2, from: 1 }))),
  mknod: refused((flight) => flight.files.has(pathAt(flight, FIRST))),
  mknodat: refused((flight) => flight.files.has(pathAt(flight, FIRST_AT))),
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
