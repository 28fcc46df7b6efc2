// A note while it is written. It is saved over the version that was read, and over no other: if somebody wrote meanwhile, both texts
// are there, and who typed decides. What was typed is a draft until then.

import { useEffect, useRef, useState } from "preact/hooks";
import { bytes } from "../../../src/base/figures.ts";
import { NOTE_BYTES_MAX } from "../../../src/limits.ts";
import { Button } from "../../parts/button.tsx";
import { ask } from "../../parts/dialog.tsx";
import { Title } from "../../parts/text.tsx";
import { tell, tried } from "../../parts/toast.tsx";
import { useKeys } from "../../state/keys.ts";
import { useLeaving } from "../../state/leaving.tsx";
import { call, faultOf } from "../../wire/call.ts";
import { draftOf, keepDraft, type Draft } from "./drafts.ts";
import { Theirs } from "./theirs.tsx";
import { readWhole, type Whole } from "./whole.ts";

interface EditorParts {
  readonly agent: string;
  readonly path: string;
  readonly start: Draft;
  /** The note as it is; null: there is none, or it is not known. */
  readonly was: Whole | null;
  readonly done: () => void;
}

/** What another wrote meanwhile. told: that they did; seen: what. */
type Other =
  | null
  | { readonly is: "told"; readonly why: string }
  | { readonly is: "seen"; readonly whole: Whole | null };

export function Editor({ agent, path, start, was, done }: EditorParts) {
  const [text, setText] = useState(start.text);
  const [version, setVersion] = useState(start.version);
  const [other, setOther] = useState<Other>(null);
  const [isBusy, setBusy] = useState(false);
  // What it was begun on; null: it is a draft of before, and that is not known any more.
  const [base] = useState(() => (draftOf(agent, path) === null ? (was?.text ?? "") : null));
  const isNew = (typed: string): boolean => typed !== (base ?? was?.text ?? "");
  const isChanged = isNew(text);
  useLeaving(isChanged ? path : null, (address) => isAt(address, agent, path));
  const type = (typed: string): void => {
    setText(typed);
    const isDraft = isNew(typed) || other !== null || version === null;
    keepDraft(agent, path, isDraft ? { text: typed, version } : null);
  };
  const leave = (): void => {
    keepDraft(agent, path, null);
    done();
  };
  const save = async (): Promise<void> => {
    setBusy(true);
    try {
      await call("writeMemory", { agent, path, mode: "replace", text, version });
      tell(`Saved ${path}`);
      leave();
    } catch (error) {
      const fault = faultOf(error);
      if (fault.code === "stale_writer") setOther({ is: "told", why: fault.message });
      else tell(`${fault.message}. ${fault.todo}`, true);
      setBusy(false);
    }
  };
  const look = async (): Promise<void> => {
    const found = await tried(theirsOf(agent, path));
    if (found === null) return;
    setOther({ is: "seen", whole: found.whole });
    setVersion(found.whole?.version ?? null);
    keepDraft(agent, path, { text, version: found.whole?.version ?? null });
  };
  const isSeen = other?.is === "seen";
  return (
    <form
      class="note editor"
      aria-label={`Edit ${path}`}
      onSubmit={(event: SubmitEvent) => {
        event.preventDefault();
        void save();
      }}
    >
      <EditorHead
        {...{ path, text, isChanged, isBusy, isSeen }}
        leave={() => (isChanged ? discard(path, leave) : leave())}
      />
      {other?.is === "told" && <Told why={other.why} look={() => void look()} />}
      {text.includes("\u{FFFD}") && (
        <p class="told soft">It has bytes that are no text; they are saved as they are shown here: as �.</p>
      )}
      <div class={`texts${isSeen ? " both" : ""}`}>
        {isSeen && <Theirs whole={other.whole} mine={text} take={() => discard(path, leave)} />}
        <Writing path={path} text={text} isBoth={isSeen} type={type} save={() => void save()} />
      </div>
    </form>
  );
}

/** `whole` is null: they deleted it. */
async function theirsOf(agent: string, path: string): Promise<{ readonly whole: Whole | null }> {
  try {
    return { whole: await readWhole(agent, path) };
  } catch (error) {
    if (faultOf(error).code === "not_found") return { whole: null };
    throw error;
  }
}

function isAt(address: string, agent: string, path: string): boolean {
  const [place = "", query = ""] = new URL(address).hash.split("?", 2);
  const isSamePath = new URLSearchParams(query).get("path") === path;
  return isSamePath && (place === `#/memory/${agent}` || (place === "#/memory" && agent === "main"));
}

function discard(path: string, leave: () => void): void {
  void ask({
    title: "Discard what you typed?",
    text: (
      <>
        Your changes to <code>{path}</code> go; the note stays as it is. They do not come back.
      </>
    ),
    verb: "Discard",
    isDangerous: true,
    run: async () => leave(),
  });
}

interface HeadParts {
  readonly path: string;
  readonly text: string;
  readonly isChanged: boolean;
  readonly isBusy: boolean;
  readonly isSeen: boolean;
  readonly leave: () => void;
}

const utf8 = new TextEncoder();

function EditorHead({ path, text, isChanged, isBusy, isSeen, leave }: HeadParts) {
  const size = utf8.encode(text).length;
  return (
    <header>
      <h2>
        <Title text={path} />
      </h2>
      <small role="status">{isChanged ? "not saved" : "no changes"}</small>
      {size > NOTE_BYTES_MAX * 0.8 && (
        <small class={size > NOTE_BYTES_MAX ? "refused" : ""}>
          {bytes(size)} of {bytes(NOTE_BYTES_MAX)}
        </small>
      )}
      <span class="push" />
      <Button onClick={leave}>{isChanged ? "Discard…" : "Close"}</Button>
      <Button type="submit" look="main" isDisabled={isBusy}>
        {isSeen ? "Save mine over theirs" : "Save"}
      </Button>
    </header>
  );
}

function Told({ why, look }: { readonly why: string; readonly look: () => void }) {
  return (
    <div class="conflict" role="alert">
      <p>
        <b>Not saved: somebody else wrote this note meanwhile.</b> What you typed is still here.{" "}
        <small>{why}.</small>
      </p>
      <Button onClick={look}>Show theirs beside mine</Button>
    </div>
  );
}

interface WritingParts {
  readonly path: string;
  readonly text: string;
  readonly isBoth: boolean;
  readonly type: (text: string) => void;
  readonly save: () => void;
}

function Writing({ path, text, isBoth, type, save }: WritingParts) {
  const field = useRef<HTMLTextAreaElement>(null);
  useEffect(() => field.current?.focus(), []);
  useKeys("Editing", [
    { key: "mod+s", about: "save", run: save },
    { key: "mod+Enter", about: "save", run: save },
  ]);
  return (
    <section class="pane">
      {isBoth && (
        <header>
          <h3>Mine</h3>
        </header>
      )}
      <textarea
        ref={field}
        aria-label={isBoth ? "My text" : `Text of ${path}`}
        spellcheck={false}
        value={text}
        onInput={({ currentTarget }: { readonly currentTarget: EventTarget | null }) =>
          type((currentTarget as HTMLTextAreaElement).value)
        }
      />
    </section>
  );
}
