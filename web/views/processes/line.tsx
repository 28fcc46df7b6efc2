// One line of the table: a session, or those below it that have ended.

import { useMemo, useRef } from "preact/hooks";
import { age, count, money, whole } from "../../../src/base/figures.ts";
import { clean } from "../../../src/base/harmless.ts";
import { Icon } from "../../parts/icons.tsx";
import { Menu } from "../../parts/menu.tsx";
import { Dot, Gauge, State } from "../../parts/state.tsx";
import { Ago } from "../../parts/text.tsx";
import { since } from "../../state/now.ts";
import { hrefOf } from "../../state/place.ts";
import type { Row } from "../../wire/events.ts";
import { deedsOf, type ActKeys } from "../deeds.tsx";
import { calledOf, nameOf } from "../named.ts";
import { whoIs } from "../who.tsx";
import type { Branch, Fold, Line } from "./forest.ts";
import { modelName, whyIn } from "./words.ts";

export const LINE_PX = 38;
export const HEAD_PX = 32;

/** What the keys of the table do to the line that is selected. */
export const KEYS = {
  open: "o",
  steer: "s",
  pause: ".",
  fork: "f",
  export: "e",
  label: "L",
  nice: "n",
  pin: "P",
  archive: "a",
  kill: "x",
} as const satisfies ActKeys;

export interface LineParts {
  readonly line: Line<Row>;
  readonly isSelected: boolean;
  readonly select: (key: string) => void;
  readonly toggle: (line: Line<Row>) => void;
  readonly openSession: (key: string) => void;
}

export function idOf(key: string): string {
  return `line-${encodeURIComponent(key)}`;
}

export function Columns() {
  const names = ["Session", "State", "Class", "Model", "Context", "Tokens", "Cost", "Age", "Changed"];
  return (
    <div class="line columns" role="row" aria-rowindex={1}>
      {names.map((name) => (
        <span key={name} role="columnheader" class={name.toLowerCase()}>
          {name}
        </span>
      ))}
      <span role="columnheader" class="deeds">
        <span class="hidden">Deeds</span>
      </span>
    </div>
  );
}

export function LineOf(parts: LineParts) {
  const { line, isSelected, select, openSession, toggle } = parts;
  const canOpen = line.type === "fold" || line.isParent;
  return (
    <div
      id={idOf(line.key)}
      class={`line ${line.type}${isSelected ? " selected" : ""}`}
      role="row"
      aria-level={line.depth + 1}
      aria-rowindex={line.at + 2}
      aria-selected={isSelected}
      {...(canOpen ? { "aria-expanded": line.isOpen } : {})}
      onClick={(event: MouseEvent) => {
        select(line.key);
        if (line.type === "fold") toggle(line);
        else if (isTap(event) && !isOfPart(event)) openSession(line.key);
      }}
      onDblClick={(event: MouseEvent) => {
        if (line.type === "row" && !isOfPart(event)) openSession(line.key);
      }}
    >
      {useCells(parts)}
    </div>
  );
}

function isOfPart({ target }: Event): boolean {
  return target instanceof Element && target.closest("a, button, [popover]") !== null;
}

/** By a finger, or where there is room for little more than a list: nobody selects a line there, or knows of a second click. */
function isTap(event: MouseEvent): boolean {
  const isTouch = event instanceof PointerEvent && event.pointerType === "touch";
  return isTouch || matchMedia("(max-width: 640px)").matches;
}

/** The same as before, where nothing that they show is otherwise: then nothing is compared, whoever else has changed. */
function useCells({ line, isSelected, toggle }: LineParts) {
  const latest = useRef(toggle);
  latest.current = toggle;
  const shown =
    line.type === "row" ? [line.row, line.isParent, line.above === null] : [line.count, line.failed, null];
  return useMemo(() => {
    if (line.type === "fold") return <FoldCell fold={line} />;
    return <Cells branch={line} isSelected={isSelected} toggle={(each) => latest.current(each)} />;
  }, [line, isSelected, line.isOpen, line.depth, ...shown]);
}

/** As far to the right as it is deep; more than this would leave no room for words. */
const DEPTH_SHOWN_MAX = 8;

function indent(depth: number): Readonly<Record<string, number>> {
  return { "--depth": Math.min(depth, DEPTH_SHOWN_MAX) };
}

function FoldCell({ fold }: { readonly fold: Fold<Row> }) {
  return (
    <span role="gridcell" class="session" style={indent(fold.depth)}>
      <span class="twist" aria-hidden="true">
        <Icon name={fold.isOpen ? "down" : "right"} />
      </span>
      <span class="soft">{whole(fold.count)} ended</span>
      {fold.failed > 0 && <Dot is="bad">{whole(fold.failed)} failed</Dot>}
    </span>
  );
}

interface CellsParts extends Pick<LineParts, "isSelected" | "toggle"> {
  readonly branch: Branch<Row>;
}

function Cells({ branch, isSelected, toggle }: CellsParts) {
  const { row } = branch;
  const why = whyIn(row, whoIs);
  return (
    <>
      <Named branch={branch} toggle={toggle} />
      <span role="gridcell" class="state-cell" title={sayState(row)}>
        <State row={row} />
        {why !== "" && <span class="why">{why}</span>}
      </span>
      <span role="gridcell" class="class soft">
        {row.class ?? "–"}
      </span>
      <span role="gridcell" class="model soft" title={clean(row.model)}>
        {modelName(row.model)}
      </span>
      <span role="gridcell" class="context">
        <Gauge
          part={row.contextTokens}
          of={row.windowTokens}
          label="Context"
          what={`${count(row.windowTokens)} tokens`}
        />
      </span>
      <span role="gridcell" class="tokens">
        {count(row.tokens)}
      </span>
      <span role="gridcell" class="cost">
        {money(row.cost)}
      </span>
      <span role="gridcell" class="age soft">
        <Age at={row.bornAt} />
      </span>
      <span role="gridcell" class="changed soft">
        <Ago at={row.updatedAt} />
      </span>
      <span role="gridcell" class="deeds">
        <Menu
          label={`What can be done to ${nameOf(row)}`}
          deeds={() => deedsOf(row, KEYS)}
          isStop={isSelected}
        />
      </span>
    </>
  );
}

/** All of it, for who points at it: the column may be narrow. */
function sayState({ why, state, class: of }: Row): string {
  return `${clean(why ?? state)}${of === null ? "" : ` · ${of}`}`;
}

/** By itself: it is another one every second, and the rest of the line is not. */
function Age({ at }: { readonly at: string }) {
  return <>{age(since(at))}</>;
}

function Named({ branch, toggle }: { readonly branch: Branch<Row>; readonly toggle: LineParts["toggle"] }) {
  const { row, depth, isParent, isOpen } = branch;
  const { name, key, words } = calledOf(row);
  const isFar = branch.above === null && row.parent !== null;
  return (
    <span role="gridcell" class="session" style={indent(depth)}>
      {isParent ? (
        <button
          type="button"
          class="twist"
          tabIndex={-1}
          aria-label={isOpen ? "Close what is below it" : "Open what is below it"}
          onClick={(event: MouseEvent) => {
            event.stopPropagation();
            toggle(branch);
          }}
        >
          <Icon name={isOpen ? "down" : "right"} />
        </button>
      ) : (
        <span class="twist" />
      )}
      <a
        class={words === "" ? "name" : "name own"}
        href={hrefOf("session", row.sessionKey)}
        title={`${name} · ${row.sessionKey}`}
        tabIndex={-1}
      >
        {name}
      </a>
      {row.pinned && (
        <span class="pinned" role="img" aria-label="pinned" title="Pinned: upkeep never takes it">
          <Icon name="pin" />
        </span>
      )}
      {isFar && (
        <span class="tag" title={`A child of ${row.parent}`}>
          of {whoIs(row.parent ?? "")}
        </span>
      )}
      {key !== "" && (
        <span class="mono soft" title={row.sessionKey}>
          {key}
        </span>
      )}
      {words !== "" && (
        <span class="words soft" title={words}>
          {words}
        </span>
      )}
    </span>
  );
}
