// What holds when nobody says otherwise, and how far a written value may go. Each has its reason.

import { assert } from "../base/assert.ts";
import type { DmScope, SendPolicy, SessionConfig, Verbose, Visibility } from "./config.ts";

/** Below the user's home: one place that needs no rights and survives an update of the program. */
export const HOME_DEFAULT = "~/.sessiond";

/** Built in and scripted: the first start works without a key. */
export const MODEL_DEFAULT = "rehearsal/default";

/** Thinking costs tokens on every call, and some models refuse it: whoever wants it says so. */
export const THINKING_DEFAULT = "off";

/** A chat shows answers; what tools did is in the transcript for whoever looks. */
export const VERBOSE_DEFAULT: Verbose = "off";

/** A session works with the sub-agents it made. What strangers talk about is not its business. */
export const VISIBILITY_DEFAULT: Visibility = "tree";

/** Model calls of one turn. Long honest work has been seen to take some tens; a loop takes them all. */
export const STEPS_PER_TURN_DEFAULT = 200;
export const STEPS_PER_TURN_MAX = 1_000;

/** An hour: longer than people wait for an answer, short enough that a stuck turn is over the same day. */
export const TURN_SECONDS_DEFAULT = 3_600;
export const TURN_SECONDS_MAX = 86_400;

/** Ten minutes: a build or a test run ends in it; a command that waits for a keyboard does not. */
export const TOOL_SECONDS_DEFAULT = 600;
export const TOOL_SECONDS_MAX = 86_400;

/** Generations of sub-agents: a research lead, its researchers, and one more. Deeper trees lose sight of the question. */
export const SPAWN_DEPTH_DEFAULT = 3;
export const SPAWN_DEPTH_MAX = 8;

/** Tasks of one session in flight. They wait for slots, so many cost little; a loop that only spawns must end somewhere. */
export const CHILDREN_DEFAULT = 256;
export const CHILDREN_MAX = 1_000;

/** Smaller ones hold no system prompt, tools and a summary. */
export const CONTEXT_TOKENS_MIN = 2_000;

/** Tokens, and dollars, that a bound may name: more is none. */
export const BUDGET_TOKENS_MAX = 1_000_000_000_000;
export const BUDGET_COST_MAX = 10_000_000;

/** Model calls in flight. Below the limits that providers set for a paying account. */
export const SLOTS_DEFAULT = 32;
export const SLOTS_MAX = 1_000;

/** Slots that only people's turns may take: a person who writes starts at once, whatever else is going on. */
export const RESERVE_DEFAULT = 4;

/** Every class with work gets at least one grant of so many. Fewer than the least could not be kept with four classes. */
export const SHARE_DEFAULT = 16;
export const SHARE_MIN = 8;
export const SHARE_MAX = 1_000;

/** Tool processes that are waited for at the same time. They run on this machine, which has some cores. */
export const PROCESSES_DEFAULT = 16;
export const PROCESSES_MAX = 256;

/** Tokens of the largest window, and dollars of the dearest million tokens, that may be written down: ten times today's. */
export const WINDOW_TOKENS_MAX = 100_000_000;
export const PRICE_MAX = 10_000;

/** Arguments of a server's program, its variables, and headers: more is a mistake. */
export const SECRET_CHARS_MAX = 16_384;

/** A second: people who send three lines in a row pause less, and nobody notices the wait. */
export const COLLECT_MS_DEFAULT = 1_000;
export const COLLECT_MS_MAX = 60_000;

/** Two people who write to the same agent never read each other's words, nor does one name on two channels. */
export const DM_SCOPE_DEFAULT: DmScope = "per-channel-peer";

/** People open a thread to talk of something else. */
export const THREADS_DEFAULT: SessionConfig["threads"] = "empty";

/** Somebody who connects a channel wants answers on it. */
export const SEND_POLICY_DEFAULT: SendPolicy["default"] = "allow";

/** What an operator reads: starts, stops and damage, not each step. */
export const LOG_LEVEL_DEFAULT = "info";

/** 10 MiB, and five of them: some weeks of a busy gateway at `info`, and no disk minds. */
export const LOG_BYTES_DEFAULT = 10 * 1024 * 1024;
export const LOG_BYTES_MIN = 64 * 1024;
export const LOG_BYTES_MAX = 1024 * 1024 * 1024;
export const LOG_FILES_DEFAULT = 5;
export const LOG_FILES_MAX = 100;

/** Nobody else on this machine's network reaches it, and the port is not in use by anything well known. */
export const HOST_DEFAULT = "127.0.0.1";
export const PORT_DEFAULT = 7717;

/** More than a program on this machine can mean; a loop without a pause comes to it. */
export const REQUESTS_PER_SECOND_DEFAULT = 10_000;
export const REQUESTS_PER_SECOND_MAX = 1_000_000;

/** Most steps end within it. What does not is gone on with after the start: nothing is lost either way. */
export const DRAIN_SECONDS_DEFAULT = 10;
export const DRAIN_SECONDS_MAX = 3_600;

/** Half an hour: soon enough for what nobody waits for, and few calls a day. */
export const HEARTBEAT_MINUTES_DEFAULT = 30;
export const HEARTBEAT_MINUTES_MAX = 10_080;

/** When people sleep, as cron jobs have it. */
export const RESET_HOUR_DEFAULT = 4;
export const RESET_MINUTES_MAX = 525_600;

/** Nothing that upkeep looks for hurries. */
export const UPKEEP_MINUTES_DEFAULT = 60;
export const UPKEEP_MINUTES_MAX = 10_080;

/** A month without a word: people who come back find it in the archive. */
export const UPKEEP_STALE_DAYS_DEFAULT = 30;
export const UPKEEP_DAYS_MAX = 36_500;

/** Lists cost the same at any number; so many are more than people look at. */
export const UPKEEP_SESSIONS_DEFAULT = 10_000;
export const UPKEEP_SESSIONS_MAX = 100_000_000;

/** A week: whoever spawned it has read its report by then. */
export const UPKEEP_SUBAGENT_HOURS_DEFAULT = 168;
export const UPKEEP_HOURS_MAX = 876_000;

/** Months of talk. Editors and other programs read such a file still. */
export const UPKEEP_ROTATE_MIB_DEFAULT = 64;
export const UPKEEP_MIB_MAX = 1_000_000_000;

/** A tenth less: then it is quiet for a while. */
export const UPKEEP_HIGH_WATER_DEFAULT = 0.9;

/** Shorter ones are guessed. */
export const WEBHOOK_SECRET_CHARS_MIN = 16;

/** Bytes of a config file. A thousand agents fit; a log given by mistake does not. */
export const CONFIG_BYTES_MAX = 1024 * 1024;

/** Characters of a name or an address in the config: those of channels and models are far shorter. */
export const NAME_CHARS_MAX = 256;

/** Characters of a path: what Linux takes. */
export const PATH_CHARS_MAX = 4_096;

/** Items of one list of the config: every rule is looked at for every answer. */
export const LIST_ITEMS_MAX = 1_000;

/** Problems of a config that one message tells: a screen of them. */
export const PROBLEMS_SHOWN_MAX = 10;

/** Characters of one prompt file that reach the model: all four together stay below 20,000 tokens or so. */
export const PROMPT_FILE_CHARS_MAX = 20_000;

/** Bytes of a prompt file that are read whole, to count what is left out. Of a larger one only the beginning is read. */
export const PROMPT_READ_BYTES_MAX = 1024 * 1024;

assert(STEPS_PER_TURN_DEFAULT <= STEPS_PER_TURN_MAX, "the default number of steps may be written down");
assert(TURN_SECONDS_DEFAULT <= TURN_SECONDS_MAX, "the default length of a turn may be written down");
assert(TOOL_SECONDS_DEFAULT <= TURN_SECONDS_DEFAULT, "a tool that takes too long ends before its turn does");
assert(SLOTS_DEFAULT <= SLOTS_MAX, "the default number of slots may be written down");
assert(COLLECT_MS_DEFAULT <= COLLECT_MS_MAX, "the default wait for more letters may be written down");
assert(PROMPT_FILE_CHARS_MAX * 4 < PROMPT_READ_BYTES_MAX, "the beginning of a large file fills its share");
