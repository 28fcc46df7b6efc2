// Questions that stand before everything else: the browser's own dialogs, so focus stays in them, Escape leaves, and who used a
// button comes back to it.

import { signal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { faultOf } from "../wire/call.ts";
import { Button } from "./button.tsx";

interface DialogParts {
  readonly title: string;
  readonly children: ComponentChildren;
  readonly onClose: () => void;
  readonly isWide?: boolean;
  /** What is in it is nowhere else: a click beside it does not close it. */
  readonly isFirm?: boolean;
}

export function Dialog({ title, children, onClose, isWide = false, isFirm = false }: DialogParts) {
  const ref = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const dialog = ref.current;
    if (dialog?.open === false) dialog.showModal();
    // The first field, or the way out: not the cross, which is first in the document.
    dialog?.querySelector<HTMLElement>(".body :is(input, textarea, select, button)")?.focus();
    return () => dialog?.close();
  }, []);
  return (
    <dialog
      ref={ref}
      class={`dialog${isWide ? " wide" : ""}`}
      aria-label={title}
      onCancel={(event: Event) => {
        event.preventDefault();
        onClose();
      }}
      onClick={(event: MouseEvent) => {
        if (event.target === ref.current && !isFirm) onClose();
      }}
    >
      <header>
        <h2>{title}</h2>
        <Button icon="close" label="Close" look="quiet" onClick={onClose} />
      </header>
      <div class="body">{children}</div>
    </dialog>
  );
}

// ── Asked from anywhere ─────────────────────────────────────────────────────────────────────────────────────

/** A line of a form. */
export interface Field {
  readonly name: string;
  readonly label: string;
  readonly kind?: "text" | "lines" | "number" | "choice";
  readonly choices?: readonly (readonly [value: string, label: string])[];
  readonly value?: string;
  readonly hint?: string;
  readonly isNeeded?: boolean;
}

export interface Question {
  readonly title: string;
  /** What it is about; of what destroys: what exactly goes, and whether it comes back. */
  readonly text?: ComponentChildren;
  readonly fields?: readonly Field[];
  readonly verb: string;
  readonly isDangerous?: boolean;
  /** Done while the question stands: what is refused is told there, and what was typed stays. */
  readonly run: (given: Readonly<Record<string, string>>) => Promise<unknown>;
}

const open = signal<{ readonly question: Question; readonly done: (isDone: boolean) => void } | null>(null);

/** Resolves when it is answered: true, it was done. */
export function ask(question: Question): Promise<boolean> {
  open.value?.done(false);
  const { promise, resolve } = Promise.withResolvers<boolean>();
  open.value = { question, done: resolve };
  return promise;
}

/** Stands once in the page. */
export function Questions() {
  const asked = open.value;
  if (asked === null) return null;
  const close = (isDone: boolean): void => {
    open.value = null;
    asked.done(isDone);
  };
  return <Form key={asked.question.title} question={asked.question} close={close} />;
}

function Form({
  question,
  close,
}: {
  readonly question: Question;
  readonly close: (isDone: boolean) => void;
}) {
  const { title, text, fields = [], verb, isDangerous = false, run } = question;
  const [trouble, setTrouble] = useState<string | null>(null);
  const [isBusy, setBusy] = useState(false);
  const submit = async (event: SubmitEvent): Promise<void> => {
    event.preventDefault();
    const form = event.currentTarget as HTMLFormElement;
    setBusy(true);
    setTrouble(null);
    try {
      await run(Object.fromEntries([...new FormData(form)].map(([name, value]) => [name, String(value)])));
      close(true);
    } catch (error) {
      const { message, todo } = faultOf(error);
      setTrouble(`${message} (${todo})`);
      setBusy(false);
    }
  };
  return (
    <Dialog title={title} onClose={() => close(false)}>
      <form onSubmit={(event: SubmitEvent) => void submit(event)}>
        {text !== undefined && <div class="text">{text}</div>}
        {fields.map((field) => (
          <FieldLine key={field.name} field={field} />
        ))}
        {trouble !== null && (
          <p class="refused" role="alert">
            {trouble}
          </p>
        )}
        <footer>
          <Button onClick={() => close(false)}>Cancel</Button>
          <Button type="submit" look={isDangerous ? "danger" : "main"} isDisabled={isBusy}>
            {verb}
          </Button>
        </footer>
      </form>
    </Dialog>
  );
}

function FieldLine({ field }: { readonly field: Field }) {
  const { name, label, kind = "text", choices = [], value = "", hint, isNeeded = false } = field;
  const common = { name, required: isNeeded };
  return (
    <label class="field">
      <span>{label}</span>
      {kind === "lines" && <textarea {...common} rows={4} defaultValue={value} />}
      {kind === "choice" && (
        <select {...common} defaultValue={value}>
          {choices.map(([each, words]) => (
            <option key={each} value={each} selected={each === value}>
              {words}
            </option>
          ))}
        </select>
      )}
      {kind === "text" && <input {...common} type="text" defaultValue={value} />}
      {kind === "number" && <input {...common} type="number" step="any" defaultValue={value} />}
      {hint !== undefined && <small>{hint}</small>}
    </label>
  );
}
