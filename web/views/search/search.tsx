// Search: words, in everything that was said, and in notes. What is asked is the address, so an answer can be linked to and come back to.

import { oneLine } from "../../../src/base/harmless.ts";
import { useEffect, useRef, useState } from "preact/hooks";
import { many } from "../../../src/base/figures.ts";
import type { Output } from "../../../src/calls/door.ts";
import { Button } from "../../parts/button.tsx";
import { Empty, Trouble } from "../../parts/empty.tsx";
import { SearchField } from "../../parts/search-field.tsx";
import { stepIn } from "../../parts/step.ts";
import { shortKey } from "../../parts/text.tsx";
import { useAgents } from "../../state/agents.ts";
import { useAsked } from "../../state/asking.ts";
import { useKeys } from "../../state/keys.ts";
import { useLate } from "../../state/late.ts";
import { place, replace } from "../../state/place.ts";
import { call } from "../../wire/call.ts";
import { Found } from "./found.tsx";
import { useLasting } from "./lasting.ts";
import { countOf, FoundNotes, useNotes, type Notes } from "./notes.tsx";
import "./search.css";

const FIRST_HITS = 50;
const HITS_MAX = 200; // The daemon tells no more at once.
const BEHIND_MS = 1_000;

/** An answer, and the words that it is to. */
interface Answer extends Output<"search"> {
  readonly text: string;
}

const NOTHING_ASKED: Answer = { text: "", hits: [], behind: 0 };

function useHits(limit: number) {
  const { text = "", agent = "", session = "" } = place.value.query;
  const late = useLate(text.trim());
  const agents = useAgents();
  const all = agents.fault === null ? agents.value : [];
  const notes = useNotes(late, agent === "" ? all : [agent], session);
  const asked = useAsked(
    async (signal): Promise<Answer> => {
      if (late === "") return NOTHING_ASKED;
      const of = agent === "" ? {} : { agent };
      const within = session === "" ? {} : { sessionKey: session };
      return { ...(await call("search", { text: late, limit, ...of, ...within }, signal)), text: late };
    },
    [late, agent, session, limit],
  );
  const shown = useLasting(asked);
  const isBehind = shown !== null && shown.behind > 0;
  useEffect(() => {
    if (!isBehind || asked.isLoading) return;
    const timer = setTimeout(asked.again, BEHIND_MS);
    return () => clearTimeout(timer);
  }, [isBehind, asked.isLoading]);
  return { ...asked, shown, notes, isTyping: text.trim() !== (shown?.text ?? "") };
}

export function Search() {
  const { query } = place.value;
  const [limit, setLimit] = useState(FIRST_HITS);
  const list = useRef<HTMLDivElement>(null);
  const { shown, notes, fault, again, isTyping } = useHits(limit);
  useEffect(() => setLimit(FIRST_HITS), [query["text"], query["agent"], query["session"]]);
  useKeys("Search", [
    { key: "j", about: "next hit", run: () => stepIn(list.current, 1) },
    { key: "ArrowDown", about: "next hit", run: () => stepIn(list.current, 1) },
    { key: "k", about: "hit before", run: () => stepIn(list.current, -1) },
    { key: "ArrowUp", about: "hit before", run: () => stepIn(list.current, -1) },
    { key: "Enter", about: "open it", run: openFocused },
    { key: "Escape", about: "from a hit back to the words", run: () => toWords(list.current) },
  ]);
  return (
    <div class="view search">
      <Asking toHits={() => stepIn(list.current, 1)} />
      <div class="body">
        <div class="inner" ref={list}>
          {fault !== null && <Trouble fault={fault} again={again} />}
          {fault === null && shown !== null && (
            <Answered answer={shown} notes={notes} isTyping={isTyping}>
              <More count={shown.hits.length} limit={limit} more={setLimit} />
            </Answered>
          )}
        </div>
      </div>
    </div>
  );
}

/** A link that has the focus opens by itself; so it is not taken from it. */
function openFocused(): void {
  if (document.activeElement instanceof HTMLElement) document.activeElement.click();
}

/** Who has left the field by the same key stays outside. */
function toWords(list: HTMLElement | null): void {
  if (list?.contains(document.activeElement) !== true) return;
  const field = document.querySelector<HTMLInputElement>(".search .words");
  field?.focus();
  field?.select();
}

function Asking({ toHits }: { readonly toHits: () => void }) {
  const { text = "", agent = "", session = "" } = place.value.query;
  const agents = useAgents().value ?? [];
  return (
    <header>
      <h1>Search</h1>
      <SearchField
        class="words"
        label="Words to search for"
        placeholder="Words that were said"
        charsMax={1_000}
        onThere={focusOnce}
        value={text}
        onText={(typed) => replace({ ...place.value.query, text: typed })}
        onKey={(event) => {
          if (event.key !== "ArrowDown" && event.key !== "Enter") return;
          event.preventDefault();
          toHits();
        }}
      />
      {(agents.length > 1 || agent !== "") && (
        <select
          aria-label="Agent"
          value={agent}
          onChange={({ currentTarget }: { readonly currentTarget: EventTarget | null }) =>
            replace({ ...place.value.query, agent: (currentTarget as HTMLSelectElement).value })
          }
        >
          <option value="">All agents</option>
          {[...new Set([...agents, ...(agent === "" ? [] : [agent])])].map((each) => (
            <option key={each} value={each}>
              {each}
            </option>
          ))}
        </select>
      )}
      {session !== "" && (
        <span class="within">
          only in <code title={oneLine(session)}>{oneLine(shortKey(session))}</code>
          <Button
            icon="close"
            look="quiet"
            label="Search in all sessions"
            onClick={() => replace({ ...place.value.query, session: "" })}
          />
        </span>
      )}
    </header>
  );
}

/** When the view is come to; the browser's own way is for pages that load. */
function focusOnce(field: HTMLInputElement | null): void {
  if (field !== null && field.dataset["focused"] === undefined) {
    field.dataset["focused"] = "";
    field.focus();
  }
}

interface AnsweredParts {
  readonly answer: Answer;
  readonly notes: Notes | null; // null: they are still looked for
  readonly isTyping: boolean;
  readonly children: preact.ComponentChildren;
}

function Answered({ answer, notes, isTyping, children }: AnsweredParts) {
  const { hits, behind, text } = answer;
  if (text === "" && !isTyping)
    return (
      <Empty title="Search everything that was said">
        Messages, answers and results of tools, in all sessions, and the notes of agents: words in any order
        and case, the last may be the beginning of one. What was archived is not looked into; restore it
        first, in <b>Upkeep</b>.
      </Empty>
    );
  if (text === "") return null;
  return (
    <>
      <p class="count soft" role="status">
        {hits.length > 0 && `${many(hits.length, "hit")}, the newest first. `}
        {notes !== null && searchedWords(notes)}
        {behind > 0 && "The index is catching up with what was said last; what it finds comes in here."}
      </p>
      {notes !== null && <FoundNotes notes={notes} />}
      {hits.length === 0 && notes?.isOld === false && countOf(notes) === 0 && (
        <Empty title={`Nothing has all of these words: ${text}`}>
          Try fewer of them, or the beginning of one as the last.
        </Empty>
      )}
      <Found hits={hits} asked={text} />
      {children}
    </>
  );
}

/** What was looked into besides what was said, and what was not. */
function searchedWords(notes: Notes): string {
  const count = countOf(notes);
  const skipped = notes.found.reduce((sum, { skipped: each }) => sum + each, 0);
  return [
    notes.why !== "" && `${notes.why} `,
    count > 0 && `${many(count, "note")}. `,
    skipped > 0 && `${many(skipped, "note")} could not be looked into. `,
    notes.agentsLeft > 0 && `The notes of ${many(notes.agentsLeft, "agent")} are not searched: choose one. `,
    "Archives are not searched. ",
  ]
    .filter((each) => each !== false)
    .join("");
}

interface MoreParts {
  readonly count: number;
  readonly limit: number;
  readonly more: (limit: number) => void;
}

function More({ count, limit, more }: MoreParts) {
  if (count < limit) return null;
  if (limit >= HITS_MAX)
    return <p class="soft more">These are the newest {HITS_MAX}. More words find fewer.</p>;
  return (
    <p class="more">
      <Button onClick={() => more(Math.min(HITS_MAX, limit * 2))}>Show more</Button>
    </p>
  );
}
