// What is said to a session: words, files, how they are to be read, and by which model. What begins with a slash is a command.

import { useSignal } from "@preact/signals";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { Button } from "../../parts/button.tsx";
import { tried } from "../../parts/toast.tsx";
import { useAsked } from "../../state/asking.ts";
import { useKeys } from "../../state/keys.ts";
import { call } from "../../wire/call.ts";
import type { Row, Status } from "../../wire/events.ts";
import { lacking } from "../../wire/scope.ts";
import { act } from "../deeds.tsx";
import { attached } from "./attaching.ts";
import { AnswerCard, type Answer } from "./composer-answer.tsx";
import { Attachments } from "./composer-attached.tsx";
import { Choices, useChoices, type Known } from "./composer-choices.tsx";
import { Looking } from "./composer-looking.tsx";
import { ModelPicker, ModePicker } from "./composer-pickers.tsx";
import { refuse, Refused } from "./composer-refused.tsx";
import { isEmpty, obeying, sendWords, submitted } from "./composer-sending.ts";
import { draftOf, redraft } from "./draft.ts";

interface ComposerParts {
  readonly sessionKey: string;
  readonly row: Row | null; //       null: there is no such session yet; a message opens it
  readonly status: Status | null;
  readonly placeholder: string;
}

export function Composer(parts: ComposerParts) {
  return lacking("operate") === undefined ? <Writing {...parts} /> : <Looking />;
}

function Writing({ sessionKey, row, status, placeholder }: ComposerParts) {
  const draft = draftOf(sessionKey).value;
  const answer = useSignal<Answer | null>(null);
  const isOver = useSignal(false);
  const known = useAsked(knownNow, []).value;
  const submit = (): void => void submitted(sessionKey, status, (given) => (answer.value = given));
  const onDrag = (event: DragEvent, isHere: boolean): void => {
    event.preventDefault();
    isOver.value = isHere;
  };
  return (
    <form
      class={`composer${isOver.value ? " over" : ""}`}
      aria-label="Write to this session"
      aria-busy={obeying.value.has(sessionKey)}
      onSubmit={(event: SubmitEvent) => {
        event.preventDefault();
        submit();
      }}
      onDragOver={(event: DragEvent) => onDrag(event, true)}
      onDragLeave={(event: DragEvent) => onDrag(event, false)}
      onDrop={(event: DragEvent) => {
        onDrag(event, false);
        add(sessionKey, [...(event.dataTransfer?.files ?? [])]);
      }}
    >
      <AnswerCard
        answer={answer}
        sessionKey={sessionKey}
        send={(text) => sendWords(sessionKey, status, text)}
      />
      <Attachments sessionKey={sessionKey} draft={draft} />
      <Refused sessionKey={sessionKey} />
      <Field
        sessionKey={sessionKey}
        text={draft.text}
        placeholder={placeholder}
        known={known}
        submit={submit}
      />
      <div class="row">
        <FilePicker sessionKey={sessionKey} />
        <ModePicker sessionKey={sessionKey} draft={draft} status={status} />
        <ModelPicker
          sessionKey={sessionKey}
          draft={draft}
          inForce={row?.model ?? null}
          models={known?.models ?? null}
        />
        <span class="push" />
        <span class="keys-hint" aria-hidden="true">
          <kbd>Esc</kbd> <kbd>?</kbd> keys
        </span>
        {row !== null && <Turn row={row} />}
        <Button type="submit" look="main" icon="send" label="Send (Enter)" isDisabled={isEmpty(draft)}>
          <span class="wide">Send</span>
        </Button>
      </div>
    </form>
  );
}

async function knownNow(signal: AbortSignal): Promise<Known> {
  const [{ commands }, models] = await Promise.all([
    call("commands", {}, signal),
    call("models", {}, signal),
  ]);
  return { commands, models };
}

/** What ends what goes on in it, or lets it go on. */
function Turn({ row }: { readonly row: Row }) {
  const { state, sessionKey } = row;
  if (state === "paused") return <Continue row={row} />;
  return state === "running" || state === "queued" || state === "waiting" ? (
    <Stop sessionKey={sessionKey} />
  ) : null;
}

function Stop({ sessionKey }: { readonly sessionKey: string }) {
  const stop = (): void => void tried(call("abort", { sessionKey }), "The turn is stopped.");
  useKeys("Turn", [{ key: "mod+.", about: "stop the turn that runs", run: stop }]);
  return (
    <Button icon="stop" label="Stop the turn (Ctrl .)" onClick={stop}>
      <span class="wide">Stop</span>
    </Button>
  );
}

/** The key for it is the view's. */
function Continue({ row }: { readonly row: Row }) {
  return (
    <Button icon="play" label="Continue (.)" onClick={() => act(row, "pause")}>
      Continue
    </Button>
  );
}

interface FieldParts {
  readonly sessionKey: string;
  readonly text: string;
  readonly placeholder: string;
  readonly known: Known | null;
  readonly submit: () => void;
}

function Field({ sessionKey, text, placeholder, known, submit }: FieldParts) {
  const field = useRef<HTMLTextAreaElement>(null);
  const choices = useChoices(text, known, (chosen) => {
    redraft(sessionKey, { text: chosen });
    field.current?.focus();
  });
  useHeight(field, text);
  useKeys("Message", [
    {
      key: "i",
      about: "write a message (Enter, too, when nothing is chosen)",
      run: () => field.current?.focus(),
    },
    { key: "Escape", about: "out of the message, to the transcript: then keys are keys", run: toTranscript },
  ]);
  return (
    <>
      <Choices choices={choices} />
      <textarea
        ref={field}
        rows={1}
        aria-label="Message"
        placeholder={placeholder}
        value={text}
        {...choices.field}
        onInput={(event: Event) =>
          redraft(sessionKey, { text: (event.currentTarget as HTMLTextAreaElement).value })
        }
        onPaste={(event: ClipboardEvent) => {
          const files = [...(event.clipboardData?.files ?? [])];
          if (files.length === 0) return;
          event.preventDefault();
          add(sessionKey, files);
        }}
        onKeyDown={(event: KeyboardEvent) => {
          if (!choices.taken(event)) typed(event, submit);
        }}
      />
    </>
  );
}

function FilePicker({ sessionKey }: { readonly sessionKey: string }) {
  const input = useRef<HTMLInputElement>(null);
  return (
    <>
      <input
        ref={input}
        type="file"
        multiple
        hidden
        aria-label="Files to attach"
        onChange={() => {
          add(sessionKey, [...(input.current?.files ?? [])]);
          if (input.current !== null) input.current.value = ""; // The same may be chosen again.
        }}
      />
      <Button
        icon="attach"
        look="quiet"
        label="Attach pictures or text files"
        onClick={() => input.current?.click()}
      />
    </>
  );
}

/** Where j, k and the arrows move. Without one, no field has the keys, at least. */
function toTranscript(): void {
  const transcript = document.querySelector<HTMLElement>(".transcript .scroll");
  if (transcript !== null) transcript.focus({ preventScroll: true });
  else (document.activeElement as HTMLElement | null)?.blur();
}

/** Enter sends. What an input method is still composing is not ours yet. */
function typed(event: KeyboardEvent, submit: () => void): void {
  if (event.isComposing) return event.stopPropagation();
  if (event.key !== "Enter") return;
  event.preventDefault();
  if (event.shiftKey || event.ctrlKey || event.metaKey) newLine(event.currentTarget as HTMLTextAreaElement);
  else submit();
}

/** As the browser does it, so it can be undone. */
function newLine(field: HTMLTextAreaElement): void {
  field.setRangeText("\n", field.selectionStart, field.selectionEnd, "end");
  field.dispatchEvent(new InputEvent("input", { bubbles: true }));
}

const LINES_MAX_PX = 190; // about eight

function useHeight(field: { readonly current: HTMLTextAreaElement | null }, text: string): void {
  useLayoutEffect(() => {
    const { current } = field;
    const around = current?.form;
    if (current == null || around == null) return;
    // What stands around it keeps its height while this is measured: else all above it would move with every letter.
    around.style.minHeight = `${around.offsetHeight}px`;
    current.style.height = "auto";
    current.style.height = `${Math.min(LINES_MAX_PX, current.scrollHeight + 2)}px`;
    around.style.minHeight = "";
  }, [text]);
  // Who opens a session on a machine with a keyboard most often wants to write; on a phone the keyboard would cover it.
  useEffect(() => {
    if (matchMedia("(hover: hover) and (min-width: 641px)").matches)
      field.current?.focus({ preventScroll: true });
  }, []);
}

let adding: Promise<void> = Promise.resolve();

/** One after the other: what is dropped while something large is read counts against the same bounds. */
function add(sessionKey: string, files: readonly File[]): void {
  adding = adding.then(() => addNow(sessionKey, files));
}

async function addNow(sessionKey: string, files: readonly File[]): Promise<void> {
  if (files.length === 0) return;
  const given = await tried(attached(draftOf(sessionKey).value, files));
  if (given === null) return;
  const { pictures, files: texts } = draftOf(sessionKey).value; // Some may have been taken out meanwhile.
  redraft(sessionKey, { pictures: [...pictures, ...given.pictures], files: [...texts, ...given.files] });
  refuse(sessionKey, given.refusals);
}
