// Everything that can go wrong without a bug on our side, in one table.
//
//   status   what an HTTP client gets
//   exit     what a shell gets (the numbers of sysexits.h)
//   retry    true: the same call may succeed later, unchanged
//   todo     what the one who gets it should do
//
// A Fault is returned to someone. A failed assertion (assert.ts) is our bug. There is no third kind, and
// nobody logs a failure and goes on as if it had not happened.

const FAULTS = {
  bad_input: {
    status: 400,
    exit: 64,
    retry: false,
    todo: "correct the input; the message names what is wrong",
  },
  unauthorized: {
    status: 401,
    exit: 77,
    retry: false,
    todo: "send `Authorization: Bearer <token>`; the first is the file `token` of the home",
  },
  forbidden: { status: 403, exit: 77, retry: false, todo: "ask with other rights" },
  not_found: { status: 404, exit: 66, retry: false, todo: "check the name" },
  exists: { status: 409, exit: 73, retry: false, todo: "choose another name, or resume what is there" },
  conflict: {
    status: 409,
    exit: 65,
    retry: false,
    todo: "use a new id: this one was used with other content",
  },
  would_deadlock: {
    status: 409,
    exit: 65,
    retry: false,
    todo: "do not wait for who waits for you: end the turn, and its answer comes by itself",
  },
  busy: { status: 409, exit: 75, retry: true, todo: "wait until it is done, or kill it first" },
  stale_writer: { status: 409, exit: 75, retry: true, todo: "read it again, then decide anew" },
  unread: { status: 409, exit: 75, retry: true, todo: "read what waits for it, then end it" },
  ended: { status: 410, exit: 69, retry: false, todo: "the session has ended; write to another" },
  cursor_expired: {
    status: 410,
    exit: 75,
    retry: false,
    todo: "list once more, then follow from the new cursor",
  },
  mailbox_full: {
    status: 429,
    exit: 75,
    retry: true,
    todo: "slow down; the session has not read its mail yet",
  },
  overloaded: {
    status: 429,
    exit: 75,
    retry: true,
    todo: "slow down; more is waiting than memory is set aside for",
  },
  too_slow: {
    status: 429,
    exit: 75,
    retry: true,
    todo: "follow again from the last entry you have; nothing is lost",
  },
  too_large: { status: 413, exit: 65, retry: false, todo: "send less at once" },
  rate_limited: { status: 429, exit: 75, retry: true, todo: "slow down, and try again in a second" },
  damaged: {
    status: 500,
    exit: 65,
    retry: false,
    todo: "run fsck: it says what is damaged; rebuild makes the index anew",
  },
  disk_full: {
    status: 507,
    exit: 74,
    retry: true,
    todo: "free space; nothing acknowledged was lost, nothing new was taken",
  },
  disk_failed: {
    status: 500,
    exit: 74,
    retry: false,
    todo: "look at the disk, then start again: recovery decides what is there",
  },
  outcome_unknown: {
    status: 500,
    exit: 74,
    retry: false,
    todo: "start again and look: it happened whole or not at all",
  },
  in_use: { status: 409, exit: 78, retry: false, todo: "stop the other process, or choose another home" },
  port_taken: {
    status: 409,
    exit: 78,
    retry: false,
    todo: "set SESSIOND_PORT, or gateway.port in the config, to another (0: any)",
  },
  unreadable_home: {
    status: 500,
    exit: 78,
    retry: false,
    todo: "make the home a directory that this user may read and write",
  },
  network_filesystem: { status: 500, exit: 78, retry: false, todo: "put the home on a local disk" },
  state_too_new: { status: 500, exit: 78, retry: false, todo: "use the newer version that wrote this state" },
  bug: {
    status: 500,
    exit: 70,
    retry: false,
    todo: "report it with this message, then start again; what was acknowledged is there",
  },
  closed: { status: 503, exit: 75, retry: true, todo: "it is shutting down; come back after the restart" },
  unreachable: {
    status: 503,
    exit: 69,
    retry: true,
    todo: "if it runs elsewhere, say where: SESSIOND_URL or SESSIOND_HOME",
  },
} as const;

export type FaultCode = keyof typeof FAULTS;

/** Another version may have words that this one does not know. */
export function isFaultCode(text: unknown): text is FaultCode {
  return typeof text === "string" && Object.hasOwn(FAULTS, text);
}

export class Fault extends Error {
  override readonly name = "Fault";
  readonly code: FaultCode;
  readonly #todo: string | null;

  /** `todo`: what helps in this one case, where the advice of the table would be wrong. */
  constructor(code: FaultCode, message: string, options?: ErrorOptions & { readonly todo?: string }) {
    super(message, options);
    this.code = code;
    this.#todo = options?.todo ?? null;
  }

  get status(): number {
    return FAULTS[this.code].status;
  }
  get exit(): number {
    return FAULTS[this.code].exit;
  }
  get retry(): boolean {
    return FAULTS[this.code].retry;
  }
  get todo(): string {
    return this.#todo ?? FAULTS[this.code].todo;
  }
}

/** A Fault crosses threads and doors as these two words; `faultFrom` makes it a Fault again. */
export interface FaultWords {
  readonly code: FaultCode;
  readonly message: string;
}

export function faultFrom({ code, message }: FaultWords): Fault {
  return new Fault(isFaultCode(code) ? code : "bug", message); // A page may be older than its daemon.
}
