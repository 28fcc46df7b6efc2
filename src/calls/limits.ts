// Bounds of what one answer tells, as src/limits.ts has all others: unit in the name, reason beside it.

import { assert } from "../base/assert.ts";
import { RESULT_BYTES_MAX } from "../limits.ts";

/** How long a question waits until search has seen what was committed before it: usually some hundredths of a second. */
export const SEARCH_WAIT_MS = 2_000;

/** Characters of one entry that a history tells; of its tool calls, how many, and characters of their arguments. */
export const HISTORY_ENTRY_CHARS_MAX = 4_000;
export const HISTORY_CALLS_MAX = 10;
export const HISTORY_CALL_CHARS_MAX = 400;

/** Waiting letters that a status counts. */
export const LETTERS_COUNTED_MAX = 100;

/** Bytes of a page of history: of one for people, and of one that is the result of a tool and must stay whole in it. */
export const HISTORY_BYTES_MAX = 256 * 1024;
export const HISTORY_BYTES_MAX_OF_TOOL = 12 * 1024;

/**
 * Bytes of a page of a result: of one for people, and of one that is read by a tool, as JSON: whatever is escaped in it, it stays
 * whole, and is not itself a result that has to be read again.
 */
export const RESULT_PAGE_BYTES_MAX = 256 * 1024;
export const RESULT_PAGE_BYTES_MAX_OF_TOOL = 14 * 1024;

/** Bytes of a blob that are in memory at once while it is looked through. */
export const RESULT_RANGE_BYTES = 256 * 1024;

/**
 * Bytes around a piece of a text that are looked at for secrets which reach into it, and for the lines around a match. A private
 * key is a tenth of it.
 */
export const RESULT_REACH_BYTES = 32 * 1024;

/** Places of a text that one answer tells of, bytes of such a line, and of a line beside it: what is longer is cut. */
export const RESULT_MATCHES_MAX = 200;
export const RESULT_LINE_BYTES_MAX = 2_000;
export const RESULT_BESIDE_BYTES_MAX = 500;

/** Characters that are looked for: a line of a program. Lines beside a match, before it and after it. */
export const RESULT_GREP_CHARS_MAX = 256;
export const RESULT_CONTEXT_LINES_MAX = 10;

/** Sessions in a list that is the result of a tool, for the same reason. */
export const LISTED_MAX_OF_TOOL = 20;

/**
 * Entries looked at, from the end, for a turn that is traced, and bytes of what is told of it. Of a longer one the beginning is
 * left out, and that is said.
 */
export const TRACE_ENTRIES_MAX = 5_000;
export const TRACE_BYTES_MAX = 1024 * 1024;

assert(HISTORY_BYTES_MAX_OF_TOOL < RESULT_BYTES_MAX, "a page that a tool returns is not cut");
assert(RESULT_PAGE_BYTES_MAX_OF_TOOL + 1_500 < RESULT_BYTES_MAX, "a page that is read is not cut");
assert(RESULT_LINE_BYTES_MAX * 6 + 1_000 < RESULT_PAGE_BYTES_MAX_OF_TOOL, "an escaped line fits a page");
assert(RESULT_LINE_BYTES_MAX + RESULT_GREP_CHARS_MAX * 4 < RESULT_REACH_BYTES, "it is in reach");
