// A list of any length, of which only what can be seen is there. Every line has the same height; so where a line is, is known
// without looking, and lines that come in above what is being read can be made up for.

import type { ComponentChildren } from "preact";
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
  /** Told which lines are seen: for who loads more before the end is reached. */
  readonly onSeen?: (first: number, last: number) => void;
}

const BEYOND = 12; // lines that are there above and below what is seen

export function Virtual({
  count,
  height,
  line,
  keyOf,
  label,
  role = "list",
  reveal = null,
  onSeen,
}: VirtualParts) {
  const box = useRef<HTMLDivElement>(null);
  const [view, setView] = useState({ top: 0, height: 800 });
  const anchor = useRef<{ readonly key: string; readonly at: number } | null>(null);
  const first = Math.max(0, Math.floor(view.top / height) - BEYOND);
  const last = Math.min(count - 1, Math.ceil((view.top + view.height) / height) + BEYOND);

  useLayoutEffect(() => {
    const element = box.current;
    if (element === null) return;
    const look = (): void => setView({ top: element.scrollTop, height: element.clientHeight });
    const watcher = new ResizeObserver(look);
    watcher.observe(element);
    look();
    return () => watcher.disconnect();
  }, []);

  // What is read stays where it is: who stands at the very top wants to see what comes in there.
  useLayoutEffect(() => {
    const element = box.current;
    const was = anchor.current;
    if (element === null || count === 0) return;
    if (was !== null && element.scrollTop > 0) {
      const near = nearby(was, count, keyOf);
      if (near !== null && near !== was.at) element.scrollTop += (near - was.at) * height;
    }
    const at = Math.min(count - 1, Math.floor(element.scrollTop / height));
    anchor.current = { key: keyOf(at), at };
  });

  useLayoutEffect(() => {
    const element = box.current;
    if (element === null || reveal === null) return;
    const [top, bottom] = [reveal * height, (reveal + 1) * height];
    if (top < element.scrollTop) element.scrollTop = top;
    else if (bottom > element.scrollTop + element.clientHeight)
      element.scrollTop = bottom - element.clientHeight;
  }, [reveal]);

  useEffect(() => onSeen?.(first, last), [first, last, count]);

  const seen = Array.from({ length: Math.max(0, last - first + 1) }, (_, at) => first + at);
  return (
    <div
      ref={box}
      class="virtual"
      tabIndex={0}
      role={role}
      aria-label={label}
      {...(role === "treegrid" ? { "aria-rowcount": count } : {})}
      onScroll={() => {
        const element = box.current;
        if (element === null) return;
        const at = Math.min(count - 1, Math.floor(element.scrollTop / height));
        anchor.current = at < 0 ? null : { key: keyOf(at), at };
        setView({ top: element.scrollTop, height: element.clientHeight });
      }}
    >
      <div class="all" style={{ height: `${count * height}px` }} role="presentation">
        <div class="seen" style={{ transform: `translateY(${first * height}px)` }} role="presentation">
          {seen.map(line)}
        </div>
      </div>
    </div>
  );
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
