// Looking into what was said: a history as people read it, entries as they are kept, one result, one turn, words in all of them.

import { call, just } from "./call.ts";
import { entries, entriesInput, entriesPage } from "./entries.ts";
import { HISTORY_BYTES_MAX, HISTORY_BYTES_MAX_OF_TOOL } from "./limits.ts";
import { keyFor, reached } from "./reach.ts";
import { result, resultInput, resultPage, resultToolInput } from "./results.ts";
import * as shape from "./schemas.ts";
import { found, search, searchInput } from "./searching.ts";
import { trace } from "./trace.ts";
import * as traced from "./trace-shapes.ts";
import { historyOf } from "./views.ts";

export const lookingCalls = {
  history: call({
    about: "What was said in a session, the newest page first. Long texts are cut, secrets are taken out.",
    who: "both",
    tool: "sessions_history",
    scope: "read",
    http: "GET /sessions/:sessionKey/history",
    input: shape.historyInput,
    output: shape.history,
    idempotent: true,
    run: async (system, caller, { sessionKey, before = null, limit = 50 }) => {
      const session = await reached(system, caller, keyFor(caller, sessionKey));
      const bytes = caller.kind === "agent" ? HISTORY_BYTES_MAX_OF_TOOL : HISTORY_BYTES_MAX;
      return just(await historyOf(system, session, { before, limit, bytes }));
    },
  }),
  entries: call({
    about:
      "The entries of a session as they are in its transcript, by pages, from the first on or back: what an export is made of. Secrets are " +
      "taken out.",
    who: "person",
    tool: null,
    scope: "read",
    http: "GET /sessions/:sessionKey/entries",
    input: entriesInput,
    output: entriesPage,
    idempotent: true,
    run: entries,
  }),
  result: call({
    about:
      "Reads what is not in the prompt, or not any more: the result behind `[compacted: tool output removed] (… bytes, ref …)`, " +
      "or what was left out of a long one (`all … are in blob …`). By pages, or with `grep` the lines that have a text.",
    who: "both",
    tool: "read_result",
    scope: "read",
    http: "GET /sessions/:sessionKey/results/:ref",
    input: resultInput,
    toolInput: resultToolInput,
    output: resultPage,
    idempotent: true,
    run: result,
  }),
  trace: call({
    about:
      "Where the time and the tokens of a turn went: its steps and tool calls. Also of one that still runs.",
    who: "person",
    tool: null,
    scope: "read",
    http: "GET /sessions/:sessionKey/trace",
    input: traced.traceInput,
    output: traced.trace,
    idempotent: true,
    run: trace,
  }),
  search: call({
    about:
      "Finds words in what was said, in all sessions, in those of an agent, or in one. What is archived is not looked into: restore it first.",
    who: "person",
    tool: null,
    scope: "read",
    http: "GET /search",
    input: searchInput,
    output: found,
    idempotent: true,
    run: search,
  }),
} as const;
