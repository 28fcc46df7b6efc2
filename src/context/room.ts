// What a model's window is divided into. All in tokens.

/** Of a window: what the answer and its thoughts may take, when nobody says how much. */
const RESERVE_TOKENS = 20_000;
const RESERVE_SHARE = 1 / 4;

/**
 * The size at which a context is compacted, when nobody says which. Every step pays for all of it, and models find less in
 * more; below the second number a compaction would come too often (docs/decisions/0022).
 */
const SIZE_SHARE = 0.3;
const SIZE_TOKENS_MIN = 48_000;

/** What a conversation has at least beside the system prompt and the tools, whatever size was set: it must get somewhere. */
const CONVERSATION_TOKENS_MIN = 2_000;

/** Of what a conversation has: where pruning begins, what is not touched, and the least that a changed prefix must save. */
const PRUNE_SHARE = 1 / 2;
const KEEP_SHARE = 1 / 6;
const BATCH_SHARE = 1 / 5;

/** In a small window a changed prefix for every result would be one in every step. */
const BATCH_TOKENS_MIN = 1_000;

/** For pruning a conversation has no more than this, unless a size was set: what a tool returned long ago is stale in any window. */
const PRUNED_TOKENS_MAX = 60_000;

export interface Room {
  readonly window: number;
  readonly most: number; //      of a request; the rest is for the answer
  readonly compactAt: number; // past it the context is compacted
  readonly keep: number; //      of the newest part: a compaction does not touch it if it can be helped
  readonly pruneAt: number; //   past it old tool results leave the prompt
  readonly fresh: number; //     of the newest part: pruning does not touch it
  readonly batch: number; //     the least that a pruning must save
}

/** Null: not set. */
export interface SizePolicy {
  readonly sizeTokens: number | null;
  readonly reserveTokens: number | null;
}

/** `frame` is what the system prompt and the tools take: no pruning makes these smaller. */
export function roomOf(windowTokens: number, policy: SizePolicy, frame: number): Room {
  const window = Math.max(1, Math.floor(windowTokens));
  // A reserve that leaves nothing for the question would end the session: at most half of the window is one.
  const usual = Math.min(RESERVE_TOKENS, window * RESERVE_SHARE);
  const most = Math.max(1, Math.floor(window - Math.min(policy.reserveTokens ?? usual, window / 2)));
  const wanted = policy.sizeTokens ?? Math.max(SIZE_TOKENS_MIN, SIZE_SHARE * window);
  const size = Math.max(wanted, frame + CONVERSATION_TOKENS_MIN);
  const compactAt = Math.max(1, Math.floor(Math.min(most, size)));
  const conversation = Math.max(Math.min(CONVERSATION_TOKENS_MIN, compactAt), compactAt - frame);
  const pruned = policy.sizeTokens === null ? Math.min(conversation, PRUNED_TOKENS_MAX) : conversation;
  return {
    window,
    most,
    compactAt,
    keep: Math.floor(conversation * KEEP_SHARE),
    pruneAt: Math.max(
      0,
      Math.min(compactAt, compactAt - conversation + Math.floor(pruned * PRUNE_SHARE)) - 1,
    ),
    fresh: Math.floor(pruned * KEEP_SHARE),
    batch: Math.floor(Math.max(pruned * BATCH_SHARE, Math.min(pruned / 2, BATCH_TOKENS_MIN))),
  };
}
