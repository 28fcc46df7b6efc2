// The notes of an agent: a tree by path; or, while somebody searches, those that are called so, and those that say so.

import { bytes } from "../../../src/base/figures.ts";
import { Marked } from "../../parts/marked.tsx";
import { Ago, Title } from "../../parts/text.tsx";
import { useAsked } from "../../state/asking.ts";
import { useLate } from "../../state/late.ts";
import { hrefOf, place } from "../../state/place.ts";
import { call } from "../../wire/call.ts";
import { drafts } from "./drafts.ts";
import { nameIn, named, treeOf, type Folder, type Note } from "./tree.ts";

interface NotesParts {
  readonly agent: string;
  readonly path: string | null;
  readonly notes: readonly Note[];
  readonly isCut: boolean;
}

/** What a line of the list needs besides its note. */
type Here = Pick<NotesParts, "agent" | "path">;

export function Notes({ notes, isCut, ...here }: NotesParts) {
  const text = (place.value.query["text"] ?? "").trim();
  return (
    <nav aria-label="Notes">
      {text === "" ? (
        <Level folder={treeOf(withDrafts(notes, here.agent))} here={here} />
      ) : (
        <Sought notes={notes} text={text} here={here} />
      )}
      {isCut && text === "" && (
        <p class="soft told">Some are left out: there are too many, or a folder may not be read.</p>
      )}
    </nav>
  );
}

/** A note that was begun and never saved is only here. */
function withDrafts(notes: readonly Note[], agent: string): readonly Note[] {
  const known = new Set(notes.map(({ path }) => path));
  const begun = [...drafts.value.keys()].flatMap((name) => {
    const path = name.slice(agent.length + 1);
    return name.startsWith(`${agent}/`) && !known.has(path) ? [{ path, bytes: 0, changedAt: "" }] : [];
  });
  return [...notes, ...begun];
}

function Level({ folder, here }: { readonly folder: Folder; readonly here: Here }) {
  return (
    <ul>
      {folder.notes.map((note) => (
        <li key={note.path}>
          <NoteLink note={note} name={nameIn(note.path)} here={here} />
        </li>
      ))}
      {folder.folders.map((each) => (
        <li key={each.path}>
          <details open>
            <summary>
              <Title text={each.name} />
            </summary>
            <Level folder={each} here={here} />
          </details>
        </li>
      ))}
    </ul>
  );
}

interface NoteLinkParts {
  readonly note: Note;
  readonly name: string;
  readonly here: Here;
}

function NoteLink({ note: { path, bytes: size, changedAt }, name, here }: NoteLinkParts) {
  const isDraft = drafts.value.has(`${here.agent}/${path}`);
  return (
    <a
      data-step
      class="note-link"
      title={path}
      href={hrefOf("memory", here.agent, { ...place.value.query, path })}
      {...(path === here.path ? { "aria-current": "page" as const } : {})}
    >
      <span class="name">
        <Title text={name} />
      </span>
      {isDraft && <span class="tag">not saved</span>}
      {changedAt !== "" && (
        <small>
          {bytes(size)} · <Ago at={changedAt} />
        </small>
      )}
    </a>
  );
}

function Sought({
  notes,
  text,
  here,
}: {
  readonly notes: readonly Note[];
  readonly text: string;
  readonly here: Here;
}) {
  const called = named(notes, text);
  return (
    <>
      <h2>By name</h2>
      {called.length === 0 ? (
        <p class="soft told">No note has this in its path.</p>
      ) : (
        <ul>
          {called.map((note) => (
            <li key={note.path}>
              <NoteLink note={note} name={note.path} here={here} />
            </li>
          ))}
        </ul>
      )}
      <Saying text={text} here={here} />
    </>
  );
}

function Saying({ text, here }: { readonly text: string; readonly here: Here }) {
  const late = useLate(text);
  const { value, fault } = useAsked(
    (signal) => call("searchMemory", { agent: here.agent, text: late, in: "notes", limit: 50 }, signal),
    [late, here.agent],
  );
  return (
    <>
      <h2>By what they say</h2>
      {fault !== null && <p class="told refused">{fault.message}</p>}
      {value?.notes.length === 0 && <p class="soft told">No note has all of these words.</p>}
      <ul>
        {value?.notes.map(({ path, line, snippet }) => (
          <li key={path}>
            <a
              data-step
              class="said"
              href={hrefOf("memory", here.agent, { ...place.value.query, path })}
              {...(path === here.path ? { "aria-current": "page" as const } : {})}
            >
              <span class="name">
                <Title text={path} /> <small>line {line}</small>
              </span>
              <span class="snippet">
                <Marked text={snippet} asked={late} />
              </span>
            </a>
          </li>
        ))}
      </ul>
      {value !== null && (value.more || value.skipped > 0) && (
        <p class="soft told">
          {value.more && "There are more; more words find fewer. "}
          {value.skipped > 0 && `${value.skipped} could not be looked into: too large, or not to be read.`}
        </p>
      )}
    </>
  );
}
