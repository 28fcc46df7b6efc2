// What was said in a session, live, however long it is: a window of it is there, and moves with whoever scrolls.

import { useComputed, useSignal, type Signal } from "@preact/signals";
import { useEffect, useLayoutEffect, useMemo, useRef } from "preact/hooks";
import { oneLine } from "../../../src/base/harmless.ts";
import type { Entry } from "../../../src/transcript/entry.ts";
import { Empty, Loading, Trouble } from "../../parts/empty.tsx";
import { Icon } from "../../parts/icons.tsx";
import type { Deed } from "../../parts/menu.tsx";
import { press, useKeys } from "../../state/keys.ts";
import { outgoing } from "./outbox.ts";
import { useEntryKeys } from "./transcript/entry-keys.ts";
import { Line } from "./transcript/line.tsx";
import { Position } from "./transcript/position.tsx";
import { Reading, watchConnection, type Said } from "./transcript/reading.ts";
import { rowsOf, type Row } from "./transcript/rows.ts";
import { Scroller } from "./transcript/scroller.ts";
import { Speaking, Working } from "./transcript/speaking.tsx";
import type { Window } from "./transcript/window.ts";
import "./transcript/transcript.css";
import "./transcript/folded.css";

interface TranscriptParts {
  readonly sessionKey: string;
  /** The entry that is to be seen, by its number; null: the newest. */
  readonly at: number | null;
  /** Ids of the entries that stay whole in every context. */
  readonly pins: readonly string[];
  /** What can be done with an entry: what stands in its menu. */
  readonly deeds: (entry: Entry) => readonly Deed[];
}

export function Transcript({ sessionKey, at, pins, deeds }: TranscriptParts) {
  const reading = useMemo(() => new Reading(sessionKey), [sessionKey]);
  useEffect(() => {
    const stop = watchConnection(reading);
    return () => {
      stop();
      reading.close();
    };
  }, [reading]);
  useEffect(() => void reading.show(at, at !== null), [reading, at]);
  useEffect(() => watchSending(reading), [reading]);
  const latest = useRef(deeds);
  latest.current = deeds;
  const asked = useRef((entry: Entry) => latest.current(entry));
  const window = reading.window.value;
  const fault = reading.fault.value;
  if (window === null && fault !== null) return <Trouble fault={fault} again={() => void reading.open(at)} />;
  if (window === null) return <Loading what="the transcript" />;
  return <Scrolled key={sessionKey} reading={reading} window={window} pins={pins} deeds={asked.current} />;
}

/** Who sends something wants to see it, and what comes of it. Returns how to stop. */
function watchSending(reading: Reading): () => void {
  const ours = (): readonly string[] =>
    outgoing.value.filter(({ sessionKey }) => sessionKey === reading.key).map(({ id }) => id);
  let known = new Set(ours()); // What a reload brought along was sent before.
  return outgoing.subscribe(() => {
    const ids = ours();
    const isNew = ids.some((id) => !known.has(id));
    known = new Set(ids);
    if (isNew) void reading.show(null);
  });
}

interface ScrolledParts {
  readonly reading: Reading;
  readonly window: Window;
  readonly pins: readonly string[];
  readonly deeds: (entry: Entry) => readonly Deed[];
}

function Scrolled({ reading, window, pins, deeds }: ScrolledParts) {
  const { box, scroller, seen } = useScroller(reading, window);
  const before = useRef<readonly Row[]>([]);
  const restarts = reading.restarts.value;
  const rows = useMemo(
    () => rowsOf(window.lines, { isAtEnd: window.next === null, restarts }, before.current),
    [window, restarts],
  );
  before.current = rows;
  useMoving(reading, scroller);
  useEntryKeys(reading, deeds);
  const target = reading.target.value;
  const fault = reading.fault.value;
  const isAtEnd = window.next === null;
  return (
    <section class="transcript" aria-label="Transcript">
      <Position reading={reading} seen={seen} />
      {fault !== null && <Trouble fault={fault} again={() => reading.again()} />}
      <div
        class="scroll"
        ref={box}
        tabIndex={0}
        role="region"
        aria-label="What was said"
        onKeyDown={(event: KeyboardEvent) => wrote(event)}
      >
        <div class="content">
          {window.prev !== null && <p class="edge">…</p>}
          {rows.length === 0 && isAtEnd && window.prev === null && (
            <Empty title="Nothing was said here yet">Write below what you want done.</Empty>
          )}
          <div role="feed" aria-label="Entries" aria-busy={reading.loading.value !== null}>
            {rows.map((row) => (
              <Line
                key={row.id}
                row={row}
                sessionKey={reading.key}
                isMarked={target.isMarked && "entry" in row && row.entry?.seq === target.seq}
                isPinned={"entry" in row && row.entry !== null && pins.includes(row.entry.id)}
                deeds={deeds}
              />
            ))}
          </div>
          {isAtEnd ? (
            <>
              <Speaking speech={reading.speech} />
              <Working reading={reading} />
            </>
          ) : (
            <p class="edge">…</p>
          )}
        </div>
        <Newest reading={reading} />
      </div>
      <Announced said={reading.said} />
    </section>
  );
}

/** Enter, where nothing is chosen, is the way back into the message. */
function wrote(event: KeyboardEvent): void {
  if (event.key !== "Enter" || event.target !== event.currentTarget) return;
  event.preventDefault();
  press("i");
}

/** The position is kept by what knows nothing of elements that are made here: it is told after each change. */
function useScroller(reading: Reading, window: Window) {
  const box = useRef<HTMLDivElement>(null);
  const scroller = useRef<Scroller | null>(null);
  const seen = useSignal(1);
  const shown = useRef<unknown>(null);
  const target = reading.target.value;
  useLayoutEffect(() => {
    if (box.current === null) return;
    const made = new Scroller(reading, box.current, (seq) => (seen.value = seq));
    scroller.current = made;
    return () => made.close();
  }, [reading]);
  useLayoutEffect(() => {
    if (shown.current === target) scroller.current?.settle();
    else scroller.current?.show(target.seq);
    shown.current = target;
  }, [window, target, reading.restarts.value, reading.loading.value, reading.fault.value]);
  return { box, scroller, seen };
}

function useMoving(reading: Reading, scroller: { readonly current: Scroller | null }): void {
  const move = (by: 1 | -1): void => {
    const rows = scroller.current?.rows.filter((row) => !row.classList.contains("day")) ?? [];
    const focused = document.activeElement?.closest<HTMLElement>("[data-row]") ?? null;
    const inSight = scroller.current?.inSight.filter((row) => rows.includes(row)) ?? [];
    const at = focused === null ? -1 : rows.indexOf(focused);
    const next = at === -1 ? inSight.at(by === 1 ? 0 : -1) : rows[at + by];
    next?.focus({ preventScroll: true });
    next?.scrollIntoView({ block: "nearest" });
  };
  useKeys("Transcript", [
    { key: "j", about: "next message", run: () => move(1) },
    { key: "k", about: "message before", run: () => move(-1) },
    { key: "g g", about: "first entry", run: () => void reading.show(1) },
    { key: "G", about: "newest entry", run: () => void reading.show(null) },
    { key: "Home", about: "first entry", run: () => void reading.show(1) },
    { key: "End", about: "newest entry", run: () => void reading.show(null) },
  ]);
}

/** Shown while the newest entry is not seen, or not there. */
function Newest({ reading }: { readonly reading: Reading }) {
  const fresh = reading.fresh.value;
  const isFar = reading.isFar.value;
  if (!isFar) return null;
  return (
    <div class="newest">
      <button type="button" onClick={() => void reading.show(null)}>
        <Icon name="down" /> Newest{fresh > 0 && ` (${fresh} new)`}
      </button>
    </div>
  );
}

/** Characters of an answer that are said aloud by themselves; who wants more goes there. */
const SAID_CHARS = 400;

/** Each once, when it is whole: the pieces of an answer that grows are said to nobody. */
function Announced({ said }: { readonly said: Signal<Said> }) {
  const words = useComputed(() => {
    const { words: text, times } = said.value;
    // The same words twice are news twice, and a screen reader says only what has changed.
    return text === "" ? "" : `${oneLine(text.slice(0, SAID_CHARS))}${times % 2 === 0 ? "" : "\u00a0"}`;
  });
  return (
    <div class="hidden" role="status" aria-live="polite">
      {words}
    </div>
  );
}
