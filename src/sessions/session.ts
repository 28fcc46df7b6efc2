// The session record: one row of the table, some hundreds of bytes, so that ten thousand of them are a few megabytes.
// Prompts, reports and results never live here. No field is optional: absence is null, with a meaning.

import type { Route } from "../mail/letter.ts";
import type { Origin } from "../routing/route.ts";
import type { KeyKind, SessionKey } from "../routing/key.ts";
import type { TokenUsage } from "../transcript/fold.ts";

export interface Session {
  // Given at birth, never changed.
  readonly key: SessionKey;
  readonly agent: string;
  readonly kind: KeyKind;
  readonly parent: SessionKey | null; // null: opened by a person or a timer
  readonly root: SessionKey; //          itself when it has no parent; who pays, and whose sandbox it is
  readonly depth: number; //             0 for a root, its parent's depth + 1 for a child
  readonly bornAtMs: number;

  // Written only by the session's owner, through its lane.
  readonly state: RunState; //           but what has ended may be revived by anyone
  readonly route: Route | null; //       where replies go; null: nowhere but the transcript
  readonly origin: Origin | null; //     where the newest message of a channel came from; null: none came yet
  readonly transcript: Tail;

  // Written by anyone at any time; a running turn looks between steps.
  readonly signal: Signal;
  readonly settings: Settings;
  readonly settingsVersion: number; //   grows by one with every change of a setting
  readonly usage: Usage; //              its own, without its children's
  readonly tree: Usage | null; //        with all its descendants'; null: none of them has used anything

  // Written by the store, from what it commits.
  readonly title: string; //             the first words a person wrote; empty while nobody has
  readonly updatedAtMs: number;
  readonly interactedAtMs: number; //    when a person last wrote; 0: nobody has yet
}

/** Where the history ends. All of it can be made again from the transcript file. */
export interface Tail {
  readonly id: string;
  readonly lastSeq: number; //           numbers go on when a conversation begins anew; 0: there never was an entry
  readonly leafId: string | null; //     what the next entry continues; null: no entry yet
  readonly bytes: number; //             committed length of the file
  readonly contextSeq: number; //        what a model is shown starts here
  readonly contextTokens: number; //     of that, at the newest entry that says so; 0: nobody has said
  readonly firstSeq: number; //          the first seq of this file; older ones are in the files before it, or in an archive
  readonly jumpSeq: number; //           the newest entry that did not continue the one before it; 0: none
  readonly copied: number; //            entries up to this number were copied by a fork
}

export type Outcome = "done" | "failed" | "killed" | "timeout" | "limit" | "interrupted";

/** What only makes sense in one state lives in that state, so nobody finds a stale one. */
export type RunState =
  | { readonly kind: "idle" }
  | { readonly kind: "queued"; readonly sinceMs: number }
  | { readonly kind: "running"; readonly sinceMs: number; readonly turn: string; readonly step: number }
  | { readonly kind: "waiting"; readonly sinceMs: number; readonly for: "children" | "person" }
  | { readonly kind: "paused"; readonly sinceMs: number }
  | {
      readonly kind: "ended";
      readonly atMs: number;
      readonly outcome: Outcome;
      readonly reason: string | null;
    };

/** A wish, seen at the next safe point. A kill is never taken back; it is over with the life that it ended. */
export type Signal = "none" | "pause" | "kill";

/** Null: as the agent's configuration says. */
export interface Settings {
  readonly label: string | null;
  readonly model: string | null;
  readonly thinking: string | null;
  readonly verbose: string | null;
  readonly sendPolicy: "allow" | "deny" | null;
  readonly queueMode: string | null;
  readonly nice: number;
  readonly pinned: boolean;
  readonly pins: readonly string[]; // ids of entries that stay whole when the rest is summarised
  // Given to a sub-agent by whoever spawned it; never wider than what that one has.
  readonly tools: readonly ToolScope[]; //     each must let a tool through, beside its agent's own policy
  readonly limits: SessionLimits | null;
  readonly oneShot: boolean | null; //         whether it ends after its work; null: as its kind does
  readonly deleteAtEnd: boolean; //            true: nothing stays of it when it has ended
}

/** Deny wins. Null: all that there are. */
export interface ToolScope {
  readonly allow: readonly string[] | null;
  readonly deny: readonly string[];
}

/** Null: as the agent's configuration says. Tokens and cost are those of the session and all its descendants together. */
export interface SessionLimits {
  readonly stepsPerTurn: number | null;
  readonly turnSeconds: number | null;
  readonly tokens: number | null;
  readonly cost: number | null; //             in US dollars
}

/** What was used. Times in milliseconds. */
export interface Usage extends TokenUsage {
  readonly steps: number;
  readonly toolCalls: number;
  readonly modelMs: number;
  readonly wallMs: number;
  readonly toolCpuMs: number;
  readonly toolPeakBytes: number; // the largest, not the sum
}
