// Bounds of a summary and of what it is made of, as src/limits.ts has all others: unit in the name, reason beside it.

import { assert } from "../base/assert.ts";
import { SUMMARY_BYTES_MIN } from "../limits.ts";

/** Answers of a flush that may call for more: some notes fit, and one that never ends is over. */
export const FLUSH_ANSWERS_MAX = 8;

/**
 * What a summary must name of the part that was cut off: how many of each, bytes of them, and characters of one. Together they are
 * a fifth of the smallest window (8,000 tokens), so that there is room for what a model writes beside them.
 */
export const IDENTIFIERS_MAX = 16;
export const IDENTIFIERS_BYTES_MAX = 1_200;
export const QUESTIONS_MAX = 5;
export const QUESTIONS_BYTES_MAX = 1_200;
export const STANDING_MAX = 20;
export const STANDING_BYTES_MAX = 3_000;
export const WANTED_CHARS_MAX = 300;

/** Bytes of a summary when nobody says how many; words of one that are asked for at most: longer ones are not read. */
export const SUMMARY_BYTES_USUAL = 6_000;
export const SUMMARY_WORDS_MAX = 1_000;

/**
 * Characters of a message that the writer of a summary is shown, of a tool's result, and of the arguments of a call; and how many
 * calls of one answer. What is longer has its point at the beginning or the end.
 */
export const PIECE_CHARS_MAX = 8_000;
export const PIECE_RESULT_CHARS_MAX = 1_500;
export const PIECE_CALL_CHARS_MAX = 400;
export const PIECE_CALLS_MAX = 20;

/**
 * Bytes of a question for a summary that are needed at least, those of it that are kept free for a focus and for why an attempt
 * was refused, and bytes of a focus. So a window of 4,000 tokens has a summary too.
 */
export const QUESTION_BYTES_MIN = 6_000;
export const QUESTION_EXTRA_BYTES = 1_800;
export const QUESTION_FOCUS_BYTES_MAX = 400;

/** Questions, one on top of the other, that a history goes in: beyond it each message is shown shorter. Somebody pays for each. */
export const QUESTIONS_IN_ROW_MAX = 24;

/** Faults of a summary that its writer is told. */
export const SUMMARY_PROBLEMS_MAX = 8;

/** Children in flight that a summary names: more are told of by the tool that lists them. */
export const SUMMARY_TASKS_MAX = 50;

/** Characters of a message of the open turn that stays word for word when it is cut off, and of all of them. */
export const ASKED_CHARS_MAX = 4_000;
export const ASKED_CHARS_MAX_OF_ALL = 16_000;

assert(SUMMARY_BYTES_MIN <= SUMMARY_BYTES_USUAL, "the usual summary is no smaller than the smallest");
assert(ASKED_CHARS_MAX <= ASKED_CHARS_MAX_OF_ALL, "the longest message that is asked fits");
assert(QUESTION_FOCUS_BYTES_MAX < QUESTION_EXTRA_BYTES, "a focus has its room");
