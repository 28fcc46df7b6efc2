// Where a session should be, and is none: it is archived, was never there, is gone, or the address names none at all.

import { many } from "../../../src/base/figures.ts";
import { oneLine } from "../../../src/base/harmless.ts";
import type { Output } from "../../../src/calls/door.ts";
import { Button } from "../../parts/button.tsx";
import { clock } from "../../parts/clock.ts";
import { Empty, Loading } from "../../parts/empty.tsx";
import { Title } from "../../parts/text.tsx";
import { tell, tried } from "../../parts/toast.tsx";
import { useAsked } from "../../state/asking.ts";
import { hrefOf } from "../../state/place.ts";
import { call } from "../../wire/call.ts";
import { lacking } from "../../wire/scope.ts";
import { restored } from "../restoring.ts";
import { Composer } from "./composer.tsx";
import { Pending } from "./pending.tsx";

interface MissingParts {
  readonly sessionKey: string;
  readonly isKey: boolean; //     a session could have it
  readonly wasThere: boolean; //  while somebody looked
  readonly again: () => void; //  it is there again
}

type Archive = Output<"archives">["archives"][number];

export function Missing(parts: MissingParts) {
  const { sessionKey, isKey } = parts;
  const { value, fault } = useAsked((signal) => newestOf(sessionKey, isKey, signal), [sessionKey, isKey]);
  if (value === null && fault === null) return <Loading what="what is known of it" />;
  return value === null || value.archive === null ? (
    <Nowhere {...parts} />
  ) : (
    <Archived archive={value.archive} again={parts.again} />
  );
}

async function newestOf(
  sessionKey: string,
  isKey: boolean,
  signal: AbortSignal,
): Promise<{ readonly archive: Archive | null }> {
  if (!isKey) return { archive: null };
  const { archives } = await call("archives", { sessionKey, limit: 1 }, signal);
  return { archive: archives[0] ?? null };
}

function Archived({ archive, again }: { readonly archive: Archive; readonly again: () => void }) {
  const { id, sessionKey, title, entries, archivedAt } = archive;
  return (
    <div class="session-view">
      <div class="talk">
        <Empty title={`Archived on ${clock(archivedAt, "whole")}`}>
          <p>
            {title !== "" && (
              <>
                “<Title text={title} />
                ”,{" "}
              </>
            )}
            {many(entries, "entry", "entries")}. It is out of every list, and comes back as it was.
          </p>
          <p>
            <Button look="main" unless={lacking("operate")} onClick={() => void restore(id, again)}>
              Restore
            </Button>
          </p>
          <Elsewhere sessionKey={sessionKey} />
        </Empty>
        <Pending sessionKey={sessionKey} mayWrite={false} />
      </div>
    </div>
  );
}

/** With what went along with it. */
async function restore(id: string, again: () => void): Promise<void> {
  const back = await tried(restored({ id, below: "together" }));
  if (back === null) return;
  tell(`It is back${back.below === 0 ? "" : `, with ${many(back.below, "session")} below it`}.`);
  again();
}

/** A key that is right, and of which there is no session, may be written to: that opens it. */
function Nowhere({ sessionKey, isKey, wasThere }: MissingParts) {
  const mayOpen = isKey && !wasThere;
  return (
    <div class="session-view">
      <div class="talk">
        <Empty title={wasThere ? "This session is not here any more" : "There is no such session"}>
          {wasThere ? null : isKey ? (
            <p>Nobody has written to {sessionKey} yet. A message to it opens it.</p>
          ) : (
            <p>
              No session can be called “{oneLine(sessionKey.slice(0, KEY_CHARS))}”. Is the address complete?
            </p>
          )}
          <Elsewhere sessionKey={sessionKey} />
        </Empty>
        <Pending sessionKey={sessionKey} mayWrite={mayOpen && lacking("operate") === undefined} />
        {mayOpen && (
          <Composer sessionKey={sessionKey} row={null} status={null} placeholder="A message opens it" />
        )}
      </div>
    </div>
  );
}

/** Of what somebody may have typed. */
const KEY_CHARS = 120;

function Elsewhere({ sessionKey }: { readonly sessionKey: string }) {
  return (
    <p>
      <a href={hrefOf("processes")}>All sessions</a> ·{" "}
      <a href={hrefOf("upkeep", null, { archive: sessionKey })}>Archives</a> ·{" "}
      <a href={hrefOf("search")}>Search</a>
    </p>
  );
}
