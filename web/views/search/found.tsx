// What was found, by session. Every hit is a link to its entry.

import { oneLine } from "../../../src/base/harmless.ts";
import { sayerOf } from "../../../src/calls/told.ts";
import { Button } from "../../parts/button.tsx";
import { Marked } from "../../parts/marked.tsx";
import { Ago, shortKey } from "../../parts/text.tsx";
import { hrefOf, place, replace } from "../../state/place.ts";
import { useRow } from "../../state/rows.ts";
import { calledOf } from "../named.ts";
import { grouped, type Group, type Hit } from "./grouped.ts";

export function Found({ hits, asked }: { readonly hits: readonly Hit[]; readonly asked: string }) {
  return (
    <>
      {grouped(hits).map((group) => (
        <OfSession key={group.sessionKey} group={group} asked={asked} />
      ))}
    </>
  );
}

function OfSession({ group, asked }: { readonly group: Group; readonly asked: string }) {
  const { sessionKey, hits } = group;
  const row = useRow(sessionKey);
  const name = row === null ? shortKey(sessionKey) : calledOf(row).name;
  const isAlone = place.value.query["session"] === sessionKey;
  return (
    <section class="found" aria-label={sessionKey}>
      <header>
        <h2>
          <a href={hrefOf("session", sessionKey)}>{name}</a>
        </h2>
        <code class="soft key">{sessionKey}</code>
        {!isAlone && (
          <Button
            look="quiet"
            label={`Only in this session: search in ${sessionKey}`}
            onClick={() => replace({ ...place.value.query, session: sessionKey })}
          >
            Only in this session
          </Button>
        )}
      </header>
      <ol>
        {hits.map((hit) => (
          <li key={hit.seq}>
            <a data-step href={hrefOf("session", sessionKey, { seq: String(hit.seq) })}>
              <Said hit={hit} />
              <span class="snippet">
                <Marked text={hit.snippet} asked={asked} />
              </span>
            </a>
          </li>
        ))}
      </ol>
    </section>
  );
}

/** Who, and when; of an entry that cannot be read, its number alone. */
function Said({ hit }: { readonly hit: Hit }) {
  const who = oneLine(sayerOf(hit));
  const name = who.startsWith("agent:") ? shortKey(who) : who.charAt(0).toUpperCase() + who.slice(1);
  return (
    <span class="meta">
      {who !== "" && (
        <>
          <strong title={who}>{name}</strong>{" "}
        </>
      )}
      {hit.at !== null && (
        <>
          <Ago at={hit.at} />{" "}
        </>
      )}
      <span title={`entry ${hit.seq}`}>#{hit.seq}</span>
    </span>
  );
}
