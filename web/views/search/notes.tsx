// Notes that have the words: of the agent that is chosen, or of all. A note leads to itself in Memory.

import { oneLine } from "../../../src/base/harmless.ts";
import type { Output } from "../../../src/calls/door.ts";
import { Marked } from "../../parts/marked.tsx";
import { Title } from "../../parts/text.tsx";
import { useAsked } from "../../state/asking.ts";
import { hrefOf } from "../../state/place.ts";
import { call } from "../../wire/call.ts";
import { useLasting } from "./lasting.ts";

/** Notes of one agent: they stand above what was said, and must not hide it. */
const NOTES_SHOWN = 5;
/** Agents that are asked about one text. Who has more chooses one. */
const AGENTS_ASKED = 20;

export interface Notes {
  readonly text: string; //      that they were searched for
  readonly isOld: boolean; //    they are those of the question before; the answer to this one is not there yet
  readonly found: readonly Output<"searchMemory">[];
  readonly agentsLeft: number; // that were not asked
  readonly why: string; //        they were not searched; "": they were
}

/** Null: nothing has come yet. `agents` null: it is not known yet which there are. */
export function useNotes(text: string, agents: readonly string[] | null, session: string): Notes | null {
  const none: Notes = { text, isOld: false, found: [], agentsLeft: 0, why: "" };
  const asked = useAsked(
    async (signal): Promise<Notes | null> => {
      if (agents === null) return null;
      if (text === "") return none;
      if (session !== "")
        return { ...none, why: "Notes are an agent's, not a session's: they are not searched." };
      const some = agents.slice(0, AGENTS_ASKED);
      const found = await Promise.all(
        some.map((agent) =>
          call("searchMemory", { agent, text, in: "notes", limit: NOTES_SHOWN + 1 }, signal),
        ),
      );
      return { ...none, found, agentsLeft: agents.length - some.length };
    },
    [text, agents, session],
  );
  const shown = useLasting(asked);
  if (asked.fault !== null) return { ...none, why: `Notes were not searched: ${asked.fault.message}.` };
  return shown === null ? null : { ...shown, isOld: asked.value === null };
}

export function countOf({ found }: Notes): number {
  return found.reduce((sum, { notes }) => sum + Math.min(notes.length, NOTES_SHOWN), 0);
}

export function FoundNotes({ notes }: { readonly notes: Notes }) {
  const some = notes.found.filter(({ notes: each }) => each.length > 0);
  if (some.length === 0) return null;
  return (
    <section class="found notes" aria-label="Notes">
      <header>
        <h2>Notes</h2>
      </header>
      <ol>
        {some.map((of) => (
          <OfAgent key={of.agent} of={of} asked={notes.text} isNamed={notes.found.length > 1} />
        ))}
      </ol>
    </section>
  );
}

interface OfAgentParts {
  readonly of: Output<"searchMemory">;
  readonly asked: string;
  readonly isNamed: boolean;
}

function OfAgent({ of: { agent, notes, more }, asked, isNamed }: OfAgentParts) {
  const isMore = more || notes.length > NOTES_SHOWN;
  return (
    <>
      {notes.slice(0, NOTES_SHOWN).map(({ path, line, snippet }) => (
        <li key={`${agent} ${path}`}>
          <a data-step href={hrefOf("memory", agent, { path })}>
            <span class="meta">
              <strong>
                <Title text={path} />
              </strong>{" "}
              line {line}
              {isNamed && `, ${oneLine(agent)}`}
            </span>
            <span class="snippet">
              <Marked text={snippet} asked={asked} />
            </span>
          </a>
        </li>
      ))}
      {isMore && (
        <li class="rest">
          <a href={hrefOf("memory", agent, { text: asked })}>More notes of {oneLine(agent)}</a>
        </li>
      )}
    </>
  );
}
