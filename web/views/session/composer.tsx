// What is said to a session: words, files, how they are to be read, and by which model. What begins with a slash is a command.

import { useSignal } from "@preact/signals";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { Button } from "../../parts/button.tsx";
import { tell, tried } from "../../parts/toast.tsx";
import { useAsked } from "../../state/asking.ts";
import { useKeys } from "../../state/keys.ts";
import { call } from "../../wire/call.ts";
import type { Row, Status } from "../../wire/events.ts";
import { attached, composed, tooLong } from "./attaching.ts";
import { AnswerCard, obeyed, type Answer } from "./composer-answer.tsx";
import { Attachments } from "./composer-attached.tsx";
import { Choices, useChoices } from "./composer-choices.tsx";
import { ModelPicker, ModePicker } from "./composer-pickers.tsx";
import { isCommand, withoutEscape } from "./completing.ts";
import { draftOf, redraft, sent } from "./draft.ts";
import { post } from "./outbox.ts";

interface ComposerParts {
  readonly sessionKey: string;
  readonly row: Row | null; //       null: there is no such session yet; a message opens it
  readonly status: Status | null;
  readonly placeholder: string;
}

export function Composer({ sessionKey, row, status, placeholder }: ComposerParts) {
  const draft = draftOf(sessionKey).value;
  const answer = useSignal<Answer | null>(null);
  const isOver = useSignal(false);
  const field = useRef<HTMLTextAreaElement>(null);
  const picker = useRef<HTMLInputElement>(null);
  const known = useAsked(async (signal) => {
    const [{ commands }, models] = await Promise.all([
      call("commands", {}, signal),
      call("models", {}, signal),
    ]);
    return { commands, models };
  }, []).value;
  const choices = useChoices(draft.text, known, (text) => {
    redraft(sessionKey, { text });
    field.current?.focus();
  });
  const isWorking =
    row !== null && (row.state === "running" || row.state === "queued" || row.state === "waiting");
  const stop = (): void => void tried(call("abort", { sessionKey }), "The turn is stopped.");
  const add = (files: readonly File[]): void => void addTo(sessionKey, files);
  const submit = (): void => void submitted(sessionKey, (given) => (answer.value = given));
  useHeight(field, draft.text);
  useKeys("Message", [
    { key: "i", about: "write a message", run: () => field.current?.focus() },
    ...(isWorking ? [{ key: "mod+.", about: "stop the turn that runs", run: stop }] : []),
  ]);
  return (
    <form
      class={`composer${isOver.value ? " over" : ""}`}
      aria-label="Write to this session"
      onSubmit={(event: SubmitEvent) => {
        event.preventDefault();
        submit();
      }}
      onDragOver={(event: DragEvent) => {
        event.preventDefault();
        isOver.value = true;
      }}
      onDragLeave={() => (isOver.value = false)}
      onDrop={(event: DragEvent) => {
        event.preventDefault();
        isOver.value = false;
        add([...(event.dataTransfer?.files ?? [])]);
      }}
    >
      <AnswerCard answer={answer} sessionKey={sessionKey} />
      <Choices choices={choices} />
      <Attachments sessionKey={sessionKey} draft={draft} />
      <textarea
        ref={field}
        rows={1}
        aria-label="Message"
        placeholder={placeholder}
        value={draft.text}
        {...choices.field}
        onInput={(event: Event) =>
          redraft(sessionKey, { text: (event.currentTarget as HTMLTextAreaElement).value })
        }
        onPaste={(event: ClipboardEvent) => {
          const files = [...(event.clipboardData?.files ?? [])];
          if (files.length === 0) return;
          event.preventDefault();
          add(files);
        }}
        onKeyDown={(event: KeyboardEvent) => {
          if (choices.taken(event)) return;
          typed(event, submit);
        }}
      />
      <div class="row">
        <input
          ref={picker}
          type="file"
          multiple
          hidden
          aria-label="Files to attach"
          onChange={(event: Event) => {
            const input = event.currentTarget as HTMLInputElement;
            add([...(input.files ?? [])]);
            input.value = "";
          }}
        />
        <Button
          icon="attach"
          look="quiet"
          label="Attach pictures or text files"
          onClick={() => picker.current?.click()}
        />
        <ModePicker sessionKey={sessionKey} draft={draft} status={status} />
        <ModelPicker
          sessionKey={sessionKey}
          draft={draft}
          inForce={row?.model ?? null}
          models={known?.models ?? null}
        />
        <span class="push" />
        {isWorking && (
          <Button icon="stop" label="Stop the turn (Ctrl .)" onClick={stop}>
            Stop
          </Button>
        )}
        <Button type="submit" look="main" icon="send" label="Send (Enter)" isDisabled={isEmpty(draft)}>
          Send
        </Button>
      </div>
    </form>
  );
}

function isEmpty({
  text,
  files,
  pictures,
}: {
  readonly text: string;
  readonly files: readonly unknown[];
  readonly pictures: readonly unknown[];
}): boolean {
  return text.trim() === "" && files.length === 0 && pictures.length === 0;
}

/** Enter sends. What an input method is still composing is not ours yet. */
function typed(event: KeyboardEvent, submit: () => void): void {
  if (event.key === "Escape") {
    (event.currentTarget as HTMLElement).blur();
    event.preventDefault();
    event.stopPropagation();
    return;
  }
  if (event.key !== "Enter" || event.isComposing) return;
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
    if (current === null) return;
    current.style.height = "auto";
    current.style.height = `${Math.min(LINES_MAX_PX, current.scrollHeight + 2)}px`;
  }, [text]);
  // Who opens a session on a machine with a keyboard most often wants to write; on a phone the keyboard would cover it.
  useEffect(() => {
    if (matchMedia("(hover: hover) and (min-width: 641px)").matches)
      field.current?.focus({ preventScroll: true });
  }, []);
}

async function addTo(sessionKey: string, files: readonly File[]): Promise<void> {
  if (files.length === 0) return;
  const given = await tried(attached(draftOf(sessionKey).value, files));
  if (given === null) return;
  redraft(sessionKey, { pictures: given.pictures, files: given.files });
  for (const refusal of given.refusals) tell(`${refusal}.`, true);
}

/** What was typed stays until somebody has it: the outbox, or the daemon that obeyed it. */
async function submitted(sessionKey: string, answered: (answer: Answer | null) => void): Promise<void> {
  const draft = draftOf(sessionKey).value;
  if (isEmpty(draft)) return;
  const isPlain = draft.files.length === 0 && draft.pictures.length === 0;
  if (isPlain && isCommand(draft.text)) return answered(await obeyed(sessionKey, draft.text.trim()));
  const text = composed(withoutEscape(draft.text.trimEnd()), draft.files);
  const refusal = tooLong(text);
  if (refusal !== null) return tell(refusal, true);
  answered(null);
  const { pictures, mode, model } = draft;
  sent(sessionKey);
  post({ sessionKey, text, pictures, mode, model });
}
