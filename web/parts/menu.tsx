// A button with a list of things to do. Arrows move in it, Enter does, Escape leaves.

import { useEffect, useRef, useState } from "preact/hooks";
import { Icon, type IconName } from "./icons.tsx";

export interface Deed {
  readonly name: string;
  readonly icon?: IconName;
  readonly isDangerous?: boolean;
  /** Why it cannot be done now; absent: it can. */
  readonly unless?: string | undefined;
  readonly run: () => void;
}

export function Menu({
  label,
  deeds,
  icon = "more",
}: {
  readonly label: string;
  readonly deeds: readonly Deed[];
  readonly icon?: IconName;
}) {
  const [isOpen, setOpen] = useState(false);
  const root = useRef<HTMLDivElement>(null);
  const list = useRef<HTMLDivElement>(null);
  const button = useRef<HTMLButtonElement>(null);
  useEffect(() => {
    if (!isOpen) return;
    itemsIn(list.current)[0]?.focus();
    const leave = (event: Event): void => {
      if (!root.current?.contains(event.target as Node)) setOpen(false);
    };
    addEventListener("pointerdown", leave);
    return () => removeEventListener("pointerdown", leave);
  }, [isOpen]);
  const close = (): void => {
    setOpen(false);
    button.current?.focus();
  };
  return (
    <div
      class="menu"
      ref={root}
      onKeyDown={(event: KeyboardEvent) => isOpen && moved(event, list.current, close)}
    >
      <button
        ref={button}
        type="button"
        class="button quiet bare"
        aria-label={label}
        title={label}
        aria-haspopup="menu"
        aria-expanded={isOpen}
        onClick={() => setOpen(!isOpen)}
      >
        <Icon name={icon} />
      </button>
      {isOpen && (
        <div class="list" role="menu" aria-label={label} ref={list}>
          {deeds.map(({ name, icon: mark, isDangerous = false, unless, run }) => (
            <button
              key={name}
              type="button"
              role="menuitem"
              tabIndex={-1}
              class={isDangerous ? "danger" : ""}
              aria-disabled={unless !== undefined}
              {...(unless === undefined ? {} : { title: unless })}
              onClick={() => {
                if (unless !== undefined) return;
                close();
                run();
              }}
            >
              {mark !== undefined && <Icon name={mark} />}
              {name}
            </button>
          ))}
        </div>
      )}
    </div>
  );
}

function itemsIn(list: HTMLElement | null): readonly HTMLElement[] {
  return list === null ? [] : [...list.querySelectorAll<HTMLElement>("[role=menuitem]")];
}

function moved(event: KeyboardEvent, list: HTMLElement | null, close: () => void): void {
  const items = itemsIn(list);
  const at = items.indexOf(document.activeElement as HTMLElement);
  const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: -1 }[event.key];
  if (event.key === "Escape" || event.key === "Tab") close();
  else if (to !== undefined) items.at(to % items.length)?.focus();
  else return;
  event.preventDefault();
  event.stopPropagation();
}
