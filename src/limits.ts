// Every bound, with its unit in the name and its reason beside it. Everything that can grow has one, and
// reaching it has a named outcome. Those of one folder alone are there: context, calls and gateway have a limits.ts too.

import { assert } from "./base/assert.ts";

/** Bytes of a session key. It is the address people type, and half of a transcript's first line. */
export const KEY_BYTES_MAX = 256;

/** Bytes of a transcript's first line. Old readers of the format look at 512 bytes to tell what a file is. */
export const HEADER_BYTES_MAX = 480;

/**
 * Bytes of a tool result that stay whole in its entry: of all its blocks together, and of its details. What does not
 * fit becomes a blob, and head and tail of it stay.
 */
export const RESULT_BYTES_MAX = 16 * 1024;

/** Bytes of a block of any other message kept in its entry. A long answer is text, and most people's longest is below. */
export const BLOCK_BYTES_MAX = 256 * 1024;

/** Bytes of all blocks of such a message that stay whole: an answer with a few long texts and calls. */
export const MESSAGE_BYTES_MAX = 1024 * 1024;

/**
 * Blocks of one message that leave head and tail in its entry. Those after them become one blob together: a tool can
 * return any number of blocks, and what stays of each would add up.
 */
export const SPILLED_BLOCKS_MAX = 8;

/** Objects and lists inside each other in one entry. Readers of JSON in other languages stop at about twice as many. */
export const NESTING_LEVELS_MAX = 500;

/** Bytes of one transcript line that we read. Above it the line is reported as damage: it is not ours. */
export const LINE_BYTES_MAX = 64 * 1024 * 1024;

/** Bytes of all lines of one commit: a fork of a long conversation fits, a runaway does not. */
export const COMMIT_BYTES_MAX = 64 * 1024 * 1024;

/** Bytes of commits that wait for the writer. Past it a caller gets `overloaded`. */
export const WAITING_BYTES_MAX = 256 * 1024 * 1024;

/** Characters of a label: it must fit a column of a table. */
export const LABEL_CHARS_MAX = 64;

/** Characters of a title taken from the first user text: one line of a list. */
export const TITLE_CHARS_MAX = 80;

/** Characters of the id of a letter, a timer or an answer: a principal's name and its own idempotency key fit. */
export const ID_CHARS_MAX = 1_024;

/** Letters of people and other sessions that wait in one mailbox. Past it the sender gets `mailbox_full`. */
export const MAILBOX_LETTERS_MAX = 1_000;

/** Bytes of one letter's content: text and references. Pictures and files go to blobs. */
export const LETTER_BYTES_MAX = 1024 * 1024;

/** How long the id of a taken letter from outside is remembered, so that a late repeat is known. */
export const MAIL_ID_KEPT_MS = 30 * 24 * 60 * 60 * 1_000;

/** Rows of one page of a list. */
export const PAGE_ROWS_MAX = 500;

/** Bytes of letters, or of answers, in one page: it crosses threads whole. A page has at least one row. */
export const PAGE_BYTES_MAX = 4 * 1024 * 1024;

/** Rows looked at for one page when a list is asked for by several properties at once. */
export const PAGE_SCAN_ROWS_MAX = 2_000;

/** Entries, and bytes of lines, that the reader hands over at once; more come with the next page. */
export const READ_ENTRIES_MAX = 256;
export const READ_BYTES_MAX = 256 * 1024;

/**
 * Histories with a rewind whose path is remembered: those that people look at, and those that run. And rewinds on the path of one: each is
 * two numbers, so all together are a few megabytes at most. With more, the path is walked each time.
 */
export const TRAILS_MAX = 256;
export const TRAIL_SPANS_MAX = 1_000;

/** Bytes of journal before a checkpoint. A start after a crash writes again what both twins have: about twice this. */
export const JOURNAL_BYTES_MAX = 8 * 1024 * 1024;

/** How long a line may stand in the journal before a checkpoint begins. */
export const CHECKPOINT_EVERY_MS = 1_000;

/**
 * Bytes of write-ahead log before it is folded back into the database. Long enough that a page which every commit
 * changes is folded once for thousands of them; a start after a crash reads it whole, which takes a tenth of a second.
 */
export const WAL_BYTES_MAX = 64 * 1024 * 1024;

/**
 * Commits in one transaction and one sync. While the writer syncs these, the main thread makes the next: with no
 * bound, all writers would wait for the same sync, and the two threads would work in turns.
 */
export const GROUP_COMMITS_MAX = 64;

/** Transcript files that the writer keeps open. Half of the 1,024 that systems grant at least. */
export const OPEN_FILES_MAX = 512;

/** Groups of commits that the feed remembers. A follower further behind has to list again. */
export const FEED_GROUPS_MAX = 20_000;

/** Characters of one entry's text that full-text search sees. */
export const SEARCH_TEXT_CHARS_MAX = 32 * 1024;

/** Bytes of one note of an agent's memory. It is read and written whole; what is longer is no note, and is split. */
export const NOTE_BYTES_MAX = 256 * 1024;

/**
 * Notes of one agent, bytes of all of them, and folders below each other. Every write counts them, and the first search after a
 * start reads them all, which takes some seconds at most.
 */
export const NOTES_MAX = 2_000;
export const NOTES_BYTES_MAX = 32 * 1024 * 1024;
export const NOTES_DEEP_MAX = 8;

/** Names below `memory/` that are looked at for notes: other files may stand there too. What is in further folders is told as left out. */
export const NOTES_NAMES_MAX = 10_000;

/** Different words of one question to notes: each costs a walk through the index, and all agents wait for one thread. */
export const NOTE_WORDS_MAX = 32;

/** Characters of a long note in which a snippet is looked for: some milliseconds for each note that is found. */
export const SNIPPET_WITHIN_CHARS = 64 * 1024;

/** Bytes of notes that are in indexes at once, of all agents. An index takes some times as much memory as its notes have bytes. */
export const NOTE_INDEXES_BYTES_MAX = 64 * 1024 * 1024;

/** Characters of a note's path: a person types it. */
export const NOTE_PATH_CHARS_MAX = 512;

/** Characters of a snippet of a hit: a word can be as long as a note. */
export const SNIPPET_CHARS_MAX = 300;

/** Receipts of agents' writes that are kept: far more than can be under way, and not yet answered, when a process dies. */
export const RECEIPTS_MAX = 1_000;

/** How old an unfinished file beside a note must be to be what a crash left. Writing one takes less than a second. */
export const UNFINISHED_KEPT_MS = 10 * 60 * 1_000;

/** How long a blob is kept before the entry that names it is committed. */
export const BLOB_HELD_MS = 60 * 60 * 1_000;

/**
 * Archives that are packed together, and share their transactions and the syncs of directories, as long as they have no more bytes
 * than this: some tenths of a second. One that has more is packed alone.
 */
export const PACK_AT_ONCE = 24;
export const PACK_BYTES_AT_ONCE = 16 * 1024 * 1024;

/** Events, and bytes of them, that wait for one follower. Past either it is cut off and told where to go on. */
export const FOLLOWER_EVENTS_MAX = 4_096;
export const FOLLOWER_BYTES_MAX = 8 * 1024 * 1024;

/** Between two looks at what changed in all sessions: people see it as at once, and a busy gateway is asked ten times a second. */
export const WATCH_PAUSE_MS = 100;

/** Letters that one turn begins with, and that enter it before one step. Others wait for the next. */
export const TURN_LETTERS_MAX = 100;

/** Letters of one session, and bytes of them, that are kept in memory while they wait. The others are in the store. */
export const MAILBOX_KEPT_LETTERS = 200;
export const MAILBOX_KEPT_BYTES = 1024 * 1024;

/** Tool calls of one step that run at once. */
export const TOOLS_PARALLEL_MAX = 8;

/** Bytes of a tool's result that are kept, in a blob. What is longer is cut, and says so. */
export const TOOL_OUTPUT_BYTES_MAX = 64 * 1024 * 1024;

/**
 * How much longer than `limits.toolSeconds` a tool is waited for that ends its programs by itself: SIGTERM has two seconds,
 * killing takes a moment, and then it tells what they said.
 */
export const PROGRAM_ENDING_MS = 5_000;

/**
 * How long the programs of a killed session, and those that a killed gateway left, have to end by themselves after SIGTERM.
 * Within two seconds nothing of them is left, also on a busy machine; and what a program does at its end fits.
 */
export const KILLED_GRACE_MS = 500;

/** Times that a model is asked for the same step before the turn fails. */
export const MODEL_TRIES_MAX = 4;

/** The pause before a model is asked again, doubled each time, unless the model says how long. */
export const MODEL_RETRY_MS = 1_000;

/** The same when there is another model to fall back on; and how long a pause of its provider is waited for before that. */
export const MODEL_TRIES_BEFORE_FAILOVER = 2;
export const FAILOVER_PATIENCE_MS = 5_000;

/** Attempts at a summary that fail in one turn, and times that a model refuses a step for its size, before nobody tries again. */
export const SUMMARY_TRIES_MAX = 2;
export const SUMMARY_MS_MAX = 5 * 60 * 1_000; // of one attempt, all parts of it
export const OVERFLOWS_MAX = 2;

/** Tokens of a window that a model's refusals are taken to mean at least: a system prompt, tools and a question have room. */
export const WINDOW_TOKENS_MIN = 4_000;

/** Bytes of a conversation that are worth a summary, and that a summary may always have: its headings and a few lines each. */
export const COMPACTED_BYTES_MIN = 4_000;
export const SUMMARY_BYTES_MIN = 3_000;

/**
 * Starts after a crash that find a turn where the last one left it, before it is given up as interrupted, though it never was
 * the only one that was tried. Few enough that a turn which kills its process late does not do so for ever; many, because
 * mostly it is somebody else who does.
 */
export const RESUMES_MAX = 8;

/**
 * How long a turn that the process died in twice is gone on with before the next such one is. What kills a process mostly
 * does so at once; and there may be many that were only nearby.
 */
export const SUSPECT_ALONE_MS = 1_000;

/** How long a gateway that stops waits for tools that run. What runs longer is for the next start to sort out. */
export const LEAVE_GRACE_MS = 5_000;

/** How long a claim lasts without being renewed, and how often it is. A gateway that stops is replaced after the lease. */
export const LEASE_MS = 60_000;
export const LEASE_RENEWED_MS = 15_000;

/** Sessions without work that stay in memory, ready for the next message. Beyond it the one longest idle goes. */
export const HOT_SESSIONS_MAX = 256;

/** Bytes of a message's text as JSON. Who wrote it and what it brings along fit a letter beside it. */
export const MESSAGE_TEXT_BYTES_MAX = 960 * 1024;

/** Bytes of all pictures of one message, and of one request to a model: older ones are left to words. */
export const MESSAGE_PICTURES_BYTES_MAX = 20 * 1024 * 1024;
export const REQUEST_PICTURES_BYTES_MAX = 32 * 1024 * 1024;

/**
 * Bytes of a tool result that stay in the prompt however old it is: the marker that would stand for it has about a hundred, and
 * most of what a tool says in a sentence fits.
 */
export const PRUNED_BYTES_MIN = 400;

/** Entry ids that a session can pin: they stay whole in every context, so they must stay few. */
export const PINS_MAX = 32;

/** Entries of a chat that a thread of it starts with. */
export const THREAD_START_ENTRIES_MAX = 40;

/**
 * Entries, and bytes of them, that a fork or a sub-agent starts with. A window of a million tokens is about four megabytes of
 * text, so what a model can be shown fits; and one commit writes it without keeping others waiting for long.
 */
export const FORK_ENTRIES_MAX = 10_000;
export const FORK_BYTES_MAX = 16 * 1024 * 1024;

/** Entries looked at, from the end, for one that is named by its id. An older one is named by its number. */
export const ENTRY_LOOKBACK_ENTRIES = 10_000;

/** Characters of an answer that leave a session. Escaped, each may take six bytes in a letter. */
export const OUTWARD_CHARS_MAX = 100_000;

/** How long a door may take over an answer, how often it is tried, and the pause before the second time; doubled each time. */
export const DELIVERY_MS_MAX = 60_000;
export const DELIVERY_TRIES_MAX = 8;
export const DELIVERY_RETRY_MS = 1_000;

/** Bytes of what a webhook's receiver says about a refusal: a sentence for whoever looks at the outbox. */
export const WEBHOOK_WORDS_BYTES_MAX = 512;

/**
 * How often the store is asked for timers that are due soon. One that another gateway has set, or that a change of the
 * machine's clock has made due, is late by this at most; it is one small query.
 */
export const TIMER_LOOK_MS = 30_000;

/** Timers that are fired at once. After a long downtime thousands are due, and people's commits come in between. */
export const TIMERS_AT_ONCE_MAX = 16;

/** Timers that the store is asked for at once; each may be as long as a letter. */
export const TIMERS_PAGE_ROWS = 32;

/** The pause before a timer that could not be fired is tried again; doubled each time, up to the second. */
export const TIMER_RETRY_MS = 1_000;
export const TIMER_RETRY_MS_MAX = 5 * 60 * 1_000;

/** Entries looked at, from the end, for a letter that is sent again: mostly its sender just did not hear of the first time. */
export const REPEAT_LOOKBACK_ENTRIES = 100;

/** Entries looked at, from the end, for the answer to a letter. */
export const ANSWER_LOOKBACK_ENTRIES = 2_000;

/** Characters of what a model says about its failure. */
export const FAILURE_CHARS_MAX = 2_000;

assert(MESSAGE_TEXT_BYTES_MAX + 32 * 1024 < LETTER_BYTES_MAX, "a message fits a letter");
assert(MESSAGE_PICTURES_BYTES_MAX <= REQUEST_PICTURES_BYTES_MAX, "the pictures of a message are shown");
assert(SUMMARY_BYTES_MIN < COMPACTED_BYTES_MIN, "a summary is shorter than what it stands for");
assert(NOTE_BYTES_MAX <= NOTES_BYTES_MAX, "the largest note fits a memory");
assert(NOTES_BYTES_MAX <= NOTE_INDEXES_BYTES_MAX, "a full memory fits the indexes");
assert(NOTES_MAX <= NOTES_NAMES_MAX, "all notes are looked at");
assert(OUTWARD_CHARS_MAX * 6 < LETTER_BYTES_MAX, "what leaves fits a letter, however it is escaped");
assert(LEASE_RENEWED_MS * 3 < LEASE_MS, "a renewal may fail twice");
assert(LETTER_BYTES_MAX <= MAILBOX_KEPT_BYTES, "the largest letter can be kept");
assert(RESULT_BYTES_MAX <= BLOCK_BYTES_MAX, "a tool result is a block too");
assert(BLOCK_BYTES_MAX <= MESSAGE_BYTES_MAX, "a message of one block keeps it");
assert(MESSAGE_BYTES_MAX < COMMIT_BYTES_MAX, "a message that was spilled fits a commit");
assert(FORK_BYTES_MAX * 2 < COMMIT_BYTES_MAX, "what a session starts with fits a commit");
assert(COMMIT_BYTES_MAX <= LINE_BYTES_MAX, "what we write in one line, we read");
assert(COMMIT_BYTES_MAX < WAITING_BYTES_MAX, "the largest commit finds room");
assert(LETTER_BYTES_MAX < COMMIT_BYTES_MAX, "a letter is written into the transcript when it is taken");
