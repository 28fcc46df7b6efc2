// Questions that stand before everything else: the browser's own dialogs, so focus stays in them, Escape leaves, and who used a
// button comes back to it.

import { signal } from "@preact/signals";
import type { ComponentChildren, RefObject } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { clean, oneLine } from "../../src/base/harmless.ts";
import { faultOf } from "../wire/call.ts";
import { Button } from "./button.tsx";
import { FieldLine, type Field } from "./field.tsx";
import { NOTHING_REFUSED, refusedIn, type Refused } from "./refused.ts";
import { tell, warn } from "./telling.ts";
import { Toasts } from "./toast.tsx";

export type { Field };

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
    dialog?.querySelector<HTMLElement>(":scope > .body :is(input, textarea, select, button)")?.focus();
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

export interface Question {
  readonly title: string;
  /** What it is about; of what destroys: what exactly goes, and whether it comes back. */
  readonly text?: ComponentChildren;
  readonly fields?: readonly Field[];
  readonly verb: string;
  readonly isDangerous?: boolean;
  /** Of what is asked when something has been waited for: whether somebody is still where they were (stillHere), or it is too late. */
  readonly isHere?: () => boolean;
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
  const { title, isHere } = question;
  const why =
    isHere?.() === false
      ? "you had gone elsewhere before it could be"
      : open.value === null
        ? null
        : "another question stands. Try it again after that";
  if (why !== null) {
    warn(`“${oneLine(title)}” was not asked: ${why}.`);
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
  const [refused, setRefused] = useState(NOTHING_REFUSED);
  const [standing, setStanding] = useState<Standing>("asking");
  const [attempts, setAttempts] = useState(0);
  const form = useRef<HTMLFormElement>(null);
  useLayoutEffect(() => showRefused(form.current), [attempts]);
  const leave = (): void => {
    if (standing === "doing") return setStanding("told");
    close(which);
    if (standing === "asking") which.done(false);
  };
  const submit = async (event: SubmitEvent): Promise<void> => {
    event.preventDefault();
    if (standing !== "asking") return;
    setRefused(NOTHING_REFUSED);
    setStanding("doing");
    setRefused(await run(which, event.currentTarget as HTMLFormElement));
    setStanding("asking");
    setAttempts((was) => was + 1);
  };
  return (
    <Dialog title={title} onClose={leave} isFirm={fields.length > 0 || standing !== "asking"}>
      <form
        ref={form}
        onSubmit={(event: SubmitEvent) => void submit(event)}
        onInput={({ target }: Event) => setRefused(without(refused, target))}
        onInvalidCapture={({ target }: Event) => openAround(target)}
        onKeyDown={(event: KeyboardEvent) => {
          if (!isDangerous && isSending(event)) form.current?.requestSubmit();
        }}
      >
        {text !== undefined && <div class="text">{typeof text === "string" ? clean(text) : text}</div>}
        <Fields fields={fields} refused={refused} />
        {refused.rest !== null && (
          <p class="refused" role="alert">
            {clean(refused.rest)}
          </p>
        )}
        <p role="status">
          {standing === "told" &&
            "It is being done, and cannot be taken back. Wait for it; or leave, and you are told how it ends."}
        </p>
        <footer>
          <Button onClick={leave}>{standing === "told" ? "Leave" : "Cancel"}</Button>
          <Button
            type="submit"
            look={isDangerous ? "danger" : "main"}
            unless={standing === "asking" ? undefined : "It is being done"}
          >
            {verb}
          </Button>
        </footer>
      </form>
    </Dialog>
  );
}

/** Of who is in a field, where Enter alone may be another line. On a button, Cancel too, a key does what the button does. */
function isSending({ key, ctrlKey, metaKey, target }: KeyboardEvent): boolean {
  const isIn = target instanceof Element && target.matches("input, textarea, select");
  return isIn && key === "Enter" && (ctrlKey || metaKey);
}

/** What is seldom needed is under "More": open, where something in it is not as usual. */
function Fields({ fields, refused }: { readonly fields: readonly Field[]; readonly refused: Refused }) {
  const lines = (which: readonly Field[]): ComponentChildren =>
    which.map((field) => <FieldLine key={field.name} field={field} refused={refused.at.get(field.name)} />);
  const more = fields.filter(({ isMore = false }) => isMore);
  const [isOpen] = useState(() => more.some(({ value = "", usual = "" }) => value !== usual));
  return (
    <>
      {lines(fields.filter(({ isMore = false }) => !isMore))}
      {more.length > 0 && (
        <details class="more" open={isOpen}>
          <summary>More</summary>
          {lines(more)}
        </details>
      )}
    </>
  );
}

/** Whoever was refused goes on at the first field that is to be mended, also under "More". */
function showRefused(form: HTMLFormElement | null): void {
  const wrong = [...(form?.querySelectorAll<HTMLElement>("[aria-invalid=true]") ?? [])];
  for (const each of wrong) openAround(each);
  wrong[0]?.focus();
}

/** A browser cannot say what is missing in something that is closed: it would do nothing, without a word. */
function openAround(target: EventTarget | null): void {
  const more = target instanceof Element ? target.closest("details") : null;
  if (more !== null) more.open = true;
}

/** What is typed over is not what was refused any more. */
function without(refused: Refused, target: EventTarget | null): Refused {
  const name =
    target instanceof Element ? target.closest<HTMLElement>("[data-field]")?.dataset["field"] : undefined;
  if (name === undefined || !refused.at.has(name)) return refused;
  return { ...refused, at: new Map([...refused.at].filter(([each]) => each !== name)) };
}

/** What it was refused with; nothing: it was done. Who has left meanwhile is told elsewhere. */
async function run(which: Asked, form: HTMLFormElement): Promise<Refused> {
  const { title, fields = [], run: done } = which.question;
  try {
    await done(Object.fromEntries([...new FormData(form)].map(([name, value]) => [name, String(value)])));
    close(which);
    which.done(true);
  } catch (error) {
    const fault = faultOf(error);
    if (open.value === which) return refusedIn(fault, fields);
    tell(`${oneLine(title)} It was not done: ${fault.message} (${fault.todo})`, true);
    which.done(false);
  }
  return NOTHING_REFUSED;
}
