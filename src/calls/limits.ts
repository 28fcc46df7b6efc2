// Bounds of what one answer tells, as src/limits.ts has all others: unit in the name, reason beside it.

import { assert } from "../base/assert.ts";
import { RESULT_BYTES_MAX } from "../limits.ts";

/** How long a question waits until search has seen what was committed before it: usually some hundredths of a second. */
export const SEARCH_WAIT_MS = 2_000;

/** Entries that are read at once for who said what was found: others get the reader in between. And characters of who that is. */
export const SAYING_AT_ONCE = 20;
export const SAYING_FROM_CHARS_MAX = 200;

/** Characters of one entry that a history tells; of its tool calls, how many, and characters of their arguments. */
export const HISTORY_ENTRY_CHARS_MAX = 4_000;
export const HISTORY_CALLS_MAX = 10;
export const HISTORY_CALL_CHARS_MAX = 400;

/** How long whoever archives a session waits until it is packed; what takes longer is packed while nobody waits. */
export const ARCHIVE_PACK_MS = 10_000;

/** Characters of an archive's id that are a beginning: fewer are often a slip, and one that erases takes them too. */
export const ARCHIVE_BEGIN_CHARS_MIN = 6;

/** Archives below a session that come back in one commit: who commits meanwhile waits for it. Who has more asks again. */
export const RESTORED_BELOW_MAX = 500;

/** Archives that an error names, where several begin alike. */
export const ARCHIVES_NAMED_MAX = 8;

/** Steps of a plan of upkeep that one answer tells: about a hundred kilobytes, a millisecond of the main thread. */
export const PLAN_STEPS_MAX = 1_000;

/** Titles of steps that are looked up at the same time: whoever else asks the store waits behind no more than these. */
export const TITLES_AT_ONCE = 32;

/** How long who asks for a run of upkeep is kept waiting at most before it is told how far it is. */
export const UPKEEP_WAIT_SECONDS_MAX = 60;

/** Characters of a letter that waits which are told, and of who wrote it: a page of them is asked for again and again while somebody looks. */
export const MAIL_CHARS_TOLD = 1_000;
export const MAIL_FROM_CHARS_TOLD = 300;

/**
 * Characters of an answer in pieces that wait until it is known that they are no secret: the longest of the usual keys. Of an answer
 * with a longer word no more pieces are told: it comes whole.
 */
export const PIECE_HELD_CHARS_MAX = 4_096;

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

/** Bytes of the beginning that tell whether all of it is a text. */
export const RESULT_HEAD_BYTES = 4 * 1024;

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

/** Characters of the words that a list of sessions is asked for: a whole key, and a title. */
export const LIST_TEXT_CHARS_MAX = 400;

/**
 * Entries looked at, from the end, for a turn that is traced, and bytes of what is told of it. Of a longer one the beginning is
 * left out, and that is said.
 */
export const TRACE_ENTRIES_MAX = 5_000;
export const TRACE_BYTES_MAX = 1024 * 1024;

/**
 * Jobs of one agent. Somebody looks after them by a list; and an agent that adds one in every turn is stopped before the clock has
 * nothing else to do.
 */
export const JOBS_PER_AGENT_MAX = 1_000;

/**
 * The shortest after which a job that an agent made may begin another fresh session. Each one stays for days: a slip of a model, every
 * second, would make a quarter of a million. People may have what they ask for.
 */
export const JOB_FRESH_MS_MIN = 60_000;

/** Jobs that are looked through for one that is named by its name or by the beginning of its id. */
export const JOBS_LOOKED_MAX = 5_000;

/** Characters of an id that are a beginning: fewer are often a slip, and fit many. */
export const JOB_BEGIN_CHARS_MIN = 4;

/** Bytes of what a job is to do: pages of it are held in memory. A longer one is a file, which the message names. */
export const JOB_MESSAGE_BYTES_MAX = 32 * 1024;

/** Characters of a message, and of a run's note, that a list tells. */
export const JOB_MESSAGE_CHARS_TOLD = 200;

/** How far away a time may be, and how long a span: ten years. Beyond it a year was most likely mistyped. */
export const JOB_SPAN_MS_MAX = 3_660 * 24 * 60 * 60 * 1_000;

/** By how much a job may be put off so that many do not fire at once. Whatever is once a day stays so. */
export const JOB_STAGGER_MS_MAX = 24 * 60 * 60 * 1_000;

/** Failures in a row that somebody may let happen. */
export const JOB_FAILURES_MAX = 1_000;

/** Times that are told of a job: enough to see whether an expression means what was meant. */
export const JOB_TIMES_TOLD = 5;

/** Times that can be asked for: as many as a timeline has room for. Each is searched for, and a rare one takes some milliseconds. */
export const JOB_TIMES_MAX = 50;

/**
 * How long a chat command of a channel is waited for before it is answered: whoever brought it waits too, and some give up after half
 * a minute. What takes longer is done all the same, and how it ended is told when it has, within a day: who asked has forgotten it then.
 */
export const COMMAND_WAIT_MS = 15_000;
export const COMMAND_WORK_MS_MAX = 24 * 60 * 60 * 1_000;

/**
 * Answers of a session that have not left, or, apart from them, that may not: with so many no command adds one. Nobody reads a
 * hundred answers before they write on; whoever writes more has a channel that takes none, or is a program gone wild.
 */
export const COMMAND_ANSWERS_MAX = 100;

/** How long it is known that a command came: channels that deliver again do so within minutes, a few within a day. */
export const COMMAND_REMEMBERED_MS = 2 * 24 * 60 * 60 * 1_000;

/**
 * Sessions, and entries of them all and their bytes, that are read back after a start for what was used today: seconds of the reader's
 * time, in pieces. Entries are a kilobyte as a rule; where each has a picture or a long result, it is the bytes that take so long, and
 * half a second of the main thread with them. And archives that are looked at for one of today.
 */
export const TODAY_SESSIONS_MAX = 2_000;
export const TODAY_ENTRIES_MAX = 50_000;
export const TODAY_BYTES_MAX = 64 * 1024 * 1024;
export const TODAY_ARCHIVES_MAX = 200;

/** Failures that are told, and characters of why: a line or two on a page. */
export const FAILURES_KEPT = 20;
export const FAILURE_REASON_CHARS_MAX = 300;

/** How long a model that is tested may take, with its waiting for a slot; and characters of what it said that are told. */
export const MODEL_TEST_MS = 30_000;
export const MODEL_TEST_CHARS_TOLD = 200;

assert(HISTORY_BYTES_MAX_OF_TOOL < RESULT_BYTES_MAX, "a page that a tool returns is not cut");
assert(RESULT_PAGE_BYTES_MAX_OF_TOOL + 1_500 < RESULT_BYTES_MAX, "a page that is read is not cut");
assert(RESULT_LINE_BYTES_MAX * 6 + 1_000 < RESULT_PAGE_BYTES_MAX_OF_TOOL, "an escaped line fits a page");
assert(RESULT_LINE_BYTES_MAX + RESULT_GREP_CHARS_MAX * 4 < RESULT_REACH_BYTES, "it is in reach");

/** Rows that are read at once for somebody who watches: few enough to wait for, and to be new when they are told. */
export const WATCH_ROWS = 32;
