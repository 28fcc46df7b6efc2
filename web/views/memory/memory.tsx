// Memory: the notes of an agent on the left, one of them on the right.
//
//   #/memory/main?path=memory/people/ann.md

import { useRef } from "preact/hooks";
import { Fault } from "../../../src/base/fault.ts";
import { FIRST, FOLDER, notePath } from "../../../src/memory/path.ts";
import type { Output } from "../../../src/calls/door.ts";
import { Button } from "../../parts/button.tsx";
import { ask } from "../../parts/dialog.tsx";
import { Empty, Loading, Trouble } from "../../parts/empty.tsx";
import { SearchField } from "../../parts/search-field.tsx";
import { stepIn } from "../../parts/step.ts";
import { tell, unless } from "../../parts/toast.tsx";
import { useAgents } from "../../state/agents.ts";
import { useAsked, type Asked } from "../../state/asking.ts";
import { useKeys } from "../../state/keys.ts";
import { go, place, replace } from "../../state/place.ts";
import { call } from "../../wire/call.ts";
import { lacking } from "../../wire/scope.ts";
import { draftOf, drafts, keepDraft } from "./drafts.ts";
import { Notes } from "./notes.tsx";
import { NoteView } from "./note.tsx";
import "./memory.css";

export function Memory() {
  const { of, query } = place.value;
  const agent = of ?? "main";
  const list = useRef<HTMLDivElement>(null);
  const listed = useAsked((signal) => call("memory", { agent }, signal), [agent]);
  const path = query["path"] ?? null;
  const isNone = listed.value?.notes.length === 0 && drafts.value.size === 0;
  const make = (): void => makeNote(agent, listed.value?.notes ?? []);
  useKeys("Memory", [
    { key: "j", about: "next note", run: () => stepIn(list.current, 1) },
    { key: "k", about: "note before", run: () => stepIn(list.current, -1) },
    { key: "n", about: "new note", run: () => unless(lacking("operate"), make) },
  ]);
  return (
    <div class={`view memory${path === null ? "" : " at-note"}${isNone ? " none" : ""}`}>
      <Head agent={agent} listed={listed} make={make} />
      <div class="body">
        <div class="side" ref={list}>
          <Listed agent={agent} path={path} listed={listed} />
        </div>
        <div class="reading">
          {path === null ? (
            <Beginning listed={listed.value} />
          ) : (
            <NoteView key={`${agent}/${path}`} agent={agent} path={path} listed={listed} />
          )}
        </div>
      </div>
    </div>
  );
}

interface HeadParts {
  readonly agent: string;
  readonly listed: Asked<Output<"memory">>;
  readonly make: () => void;
}

function Head({ agent, listed, make }: HeadParts) {
  const agents = useAgents().value ?? [];
  const { query } = place.value;
  return (
    <header>
      <h1>Memory</h1>
      <select
        aria-label="Agent"
        value={agent}
        onChange={({ currentTarget }: { readonly currentTarget: EventTarget | null }) =>
          go("memory", (currentTarget as HTMLSelectElement).value)
        }
      >
        {[...new Set([...agents, agent])].map((each) => (
          <option key={each} value={each} selected={each === agent}>
            {each}
          </option>
        ))}
      </select>
      <SearchField
        class="filter"
        label="Search the notes"
        placeholder="Search the notes"
        value={query["text"] ?? ""}
        onText={(text) => replace({ ...place.value.query, text })}
      />
      <div class="push">
        <Button icon="refresh" look="quiet" label="Look again" onClick={listed.again} />
        <Button icon="plus" look="main" unless={lacking("operate")} onClick={make}>
          New note…
        </Button>
      </div>
    </header>
  );
}

interface ListedParts {
  readonly agent: string;
  readonly path: string | null;
  readonly listed: Asked<Output<"memory">>;
}

function Listed({ agent, path, listed: { value, fault, again } }: ListedParts) {
  if (fault !== null) return <Trouble fault={fault} again={again} />;
  if (value === null) return <Loading what="notes" />;
  return <Notes agent={agent} path={path} notes={value.notes} isCut={value.more} />;
}

function Beginning({ listed }: { readonly listed: Output<"memory"> | null }) {
  if (listed === null) return null;
  if (listed.notes.length > 0)
    return (
      <Empty title="Choose a note">
        Notes are what an agent has written down for later: Markdown files in its workspace, which all its
        sessions share. <code>{FIRST}</code> is a part of every conversation's prompt.
      </Empty>
    );
  return (
    <Empty title="Nothing is written down yet">
      An agent writes notes by itself, with <code>memory_write</code>; or begin one here: <b>New note…</b>{" "}
      What stands in <code>{FIRST}</code> is a part of every conversation's prompt.
    </Empty>
  );
}

/** All notes but one are in a folder: who leaves it out means it. What is no name at all is refused as it was typed. */
function placed(given: string): string {
  const isPlaced = given === FIRST || given === FOLDER || given.startsWith(`${FOLDER}/`);
  return isPlaced || !/^[^/.]/.test(given) ? given : `${FOLDER}/${given}`;
}

/** It is written when it is saved; until then it is a draft. */
function makeNote(agent: string, notes: Output<"memory">["notes"]): void {
  let [typed, made] = ["", ""];
  const hasFirst = notes.some(({ path }) => path === FIRST);
  void ask({
    title: `New note of ${agent}`,
    fields: [
      {
        name: "path",
        label: "Path",
        value: hasFirst ? "memory/" : FIRST,
        hint: `${FIRST}, or a path below memory/ that ends in .md, such as memory/people/ann.md; people/ann.md is put there, too. Folders are made as they are needed; no name begins with a dot.`,
        isNeeded: true,
      },
    ],
    verb: "Begin",
    run: async ({ path: given = "" }) => {
      const path = notePath(placed(given));
      if (notes.some((note) => note.path === path))
        throw new Fault("exists", `there is a note ${path}`, { todo: "open it, or choose another path" });
      if (draftOf(agent, path) === null) keepDraft(agent, path, { text: "", version: null });
      [typed, made] = [given, path];
    },
  }).then((isBegun) => {
    if (!isBegun) return;
    if (made !== typed) tell(`Its path is ${made}: every note but ${FIRST} is below ${FOLDER}/.`);
    go("memory", agent, { path: made });
  });
}
