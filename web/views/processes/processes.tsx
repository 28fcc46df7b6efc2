// The live table of sessions, as a tree.

import type { RefObject } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { whole } from "../../../src/base/figures.ts";
import { oneLine } from "../../../src/base/harmless.ts";
import { Button } from "../../parts/button.tsx";
import { Empty, Loading, Trouble } from "../../parts/empty.tsx";
import { unless, warn } from "../../parts/toast.tsx";
import { Virtual } from "../../parts/virtual.tsx";
import { useKeys } from "../../state/keys.ts";
import { go, hrefOf, place, replace } from "../../state/place.ts";
import type { Row } from "../../wire/events.ts";
import { lacking } from "../../wire/scope.ts";
import { act, spawn, type Act } from "../deeds.tsx";
import type { Line } from "./forest.ts";
import { Head } from "./head.tsx";
import { Columns, HEAD_PX, idOf, KEYS, LINE_PX, LineOf } from "./line.tsx";
import type { Listing } from "./listing.ts";
import { useListing } from "./live.ts";
import { isAnything, wantedIn, type Wanted } from "./wanted.ts";
import "./processes.css";

export function Processes() {
  const { query } = place.value;
  const asked = JSON.stringify(query);
  const wanted = useMemo(() => wantedIn(query), [asked]);
  const { listing, agents, version } = useListing(wanted);
  return (
    <section class="view processes" aria-label="Processes">
      <Head listing={listing} agents={agents} />
      <Table listing={listing} version={version} />
    </section>
  );
}

interface TableParts {
  readonly listing: Listing;
  readonly version: number; // another one: something in it is otherwise
}

function Table({ listing }: TableParts) {
  const { forest, wanted } = listing;
  const lines = forest.lines();
  const box = useRef<HTMLDivElement>(null);
  const choice = useChoice(listing);
  useNext(listing, choice, box);
  useDeeds(listing, choice);
  useEffect(() => {
    const { activeElement } = document;
    if (activeElement === document.body || activeElement?.id === "view") focusOn(box); // Nobody is at anything in particular.
  }, [lines.length === 0]);
  if (lines.length === 0) return <Nothing listing={listing} />;
  const selected = choice.key === null ? null : forest.at(choice.key);
  return (
    <div
      class={`processes-table${isFirst(listing) ? " first" : ""}`}
      ref={box}
      onKeyDown={(event: KeyboardEvent) => keyed(event, choice)}
      onWheel={() => listing.readAll(false)}
    >
      <Virtual
        key={JSON.stringify(wanted)}
        role="treegrid"
        label="Sessions"
        count={lines.length}
        height={LINE_PX}
        head={{ height: HEAD_PX, shown: <Columns /> }}
        keyOf={(at) => lines[at]?.key ?? ""}
        reveal={choice.reveal}
        active={selected === null || choice.key === null ? null : { id: idOf(choice.key), at: selected }}
        onSeen={(_, last) => listing.see(last)}
        line={(at) => {
          const line = lines[at];
          if (line === undefined) return null;
          return (
            <LineOf
              key={line.key}
              line={line}
              isSelected={line.key === choice.key}
              select={choice.select}
              toggle={choice.toggle}
              openSession={(key) => go("session", key)}
            />
          );
        }}
      />
      <Foot listing={listing} />
    </div>
  );
}

type Box = RefObject<HTMLDivElement | null>;

function focusOn(box: Box): void {
  box.current?.querySelector<HTMLElement>("[role=treegrid]")?.focus({ preventScroll: true });
}

// ── Which line keys are for ─────────────────────────────────────────────────────────────────────────────────

interface Choice {
  readonly key: string | null;
  readonly reveal: number | null; // just now, because a key moved there
  readonly select: (key: string) => void;
  readonly toggle: (line: Line<Row>) => void;
  readonly choose: (at: number) => void; // without going there
  readonly move: (by: number) => void;
  readonly first: () => void;
  readonly last: () => void;
  /** Closes or opens; where that is so already: up to the parent, or down to the first child. */
  readonly fold: (isOpen: boolean) => void;
  readonly enter: () => void;
}

function useChoice(listing: Listing): Choice {
  const { forest } = listing;
  const [key, setKey] = useState<string | null>(null);
  const [reveal, setReveal] = useState<number | null>(null);
  const [, drawAgain] = useState(0);
  const [isToEnd, setToEnd] = useState(false);
  const lines = forest.lines();
  const at = key === null ? null : forest.at(key);
  const to = (index: number): void => {
    const line = lines[Math.max(0, Math.min(lines.length - 1, index))];
    if (line === undefined) return;
    setKey(line.key);
    setReveal(line.at);
  };
  useEffect(() => setReveal(null), [reveal]); // What is read later is not pulled back to it.
  useEffect(() => {
    if (!isToEnd || listing.isForAll) return;
    setToEnd(false);
    if (listing.isWhole) to(lines.length - 1);
  });
  const toggle = (line: Line<Row>): void => {
    forest.open(line.key, !line.isOpen);
    drawAgain((was) => was + 1);
  };
  const line = at === null ? undefined : lines[at];
  return {
    key,
    reveal,
    select: setKey,
    toggle,
    choose: (index) => setKey(lines[Math.min(lines.length - 1, index)]?.key ?? null),
    move: (by) => {
      listing.readAll(false);
      to(at === null ? 0 : at + by);
    },
    first: () => to(0),
    last: () => {
      listing.readAll(true);
      setToEnd(true);
    },
    fold: (isOpen) => {
      if (line === undefined || at === null) return to(0);
      const canFold = line.type === "fold" || line.isParent;
      if (canFold && line.isOpen !== isOpen) toggle(line);
      else if (isOpen && canFold) to(at + 1);
      else if (!isOpen) to((line.type === "fold" ? line.of : line.above)?.at ?? at);
    },
    enter: () => {
      if (line?.type === "row") go("session", line.key);
      else if (line !== undefined) toggle(line);
    },
  };
}

/** Where the one that is selected goes away (archived, removed, filtered out), the one that comes into its place is selected. */
function useNext({ forest }: Listing, choice: Choice, box: Box): void {
  const was = useRef<{ readonly forest: unknown; readonly key: string; readonly at: number } | null>(null);
  useEffect(() => {
    const { key, choose } = choice;
    const before = was.current;
    const at = key === null ? null : forest.at(key);
    if (key !== null && at !== null) was.current = { forest, key, at };
    else if (key !== null && before?.forest === forest && before.key === key && !forest.has(key)) {
      choose(before.at);
      // A menu that was used is gone with its line.
      if (document.activeElement === document.body) focusOn(box);
    }
  });
}

/** Of the table itself: a link or a button in it has keys of its own. */
function keyed(event: KeyboardEvent, choice: Choice): void {
  const isOfPart = event.target instanceof Element && event.target.closest("a, button") !== null;
  if (event.ctrlKey || event.metaKey || event.altKey || (isOfPart && event.key === "Enter")) return;
  const run = {
    ArrowDown: () => choice.move(1),
    ArrowUp: () => choice.move(-1),
    ArrowRight: () => choice.fold(true),
    ArrowLeft: () => choice.fold(false),
    Home: choice.first,
    End: choice.last,
    Enter: choice.enter,
  }[event.key];
  if (run === undefined) return;
  event.preventDefault();
  run();
}

function useDeeds({ forest }: Listing, choice: Choice): void {
  const does = (which: Act) => () => {
    const at = choice.key === null ? null : forest.at(choice.key);
    const line = at === null ? undefined : forest.lines()[at]; // One that is folded away cannot be meant.
    if (line?.type === "row") act(line.row, which);
    else warn("Select a session first: j and k, or a click.");
  };
  useKeys("Processes", [
    { key: "j", about: "down (also ↓)", run: () => choice.move(1) },
    { key: "k", about: "up (also ↑)", run: () => choice.move(-1) },
    { key: KEYS.open, about: "open the session (also Enter)", run: choice.enter },
    { key: "h", about: "fold, or to its parent (also ←)", run: () => choice.fold(false) },
    { key: "l", about: "unfold, or to its first child (also →)", run: () => choice.fold(true) },
    { key: "Home", about: "the first", run: choice.first },
    { key: "End", about: "the last: all are read", run: choice.last },
    { key: "m", about: "all that can be done to it", run: () => showMenu(choice.key) },
    { key: KEYS.steer, about: "steer it, or send it a message", run: does("steer") },
    { key: KEYS.pause, about: "pause it, or continue", run: does("pause") },
    { key: KEYS.fork, about: "fork it …", run: does("fork") },
    { key: KEYS.export, about: "export it …", run: does("export") },
    { key: KEYS.nice, about: "nice: who goes first", run: does("nice") },
    { key: KEYS.label, about: "label it", run: does("label") },
    { key: KEYS.pin, about: "pin or unpin it", run: does("pin") },
    { key: KEYS.archive, about: "archive it", run: does("archive") },
    { key: KEYS.kill, about: "kill it", run: does("kill") },
    { key: "N", about: "spawn a sub-agent", run: () => unless(lacking("operate"), () => void spawn(null)) },
  ]);
}

/** Of the line, if it can be seen. */
function showMenu(key: string | null): void {
  if (key === null) return;
  document.getElementById(idOf(key))?.querySelector<HTMLElement>("[aria-haspopup=menu]")?.click();
}

// ── Around the lines ────────────────────────────────────────────────────────────────────────────────────────

function Foot({ listing }: { readonly listing: Listing }) {
  const { forest, fault, isWhole, isReading } = listing;
  if (fault !== null) return <Trouble fault={fault} again={() => listing.more()} />;
  if (isWhole) return isFirst(listing) ? <Begin /> : null;
  return (
    <div class="foot">
      {isReading ? `${whole(forest.size)} loaded …` : `${whole(forest.size)} loaded; there are more.`}
      {!isReading && <Button onClick={() => listing.more()}>Load more</Button>}
    </div>
  );
}

/** A daemon that nobody has said anything to yet. */
function isFirst({ forest, wanted, fault, isWhole }: Listing): boolean {
  const only = forest.size === 1 ? forest.lines()[0] : undefined;
  const isQuiet = fault === null && isWhole && isAnything(wanted);
  return isQuiet && only?.type === "row" && only.row.entries === 0;
}

function Begin() {
  return (
    <Empty title="Nothing has happened yet">
      <a href={hrefOf("session", "agent:main:main")}>Say something to main</a>, and every session that comes
      of it is here.
    </Empty>
  );
}

/** What the filter asks for, in words. */
function sought({ text, agent, kind, state }: Wanted): string {
  const words = text.trim() === "" ? [] : [`“${oneLine(text.trim())}” in its title or key`];
  const rest = Object.entries({ agent, kind, state }).flatMap(([what, is]) =>
    is === null ? [] : [`the ${what} ${oneLine(is)}`],
  );
  return [...words, ...rest].join(", and ");
}

function Nothing({ listing }: { readonly listing: Listing }) {
  const { fault, isWhole, wanted } = listing;
  if (fault !== null) return <Trouble fault={fault} again={() => listing.more()} />;
  if (!isWhole) return <Loading what="sessions" />;
  if (isAnything(wanted)) return <Begin />;
  return (
    <Empty title="No sessions match">
      <p>None has {sought(wanted)}.</p>
      <Button onClick={() => replace({})}>Clear the filter</Button>
    </Empty>
  );
}
