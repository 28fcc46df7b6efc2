// A note while it is written: the text, and what another wrote meanwhile beside it.

import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { bytes } from "../../../src/base/figures.ts";
import { oneLine } from "../../../src/base/harmless.ts";
import { NOTE_BYTES_MAX } from "../../../src/limits.ts";
import { Button } from "../../parts/button.tsx";
import { ask } from "../../parts/dialog.tsx";
import { Title } from "../../parts/text.tsx";
import { unless } from "../../parts/toast.tsx";
import { useKeys } from "../../state/keys.ts";
import { lacking } from "../../wire/scope.ts";
import { Theirs } from "./theirs.tsx";
import { useWriting, type Writing } from "./writing.ts";

export function Editor(parts: Parameters<typeof useWriting>[0]) {
  const { path } = parts;
  const writing = useWriting(parts);
  const { text, other, isChanged, isBusy, leave } = writing;
  const isSeen = other?.is === "seen";
  const form = useRef<HTMLFormElement>(null);
  useLayoutEffect(() => {
    const own = form.current;
    return () => {
      if (own?.contains(document.activeElement) === true) own.closest("main")?.focus({ preventScroll: true });
    };
  }, []);
  return (
    <form
      ref={form}
      class="note editor"
      aria-label={`Edit ${path}`}
      onSubmit={(event: SubmitEvent) => {
        event.preventDefault();
        void writing.save(true);
      }}
    >
      <EditorHead
        {...{ path, text, isChanged, isBusy, isSeen }}
        leave={() => (isChanged ? discard(path, leave) : leave())}
      />
      {other?.is === "told" && <Told look={() => void writing.look()} />}
      {text.includes("\u{FFFD}") && (
        <p class="told soft">It has bytes that are no text; they are saved as they are shown here: as �.</p>
      )}
      <div class={`texts${isSeen ? " both" : ""}`}>
        {isSeen && <Theirs whole={other.whole} mine={text} take={() => discard(path, leave)} />}
        <Mine path={path} isBoth={isSeen} writing={writing} />
      </div>
    </form>
  );
}

function discard(path: string, leave: () => void): void {
  void ask({
    title: "Discard what you typed?",
    text: (
      <>
        Your changes to <code>{oneLine(path)}</code> go; the note stays as it is. They do not come back.
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
      <Button type="submit" look="main" isDisabled={isBusy} unless={lacking("operate")}>
        {isSeen ? "Save mine over theirs" : "Save"}
      </Button>
    </header>
  );
}

function Told({ look }: { readonly look: () => void }) {
  return (
    <div class="conflict" role="alert">
      <p>
        <b>Not saved: somebody else wrote this note meanwhile.</b> What you typed is still here, and nothing
        of theirs is gone.
      </p>
      <Button onClick={look}>Show theirs beside mine</Button>
    </div>
  );
}

interface MineParts {
  readonly path: string;
  readonly isBoth: boolean;
  readonly writing: Writing;
}

function Mine({ path, isBoth, writing }: MineParts) {
  const field = useRef<HTMLTextAreaElement>(null);
  useEffect(() => field.current?.focus(), []);
  const save = (isLeft: boolean) => (): void => unless(lacking("operate"), () => void writing.save(isLeft));
  useKeys("Editing", [
    { key: "mod+s", about: "save, and go on writing", run: save(false) },
    { key: "mod+Enter", about: "save, and read it", run: save(true) },
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
        readOnly={writing.isBusy}
        value={writing.text}
        onInput={({ currentTarget }: { readonly currentTarget: EventTarget | null }) =>
          writing.type((currentTarget as HTMLTextAreaElement).value)
        }
      />
    </section>
  );
}
