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

const BEYOND = 6; // lines that are there above and below what is seen

type Box = RefObject<HTMLDivElement | null>;

export function Virtual(parts: VirtualParts) {
  const { count, height, line, label, role = "list", reveal = null, active = null, head, onSeen } = parts;
  const box = useRef<HTMLDivElement>(null);
  const [top, look] = useTop(box, parts);
  const first = Math.max(0, top.at - BEYOND);
  const last = Math.min(count - 1, top.at + top.lines + BEYOND);
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
      onScroll={look}
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

/** The first line that is seen. */
interface Top {
  readonly at: number;
  readonly key: string | null; // null: the very top, and whatever comes in there is to be seen
  readonly lines: number; //      that are seen
}

/**
 * What can be seen, and how to look again. What is read stays where it is when lines come in above it, or go: that is known before
 * anything is drawn, so that the same lines are drawn, and not first those that stand in their place.
 */
function useTop(box: Box, { count, height, keyOf }: VirtualParts): readonly [Top, () => void] {
  const [, draw] = useState<Top | null>(null);
  const seen = useRef<Top>({ at: 0, key: null, lines: 20 }); // about a screen, until somebody has looked
  const { at: was, key, lines } = seen.current;
  const at = key === null ? was : (nearby({ key, at: was }, count, keyOf) ?? was);
  const top = { at, key: key === null ? null : keyOf(at), lines };
  seen.current = top;
  const look = (): void => {
    if (box.current === null) return;
    const { scrollTop, clientHeight } = box.current;
    const now = Math.max(0, Math.min(count - 1, Math.floor(scrollTop / height)));
    seen.current = {
      at: now,
      key: scrollTop === 0 ? null : keyOf(now),
      lines: Math.ceil(clientHeight / height),
    };
    if (now !== at || seen.current.lines !== lines) draw(seen.current);
  };
  const latest = useRef(look);
  latest.current = look;
  useLayoutEffect(() => {
    if (box.current === null) return;
    const watcher = new ResizeObserver(() => latest.current());
    watcher.observe(box.current);
    look();
    return () => watcher.disconnect();
  }, []);
  useLayoutEffect(() => {
    if (box.current !== null && at !== was) box.current.scrollTop += (at - was) * height;
  });
  return [top, look];
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
