// The children of a session: those with a task in flight first, and of each the oldest, as in the table. Each line is live by itself.

import { useState } from "preact/hooks";
import { count, money } from "../../../src/base/figures.ts";
import type { Output } from "../../../src/calls/door.ts";
import { Button } from "../../parts/button.tsx";
import { Empty, Loading, Trouble } from "../../parts/empty.tsx";
import { Menu } from "../../parts/menu.tsx";
import { State } from "../../parts/state.tsx";
import { useAsked } from "../../state/asking.ts";
import { hrefOf } from "../../state/place.ts";
import { learn, useRow } from "../../state/rows.ts";
import { call } from "../../wire/call.ts";
import { deedsOf } from "../deeds.tsx";
import { calledOf, nameOf } from "../named.ts";
import { useRefreshed } from "./refreshed.ts";

type Child = Output<"children">["children"][number];

const PAGE = 50;

export function ChildrenPanel({ sessionKey }: { readonly sessionKey: string }) {
  const [limit, setLimit] = useState(PAGE);
  const { value, fault, again } = useAsked(
    async (signal) => {
      const page = await childrenOf(sessionKey, limit, signal);
      learn(page.children);
      return page;
    },
    [sessionKey],
  );
  useRefreshed(sessionKey, again);
  if (value === null)
    return fault === null ? <Loading what="the children" /> : <Trouble fault={fault} again={again} />;
  if (value.children.length === 0)
    return (
      <Empty title="No children">When it gives a task to a sub-agent, that stands here while it works.</Empty>
    );
  const sorted = value.children
    .toReversed()
    .toSorted(
      (one, other) =>
        Number(isInFlight(other, other)) - Number(isInFlight(one, one)) ||
        one.bornAt.localeCompare(other.bornAt),
    );
  return (
    <>
      {value.isMore && (
        <p class="children-more soft">
          The {value.children.length} newest.
          <Button
            look="quiet"
            onClick={() => {
              setLimit(limit + PAGE);
              again();
            }}
          >
            Show older ones
          </Button>
        </p>
      )}
      <ul class="children">
        {sorted.map((child) => (
          <ChildLine key={child.sessionKey} child={child} />
        ))}
      </ul>
    </>
  );
}

/** So many of the newest; pages have a bound of their own. */
async function childrenOf(
  sessionKey: string,
  limit: number,
  signal: AbortSignal,
): Promise<{ readonly children: readonly Child[]; readonly isMore: boolean }> {
  const children: Child[] = [];
  let cursor: string | null = null;
  do {
    const given = { sessionKey, limit: PAGE, ...(cursor === null ? {} : { cursor }) };
    const page: Output<"children"> = await call("children", given, signal);
    children.push(...page.children);
    cursor = page.next;
  } while (cursor !== null && children.length < limit);
  return { children, isMore: cursor !== null };
}

/** One that has ended may be waited for still: its report is on its way to who reads it. It works no more. */
function isInFlight({ inFlight }: Child, { state }: Pick<Child, "state">): boolean {
  return inFlight && state !== "ended" && state !== "idle";
}

function ChildLine({ child }: { readonly child: Child }) {
  const row = useRow(child.sessionKey) ?? child;
  const { name, key } = calledOf(row);
  return (
    <li>
      <div class="who">
        <a href={hrefOf("session", child.sessionKey)}>{name}</a>
        {key !== "" && <small class="mono">{key}</small>}
      </div>
      <div class="how">
        <State row={row} />
        {isInFlight(child, row) && <span class="tag">in flight</span>}
        <small>
          {count(row.tokens)} · {money(row.cost)}
        </small>
      </div>
      <Menu label={`What can be done to ${nameOf(row)}`} deeds={() => deedsOf(row)} />
    </li>
  );
}
