// Completion of commands: a list above what is typed. Arrows choose, Tab or Enter takes, Escape closes; what is typed goes on.

import { useEffect, useRef, useState } from "preact/hooks";
import type { Output } from "../../../src/calls/door.ts";
import { choicesFor, type Choice, type Commands } from "./completing.ts";

export interface Known {
  readonly commands: Commands;
  readonly models: Output<"models">;
}

export interface Choosing {
  readonly list: readonly Choice[];
  readonly at: number;
  readonly choose: (choice: Choice) => void;
  /** True: the key was for the list. */
  readonly taken: (event: KeyboardEvent) => boolean;
  /** What the text field says of the list, for who does not see it. */
  readonly field: Readonly<Record<string, string>>;
}

const LIST = "command-choices";

export function useChoices(text: string, known: Known | null, take: (text: string) => void): Choosing {
  // Of this text: with the next letter it is the first again, and nobody's arrow is lost meanwhile.
  const [moved, setMoved] = useState({ in: text, by: 0 });
  const [closedAt, setClosedAt] = useState<string | null>(null);
  const list = known === null || closedAt === text ? [] : choicesFor(text, withModels(known));
  const chosen = moved.in === text && list.length > 0 ? moved.by % list.length : 0;
  const choose = (choice: Choice): void => take(choice.text);
  const taken = (event: KeyboardEvent): boolean => {
    const choice = list[chosen];
    if (choice === undefined || event.isComposing) return false;
    if (event.key === "Escape") setClosedAt(text);
    else if (event.key === "ArrowDown" || event.key === "ArrowUp")
      setMoved((was) => ({
        in: text,
        by: (was.in === text ? was.by : 0) + (event.key === "ArrowDown" ? 1 : list.length - 1),
      }));
    else if (event.key === "Tab" && !event.shiftKey && choice.text !== text) choose(choice);
    // What is whole already is sent: nobody has to press Enter twice.
    else if (event.key === "Enter" && !event.shiftKey && choice.text.trim() !== text.trim()) choose(choice);
    else return false;
    event.preventDefault();
    event.stopPropagation();
    return true;
  };
  const isOpen = list.length > 0;
  // A field of several lines has no other role than its own; this much of a combobox it may say.
  const field = {
    "aria-autocomplete": "list",
    "aria-haspopup": "listbox",
    ...(isOpen ? { "aria-controls": LIST, "aria-activedescendant": `${LIST}-${chosen}` } : {}),
  };
  return { list, at: chosen, choose, taken, field };
}

/** The daemon's commands do not say which models there are: those may be many, and change. */
function withModels({ commands, models }: Known): Commands {
  const words = ["default", ...Object.keys(models.aliases), ...models.models.map(({ id }) => id)];
  return commands.map((each) => (each.name === "model" ? { ...each, words } : each));
}

export function Choices({ choices: { list, at, choose } }: { readonly choices: Choosing }) {
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    box.current?.querySelector("[aria-selected=true]")?.scrollIntoView({ block: "nearest" });
  }, [at, list.length]);
  if (list.length === 0) return null;
  return (
    <div class="choices" id={LIST} role="listbox" tabIndex={-1} aria-label="Commands" ref={box}>
      {list.map((choice, index) => (
        <div
          key={choice.name}
          id={`${LIST}-${index}`}
          role="option"
          tabIndex={-1}
          aria-selected={index === at}
          onPointerDown={(event: PointerEvent) => {
            event.preventDefault();
            choose(choice);
          }}
        >
          <code>
            {choice.name} <span class="soft">{choice.takes.replaceAll("|", "|\u200b")}</span>
          </code>
          <span class="soft about">{choice.about}</span>
        </div>
      ))}
    </div>
  );
}
