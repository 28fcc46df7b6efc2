// Which sessions are wanted, how many there are, and what goes on.

import { useEffect, useRef, useState } from "preact/hooks";
import { many, whole } from "../../../src/base/figures.ts";
import { KINDS, STATES } from "../../../src/calls/words.ts";
import { Button } from "../../parts/button.tsx";
import { SearchField } from "../../parts/search-field.tsx";
import { replace } from "../../state/place.ts";
import { lacking } from "../../wire/scope.ts";
import { spawn } from "../deeds.tsx";
import { Progress } from "../exporting.tsx";
import type { Listing } from "./listing.ts";
import { queryOf, type Wanted } from "./wanted.ts";

interface HeadParts {
  readonly listing: Listing;
  readonly agents: readonly string[];
}

export function Head({ listing, agents }: HeadParts) {
  const { wanted } = listing;
  return (
    <header class="processes-head">
      <h1>Processes</h1>
      <p class="counts soft">{countsOf(listing)}</p>
      <div class="filters" role="search" aria-label="Filter sessions">
        <Words wanted={wanted} />
        <Choice name="agent" any="Any agent" of={agents} wanted={wanted} />
        <Choice name="kind" any="Any kind" of={KINDS} wanted={wanted} />
        <Choice name="state" any="Any state" of={STATES} wanted={wanted} />
      </div>
      <Button icon="plus" look="main" unless={lacking("operate")} onClick={() => void spawn(null)}>
        Spawn
      </Button>
      <Progress beside={null} />
    </header>
  );
}

/** What goes on now, as far as it is known: whatever does something is always fetched. */
function countsOf({ forest, isWhole }: Listing): string {
  const states = (["running", "waiting", "queued", "paused"] as const).flatMap((state) =>
    forest.count(state) === 0 ? [] : [`${whole(forest.count(state))} ${state}`],
  );
  const all = isWhole ? many(forest.size, "session") : `${whole(forest.size)} of more sessions`;
  return [all, ...states].join(" · ");
}

function want(wanted: Wanted, name: keyof Wanted, value: string): void {
  replace({ ...queryOf(wanted), [name]: value });
}

interface ChoiceParts {
  readonly name: "agent" | "kind" | "state";
  readonly any: string;
  readonly of: readonly string[];
  readonly wanted: Wanted;
}

function Choice({ name, any, of, wanted }: ChoiceParts) {
  const chosen = wanted[name] ?? "";
  return (
    <select
      aria-label={name}
      class={chosen === "" ? "" : "on"}
      value={chosen}
      onChange={({ currentTarget }: { currentTarget: HTMLSelectElement }) =>
        want(wanted, name, currentTarget.value)
      }
    >
      <option value="" selected={chosen === ""}>
        {any}
      </option>
      {of.map((each) => (
        <option key={each} value={each} selected={each === chosen}>
          {each}
        </option>
      ))}
    </select>
  );
}

/** Who types is waited for: a question for each letter would be for nothing. */
const TYPING_MS = 200;

function Words({ wanted }: { readonly wanted: Wanted }) {
  const [text, setText] = useState(wanted.text);
  const asked = useRef(wanted.text);
  if (asked.current !== wanted.text) {
    asked.current = wanted.text; // It came from the address.
    if (text.trim() !== wanted.text.trim()) setText(wanted.text);
  }
  useEffect(() => {
    if (text === wanted.text) return;
    const timer = setTimeout(() => want(wanted, "text", text), TYPING_MS);
    return () => clearTimeout(timer);
  }, [text, wanted]);
  return (
    <SearchField
      label="Words of the title or the key"
      placeholder="Filter by words"
      value={text}
      onText={setText}
    />
  );
}
