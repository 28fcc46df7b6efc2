import type { SessionKey } from "../routing/key.ts";

/** Something due at a time. Firing it and posting its letter are one commit, so it fires once. */
export interface Timer {
  readonly id: string;
  /** The session it is for; it goes when the session goes. */
  readonly key: SessionKey;
  readonly dueAtMs: number;
  /** What is due, in the words of whoever set it. */
  readonly body: unknown;
}
