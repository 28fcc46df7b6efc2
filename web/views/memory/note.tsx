// One note: read, and changed by who wants to.

import { useEffect, useRef, useState } from "preact/hooks";
import { bytes } from "../../../src/base/figures.ts";
import { oneLine } from "../../../src/base/harmless.ts";
import type { Output } from "../../../src/calls/door.ts";
import { Button } from "../../parts/button.tsx";
import { ask } from "../../parts/dialog.tsx";
import { Empty, Loading, Trouble } from "../../parts/empty.tsx";
import { Markdown } from "../../parts/markdown.tsx";
import { Menu } from "../../parts/menu.tsx";
import { Ago, Title } from "../../parts/text.tsx";
import { tell, tried, unless, warn } from "../../parts/toast.tsx";
import { useAsked, type Asked } from "../../state/asking.ts";
import { useKeys } from "../../state/keys.ts";
import { go, hrefOf, place } from "../../state/place.ts";
import { call } from "../../wire/call.ts";
import { lacking } from "../../wire/scope.ts";
import { draftOf, keepDraft } from "./drafts.ts";
import { Editor } from "./editor.tsx";
import { readWhole, type Whole } from "./whole.ts";

interface NoteParts {
  readonly agent: string;
  readonly path: string;
  readonly listed: Asked<Output<"memory">>;
}

export function NoteView({ agent, path, listed }: NoteParts) {
  const whole = useAsked((signal) => readWhole(agent, path, signal), [agent, path]);
  const [isEditing, setEditing] = useState(false);
  const [begun, setBegun] = useState<Whole | null>(null); // what it is edited from
  const draft = draftOf(agent, path);
  const before = useRef(listed.value);
  useEffect(() => {
    if (before.current !== null && before.current !== listed.value) whole.again();
    before.current = listed.value;
  }, [listed.value]);
  // Who types a note back to what it was has no draft any more, and is still writing.
  useEffect(() => {
    if (draft !== null) setEditing(true);
  }, [draft]);
  const { value, fault } = whole;
  const isMissing = fault?.code === "not_found";
  if (draft !== null || isEditing)
    return (
      <Editor
        agent={agent}
        path={path}
        start={draft ?? begun ?? { text: "", version: null }}
        was={begun ?? value}
        saved={listed.again}
        done={() => {
          setEditing(false);
          setBegun(null);
          listed.again();
          whole.again();
        }}
      />
    );
  const edit = async (): Promise<void> => {
    const now = await tried(readWhole(agent, path)); // Others have written since it was shown, maybe.
    if (now === null) return whole.again();
    setBegun(now);
    setEditing(true);
  };
  const begin = (): void => {
    if (isMissing) keepDraft(agent, path, { text: "", version: null });
    else if (value !== null) void edit();
  };
  return (
    <article class="note" aria-label={path}>
      <NoteHead {...{ agent, path, listed }} whole={value} edit={begin} />
      {isMissing && (
        <Empty title="There is no such note">
          <Button unless={lacking("operate")} onClick={begin}>
            Write it
          </Button>
        </Empty>
      )}
      {fault !== null && !isMissing && <Trouble fault={fault} again={whole.again} />}
      {value === null && fault === null && <Loading what="the note" />}
      {value !== null && <Text text={value.text} />}
    </article>
  );
}

interface HeadParts extends NoteParts {
  readonly whole: Whole | null;
  readonly edit: () => void;
}

function NoteHead({ agent, path, listed, whole, edit }: HeadParts) {
  const row = listed.value?.notes.find((each) => each.path === path);
  const { path: _, ...rest } = place.value.query;
  const why = lacking("operate");
  useKeys("This note", [{ key: "e", about: "edit", run: () => unless(why, edit) }]);
  return (
    <header>
      <a class="back" href={hrefOf("memory", agent, rest)}>
        All notes
      </a>
      <h2>
        <Title text={path} />
      </h2>
      {row !== undefined && (
        <small>
          {bytes(row.bytes)} · changed <Ago at={row.changedAt} />
        </small>
      )}
      <span class="push" />
      {whole !== null && (
        <>
          <Button icon="edit" unless={why} onClick={edit}>
            Edit
          </Button>
          <Menu
            label={`More for ${oneLine(path)}`}
            deeds={[
              { name: "Append…", icon: "plus", unless: why, run: () => append(agent, path, listed) },
              {
                name: "Delete…",
                icon: "trash",
                isDangerous: true,
                unless: why,
                run: () => remove({ agent, path, listed }, whole.version),
              },
            ]}
          />
        </>
      )}
    </header>
  );
}

function Text({ text }: { readonly text: string }) {
  if (text.trim() === "") return <p class="soft told">It is empty.</p>;
  return (
    <div class="text">
      <Markdown text={text} />
    </div>
  );
}

function append(agent: string, path: string, listed: NoteParts["listed"]): void {
  void ask({
    title: `Append to ${path}`,
    fields: [
      {
        name: "text",
        label: "Text",
        kind: "lines",
        hint: "It comes at the end, as lines of its own, whatever others have written meanwhile.",
        isNeeded: true,
      },
    ],
    verb: "Append",
    run: async ({ text = "" }) => {
      const { changed } = await call("writeMemory", { agent, path, mode: "append", text });
      if (changed) tell(`Appended to ${path}`);
      else warn(`${path} ends with this already`);
      listed.again();
    },
  });
}

function remove({ agent, path, listed }: NoteParts, version: string): void {
  void ask({
    title: `Delete ${path}?`,
    text: (
      <>
        The note <code>{oneLine(path)}</code> of {oneLine(agent)} goes, for all its sessions. It does not come
        back.
      </>
    ),
    verb: "Delete",
    isDangerous: true,
    run: async () => {
      await call("writeMemory", { agent, path, mode: "delete", version });
      tell(`Deleted ${path}`);
      listed.again();
    },
  }).then((isGone) => {
    const { path: _, ...rest } = place.value.query;
    if (isGone) go("memory", agent, rest);
  });
}
