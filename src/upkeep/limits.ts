// Bounds of upkeep, as src/limits.ts has all others: unit in the name, reason beside it.

/** Sessions, or archives, that the store is asked for at once: a page crosses threads whole, and takes some milliseconds. */
export const UPKEEP_PAGE_ROWS = 200;

/** Sessions that are looked at before others get the thread: a few milliseconds on a slow machine. */
export const PLAN_SLICE_ITEMS = 2_000;

/**
 * How long a plan is kept for whoever reads it page by page. There is one at a time: of a hundred thousand steps it is some twenty
 * megabytes.
 */
export const PLAN_KEPT_MS = 60_000;

/**
 * A plan that took longer than this to make is given to whoever asks next for as long as it took: so whoever only looks, however
 * often, keeps at most half of a reader busy. Others are made anew each time.
 */
export const PLAN_LONG_MS = 10_000;

/** Sessions archived, or archives erased, in one commit. A commit that waits behind it waits some milliseconds. */
export const ARCHIVE_AT_ONCE = 24;

/**
 * The pause after each piece of work is as long as the piece took, within these: whoever wants the disk meanwhile has half of
 * it at least, and a piece that took long (a transcript of a gigabyte) does not stop everything after it.
 */
export const UPKEEP_PAUSE_MS_MIN = 2;
export const UPKEEP_PAUSE_MS_MAX = 250;

/** When the first round is, after a start: what is gone on with goes first. A daemon that is restarted daily has its rounds too. */
export const UPKEEP_FIRST_MS = 60_000;

/** How often a warning that says what the last one said is said again. */
export const UPKEEP_SAID_AGAIN_MS = 24 * 60 * 60 * 1_000;

/** A plan that differs from the one that was told by less than this share is no news. */
export const UPKEEP_NEWS_SHARE = 0.1;

/** Archives younger than this are not erased for the disk's sake: whoever misses a conversation has a day to bring it back. */
export const BUDGET_ARCHIVE_MS_MIN = 24 * 60 * 60 * 1_000;

/**
 * What packing leaves of a transcript, until there are packed archives to measure it by; and how much of them is measured.
 * Conversations come to about a fifth.
 */
export const PACKED_SHARE_USUAL = 0.2;
export const PACKED_SHARE_BYTES_MIN = 1024 * 1024;

/**
 * What a packed transcript may hold for a rebuild, which does not know how much it should be: a few bytes can be made to hold any number.
 * It is several years of a busy session without a new file.
 */
export const UNPACKED_BYTES_MAX = 1024 * 1024 * 1024;
