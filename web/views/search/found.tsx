// What was found, by session. Every hit is a link to its entry.

import { Button } from "../../parts/button.tsx";
import { Marked } from "../../parts/marked.tsx";
import { shortKey, Title } from "../../parts/text.tsx";
import { hrefOf, place, replace } from "../../state/place.ts";
import { useRow } from "../../state/rows.ts";
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
  const title = row?.title ?? "";
  const isAlone = place.value.query["session"] === sessionKey;
  return (
    <section class="found" aria-label={sessionKey}>
      <header>
        <h2>
          <a href={hrefOf("session", sessionKey)}>
            {title === "" ? shortKey(sessionKey) : <Title text={title} />}
          </a>
        </h2>
        <code class="soft key">{sessionKey}</code>
        {!isAlone && (
          <Button
            look="quiet"
            label={`Only here: search in ${sessionKey}`}
            onClick={() => replace({ ...place.value.query, session: sessionKey })}
          >
            Only here
          </Button>
        )}
      </header>
      <ol>
        {hits.map(({ seq, snippet }) => (
          <li key={seq}>
            <a data-step href={hrefOf("session", sessionKey, { seq: String(seq) })}>
              <span class="seq" title={`entry ${seq}`}>
                {seq}
              </span>
              <span class="snippet">
                <Marked text={snippet} asked={asked} />
              </span>
            </a>
          </li>
        ))}
      </ol>
    </section>
  );
}
