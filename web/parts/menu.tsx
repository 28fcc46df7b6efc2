// A button with a list of things to do. Arrows move in it, Enter does, Escape leaves. The list stands above everything (a popover
// of the browser), so no box that scrolls cuts it off.

import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { Icon, type IconName } from "./icons.tsx";
import { unless as orTold } from "./telling.ts";

export interface Deed {
  readonly name: string;
  readonly icon?: IconName;
  readonly isDangerous?: boolean;
  /** That does the same where the menu is, so that whoever opens it learns it. */
  readonly key?: string;
  /** Why it cannot be done now, which is told to who tries it; absent: it can. */
  readonly unless?: string | undefined;
  readonly run: () => void;
}

interface MenuParts {
  readonly label: string;
  /** A function is asked when it is opened: of hundreds of menus in a page one is looked at. */
  readonly deeds: readonly Deed[] | (() => readonly Deed[]);
  readonly icon?: IconName;
  /** False: Tab does not stop at it. Of a list whose lines are gone through by other keys, only one has a stop. */
  readonly isStop?: boolean;
}

export function Menu({ label, deeds, icon = "more", isStop = true }: MenuParts) {
  const [isOpen, setOpen] = useState(false);
  const button = useRef<HTMLButtonElement>(null);
  const close = (): void => {
    setOpen(false);
    button.current?.focus();
  };
  return (
    <>
      <button
        ref={button}
        type="button"
        class="button quiet bare"
        {...(isStop ? {} : { tabIndex: -1 })}
        aria-label={label}
        title={label}
        aria-haspopup="menu"
        aria-expanded={isOpen}
        onClick={() => setOpen(!isOpen)}
      >
        <Icon name={icon} />
      </button>
      {isOpen && (
        <List
          label={label}
          deeds={typeof deeds === "function" ? deeds() : deeds}
          at={button.current}
          close={close}
          leave={() => setOpen(false)}
        />
      )}
    </>
  );
}

interface ListParts {
  readonly label: string;
  readonly deeds: readonly Deed[];
  readonly at: HTMLElement | null;
  readonly close: () => void; // and back to the button
  readonly leave: () => void; // somebody went elsewhere
}

function List({ label, deeds, at, close, leave }: ListParts) {
  const list = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    const element = list.current;
    if (element === null) return;
    element.showPopover();
    if (at !== null) putBeside(element, at.getBoundingClientRect());
    itemsIn(element)[0]?.focus();
    const toggled = (event: Event): void => {
      if ((event as ToggleEvent).newState === "closed") leave();
    };
    element.addEventListener("toggle", toggled);
    return () => element.removeEventListener("toggle", toggled);
  }, []);
  return (
    <div
      ref={list}
      popover="auto"
      class="menu"
      role="menu"
      tabIndex={-1}
      aria-label={label}
      onKeyDown={(event: KeyboardEvent) => moved(event, list.current, close)}
    >
      {deeds.map((deed) => (
        <Item key={deed.name} deed={deed} close={close} />
      ))}
    </div>
  );
}

function Item({ deed, close }: { readonly deed: Deed; readonly close: () => void }) {
  const { name, icon, isDangerous = false, unless, key, run } = deed;
  return (
    <button
      type="button"
      role="menuitem"
      tabIndex={-1}
      class={isDangerous ? "danger" : ""}
      aria-disabled={unless !== undefined}
      {...(key === undefined ? {} : { "aria-keyshortcuts": key })}
      {...(unless === undefined ? {} : { title: unless })}
      onClick={() => {
        close(); // What is told may stand where the list does.
        orTold(unless, run);
      }}
    >
      {icon !== undefined && <Icon name={icon} />}
      <span>{name}</span>
      {key !== undefined && <kbd aria-hidden="true">{key}</kbd>}
    </button>
  );
}

/** Below the button and ending with it; above, where there is no room. */
function putBeside(list: HTMLElement, { right, top, bottom }: DOMRect): void {
  const { offsetWidth: width, offsetHeight: height } = list;
  const below = bottom + 4;
  list.style.left = `${Math.max(8, right - width)}px`;
  list.style.top = `${below + height > innerHeight - 8 ? Math.max(8, top - height - 4) : below}px`;
}

function itemsIn(list: HTMLElement | null): readonly HTMLElement[] {
  return list === null ? [] : [...list.querySelectorAll<HTMLElement>("[role=menuitem]")];
}

function moved(event: KeyboardEvent, list: HTMLElement | null, close: () => void): void {
  const items = itemsIn(list);
  const at = items.indexOf(document.activeElement as HTMLElement);
  const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: -1 }[event.key];
  event.stopPropagation(); // Keys of the view beneath do nothing meanwhile.
  if (event.key === "Escape" || event.key === "Tab") close();
  else if (to !== undefined) items.at(to % items.length)?.focus();
  else return;
  event.preventDefault();
}
