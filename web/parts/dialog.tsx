// Questions that stand before everything else: the browser's own dialogs, so focus stays in them, Escape leaves, and who used a
// button comes back to it.

import { signal } from "@preact/signals";
import type { ComponentChildren, RefObject } from "preact";
import { useId, useLayoutEffect, useRef, useState } from "preact/hooks";
import { clean, oneLine } from "../../src/base/harmless.ts";
import { faultOf } from "../wire/call.ts";
import { Button } from "./button.tsx";
import { tell, Toasts } from "./toast.tsx";

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
  const isBeside = useRef(false); // where the pointer went down: who selects text may let go of it anywhere
  useModal(ref);
  return (
    <dialog
      ref={ref}
      class={`dialog${isWide ? " wide" : ""}`}
      aria-label={oneLine(title)}
      onCancel={(event: Event) => {
        event.preventDefault();
        onClose();
      }}
      onKeyDown={(event: KeyboardEvent) => {
        if (event.key !== "Escape" || event.isComposing || event.defaultPrevented) return;
        event.preventDefault(); // A browser that is told to stay twice does not, unless it never comes to ask.
        onClose();
      }}
      onPointerDown={(event: PointerEvent) => {
        isBeside.current = event.target === ref.current && !isWithin(event, ref.current);
      }}
      onClick={(event: MouseEvent) => {
        if (event.target === ref.current && isBeside.current && !isFirm) onClose();
      }}
    >
      <header>
        <h2>{oneLine(title)}</h2>
        <Button icon="close" label="Close" look="quiet" onClick={onClose} />
      </header>
      <div class="body">{children}</div>
      <Toasts />
    </dialog>
  );
}

/** While it is there nothing else can be used; then focus is where it was, or in the view, if that is gone. */
function useModal(ref: RefObject<HTMLDialogElement | null>): void {
  useLayoutEffect(() => {
    const dialog = ref.current;
    const before = document.activeElement;
    if (dialog?.open === false) dialog.showModal();
    // The first field, or the way out: not the cross, which is first in the document.
    dialog?.querySelector<HTMLElement>(".body :is(input, textarea, select, button)")?.focus();
    return () => {
      dialog?.close();
      const back = before?.isConnected === true ? before : document.querySelector("main");
      if (back instanceof HTMLElement) back.focus({ preventScroll: true });
    };
  }, []);
}

/** A dialog's own edge and scroll bar are not beside it. */
function isWithin({ clientX, clientY }: PointerEvent, dialog: Element | null): boolean {
  if (dialog === null) return false;
  const { left, right, top, bottom } = dialog.getBoundingClientRect();
  return clientX >= left && clientX <= right && clientY >= top && clientY <= bottom;
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

interface Asked {
  readonly id: number;
  readonly question: Question;
  readonly done: (isDone: boolean) => void;
}

const open = signal<Asked | null>(null);
let asked = 0;

/** Resolves when it is answered: true, it was done. One at a time: who is being asked may have typed something. */
export function ask(question: Question): Promise<boolean> {
  if (open.value !== null) {
    tell(`“${oneLine(question.title)}” was not asked: another question stands. Try it again after that.`);
    return Promise.resolve(false);
  }
  const { promise, resolve } = Promise.withResolvers<boolean>();
  asked += 1;
  open.value = { id: asked, question, done: resolve };
  return promise;
}

/** Takes away this question, and no other that came after it was left. */
function close(which: Asked): void {
  if (open.value === which) open.value = null;
}

/** Stands once in the page. */
export function Questions() {
  const which = open.value;
  return which === null ? null : <Form key={which.id} asked={which} />;
}

/** doing: it cannot be taken back. told: whoever wanted out knows that, and may leave it to itself. */
type Standing = "asking" | "doing" | "told";

function Form({ asked: which }: { readonly asked: Asked }) {
  const { title, text, fields = [], verb, isDangerous = false } = which.question;
  const [trouble, setTrouble] = useState<string | null>(null);
  const [standing, setStanding] = useState<Standing>("asking");
  const leave = (): void => {
    if (standing === "doing") return setStanding("told");
    close(which);
    if (standing === "asking") which.done(false);
  };
  const submit = async (event: SubmitEvent): Promise<void> => {
    event.preventDefault();
    if (standing !== "asking") return;
    setTrouble(null);
    setStanding("doing");
    const refused = await run(which, event.currentTarget as HTMLFormElement);
    setTrouble(refused);
    setStanding("asking");
  };
  return (
    <Dialog title={title} onClose={leave} isFirm={fields.length > 0 || standing !== "asking"}>
      <form onSubmit={(event: SubmitEvent) => void submit(event)}>
        {text !== undefined && <div class="text">{typeof text === "string" ? clean(text) : text}</div>}
        {fields.map((field) => (
          <FieldLine key={field.name} field={field} />
        ))}
        {trouble !== null && (
          <p class="refused" role="alert">
            {clean(trouble)}
          </p>
        )}
        <p role="status">
          {standing === "told" &&
            "It is being done, and cannot be taken back. Wait for it; or leave, and you are told how it ends."}
        </p>
        <footer>
          <Button onClick={leave}>{standing === "told" ? "Leave" : "Cancel"}</Button>
          <Button type="submit" look={isDangerous ? "danger" : "main"} isDisabled={standing !== "asking"}>
            {verb}
          </Button>
        </footer>
      </form>
    </Dialog>
  );
}

/** What it was refused with; null: it was done. Who has left meanwhile is told elsewhere. */
async function run(which: Asked, form: HTMLFormElement): Promise<string | null> {
  const { title, run: done } = which.question;
  try {
    await done(Object.fromEntries([...new FormData(form)].map(([name, value]) => [name, String(value)])));
    close(which);
    which.done(true);
    return null;
  } catch (error) {
    const { message, todo } = faultOf(error);
    if (open.value === which) return `${message} (${todo})`;
    tell(`${oneLine(title)} It was not done: ${message} (${todo})`, true);
    which.done(false);
    return null;
  }
}

function FieldLine({ field }: { readonly field: Field }) {
  const { name, label, kind = "text", choices = [], value = "", hint, isNeeded = false } = field;
  const id = useId();
  const described = hint === undefined ? {} : { "aria-describedby": `${id}-hint` };
  const common = { id, name, required: isNeeded, ...described };
  return (
    <div class="field">
      <label for={id}>{label}</label>
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
      {hint !== undefined && <small id={`${id}-hint`}>{hint}</small>}
    </div>
  );
}
