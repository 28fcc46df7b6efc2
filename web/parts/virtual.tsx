// A list of any length, of which only what can be seen is there. Every line has the same height; so where a line is, is known
// without looking, and lines that come in above what is being read can be made up for.

import type { ComponentChildren, RefObject } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";

interface VirtualParts {
  readonly count: number;
  readonly height: number; // of a line, in pixels
  readonly line: (at: number) => ComponentChildren;
  /** The line that stays where it is when others come in above it, by what it is called; null: there is none. */
  readonly keyOf: (at: number) => string;
  readonly label: string;
  readonly role?: "list" | "rowgroup" | "treegrid";
  /** The line that must be seen, such as the selected one. */
  readonly reveal?: number | null;
  /** The line that keys are for, where the whole list has the focus; null: none. */
  readonly active?: { readonly id: string; readonly at: number } | null;
  /** What stays above the lines, and how high it is. */
  readonly head?: { readonly height: number; readonly shown: ComponentChildren };
  /** Told which lines are seen: for who loads more before the end is reached. */
  readonly onSeen?: (first: number, last: number) => void;
}

const BEYOND = 12; // lines that are there above and below what is seen

type Box = RefObject<HTMLDivElement | null>;

export function Virtual(parts: VirtualParts) {
  const { count, height, line, label, role = "list", reveal = null, active = null, head, onSeen } = parts;
  const box = useRef<HTMLDivElement>(null);
  const [view, look] = useView(box);
  const first = Math.max(0, Math.floor(view.top / height) - BEYOND);
  const last = Math.min(count - 1, Math.ceil((view.top + view.height) / height) + BEYOND);
  const hold = useHeld(box, parts);
  useRevealed(box, reveal, { height, headHeight: head?.height ?? 0 });
  useEffect(() => onSeen?.(first, last), [first, last, count]);
  const isThere = active !== null && active.at >= first && active.at <= last; // What is scrolled away has no element.
  const seen = Array.from({ length: Math.max(0, last - first + 1) }, (_, at) => first + at);
  return (
    <div
      ref={box}
      class="virtual"
      tabIndex={0}
      role={role}
      aria-label={label}
      {...(role === "treegrid" ? { "aria-rowcount": head === undefined ? count : count + 1 } : {})}
      {...(isThere ? { "aria-activedescendant": active.id } : {})}
      onScroll={() => {
        hold();
        look();
      }}
    >
      {head?.shown}
      <div class="all" style={{ height: `${count * height}px` }} role="presentation">
        <div class="seen" style={{ transform: `translateY(${first * height}px)` }} role="presentation">
          {seen.map(line)}
        </div>
      </div>
    </div>
  );
}

interface Seen {
  readonly top: number;
  readonly height: number;
}

/** What can be seen of it, and how to look again. */
function useView(box: Box): readonly [Seen, () => void] {
  const [view, setView] = useState<Seen>({ top: 0, height: 800 });
  const look = (): void => {
    const element = box.current;
    if (element !== null) setView({ top: element.scrollTop, height: element.clientHeight });
  };
  useLayoutEffect(() => {
    if (box.current === null) return;
    const watcher = new ResizeObserver(look);
    watcher.observe(box.current);
    look();
    return () => watcher.disconnect();
  }, []);
  return [view, look];
}

/**
 * What is read stays where it is when lines come in above it, or go: who stands at the very top wants to see what comes in there.
 * Returns what is to be called after a scroll: from then on another line is the one that stays.
 */
function useHeld(box: Box, { count, height, keyOf }: VirtualParts): () => void {
  const anchor = useRef<{ readonly key: string; readonly at: number } | null>(null);
  const hold = (): void => {
    const at = Math.min(count - 1, Math.floor((box.current?.scrollTop ?? 0) / height));
    anchor.current = at < 0 ? null : { key: keyOf(at), at };
  };
  useLayoutEffect(() => {
    const element = box.current;
    const was = anchor.current;
    if (element === null) return;
    const now = was === null || element.scrollTop === 0 ? null : nearby(was, count, keyOf);
    if (was !== null && now !== null && now !== was.at) element.scrollTop += (now - was.at) * height;
    hold();
  });
  return hold;
}

interface Heights {
  readonly height: number;
  readonly headHeight: number;
}

function useRevealed(box: Box, reveal: number | null, { height, headHeight }: Heights): void {
  useLayoutEffect(() => {
    const element = box.current;
    if (element === null || reveal === null) return;
    const [top, bottom] = [reveal * height, headHeight + (reveal + 1) * height];
    if (top < element.scrollTop) element.scrollTop = top;
    else if (bottom > element.scrollTop + element.clientHeight)
      element.scrollTop = bottom - element.clientHeight;
  }, [reveal]);
}

const LOOK_AROUND = 2_000;

/** Where a line is now; null: it is gone, or further than is worth looking. */
function nearby(
  was: { readonly key: string; readonly at: number },
  count: number,
  keyOf: (at: number) => string,
): number | null {
  for (let away = 0; away <= LOOK_AROUND; away += 1)
    for (const at of away === 0 ? [was.at] : [was.at + away, was.at - away])
      if (at >= 0 && at < count && keyOf(at) === was.key) return at;
  return null;
}
