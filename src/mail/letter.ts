import type { Provenance } from "../routing/provenance.ts";
import type { Origin } from "../routing/route.ts";
import type { SessionKey } from "../routing/key.ts";
import type { Block } from "../transcript/entry.ts";

/** Whose work it is, and so how soon it runs: a person waits; a person's child works; a timer fired; nobody waits. */
export type Class = "interactive" | "delegated" | "scheduled" | "background";

/** What a letter does to a turn that is running when it arrives. */
export type Mode = "steer" | "followup" | "collect" | "interrupt";

/**
 * Where an answer goes. `channel` names the door; `to` is the door's own address. The channel `session` is no door: `to` is
 * the key of the session that asked, and the answer is a letter to it.
 */
export interface Route {
  readonly channel: string;
  readonly to: string;
  readonly thread: string | null;
}

/** Something that happens to a session. Everything that does is a letter. */
export interface Letter {
  /**
   * `ext:<whose it is, and for whom>:<the sender's idempotency key>` or `cause:<logical cause>`, never the attempt. The same
   * id with the same content gets the first receipt again; with other content it is a conflict.
   */
  readonly id: string;
  readonly from: Provenance;
  readonly class: Class;
  readonly mode: Mode | null; //     null: as the session's settings say when it is read
  readonly content: readonly Block[];
  readonly replyTo: Route | null; // null: whoever wrote it reads the transcript
  readonly origin: Origin | null; // null: it came through no channel
}

/** A letter that waits. */
export interface Mail extends Letter {
  readonly to: SessionKey;
  readonly postedAtMs: number;
}

/** An answer on its way out: delivered at least once, under an id that makes a repeat visible. */
export interface Outgoing {
  readonly id: string;
  readonly key: SessionKey;
  readonly route: Route;
  readonly content: readonly Block[];
  readonly postedAtMs: number;
  /** Null while it is to be delivered; else why it will not be. A delivered one is gone. */
  readonly refused: string | null;
}
