// Sessions that are out of the way: sought, brought back, erased.

import { useEffect, useState } from "preact/hooks";
import { Fault } from "../../../src/base/fault.ts";
import { bytes, many, whole } from "../../../src/base/figures.ts";
import { oneLine } from "../../../src/base/harmless.ts";
import { Button } from "../../parts/button.tsx";
import { ask } from "../../parts/dialog.tsx";
import { Empty, Loading, Trouble } from "../../parts/empty.tsx";
import { Menu } from "../../parts/menu.tsx";
import { SearchField } from "../../parts/search-field.tsx";
import { Ago, shortKey, Title } from "../../parts/text.tsx";
import { tell, tried } from "../../parts/toast.tsx";
import { useAsked } from "../../state/asking.ts";
import { useLate } from "../../state/late.ts";
import { place, replace, stillHere } from "../../state/place.ts";
import { call } from "../../wire/call.ts";
import { lacking } from "../../wire/scope.ts";
import { restored } from "../restoring.ts";
import { archivedWords, wantedOf, type ArchiveRow } from "./words.ts";

const PAGE_ROWS = 50;

/** `isBusy`: upkeep runs, and there may be others when it is done. */
export function Archives({ isBusy, after }: { readonly isBusy: boolean; readonly after: () => void }) {
  const typed = place.value.query["archive"] ?? "";
  const sought = useLate(typed);
  const [pages, setPages] = useState(1);
  useEffect(() => setPages(1), [sought]);
  const { value, fault, again } = useAsked(
    async (signal) => await found(sought, pages, signal),
    [sought, pages, isBusy],
  );
  const [kept, setKept] = useState<Found | null>(null);
  useEffect(() => {
    if (value !== null) setKept(value);
  }, [value]);
  const shown = value ?? kept;
  const changed = (): void => {
    again();
    after();
  };
  return (
    <section aria-labelledby="archives">
      <div class="head">
        <h2 id="archives">Archives</h2>
        <SearchField
          label="Find archives"
          placeholder="Agent, key or id"
          value={typed}
          onText={(text) => replace({ ...place.value.query, archive: text })}
        />
      </div>
      {fault !== null && <Trouble fault={fault} again={again} />}
      {shown === null && fault === null && <Loading what="archives" />}
      {shown !== null && fault === null && <Rows found={shown} sought={sought} after={changed} />}
      {shown?.next != null && fault === null && (
        <p class="more">
          <Button onClick={() => setPages(pages + 1)}>Show more</Button>
        </p>
      )}
    </section>
  );
}

interface Found {
  readonly archives: readonly ArchiveRow[];
  readonly next: string | null;
}

/** So many pages, from the first on: so what was erased or brought back is gone from all of them. */
async function found(sought: string, pages: number, signal: AbortSignal): Promise<Found> {
  const archives: ArchiveRow[] = [];
  let next: string | null = null;
  for (let page = 0; page < pages && (page === 0 || next !== null); page += 1) {
    const cursor: string | null = next;
    const told: Found = await call(
      "archives",
      { ...wantedOf(sought), limit: PAGE_ROWS, ...(cursor === null ? {} : { cursor }) },
      signal,
    );
    archives.push(...told.archives);
    next = told.next;
  }
  return { archives, next };
}

function Rows({
  found: { archives },
  sought,
  after,
}: {
  readonly found: Found;
  readonly sought: string;
  readonly after: () => void;
}) {
  if (archives.length === 0)
    return sought === "" ? (
      <Empty title="No archives">
        A session that is archived is out of every list, packed, and comes back as it was. Upkeep archives
        what is old; you can archive any session from its menu.
      </Empty>
    ) : (
      <Empty title="No archive is like that">
        Write the name of an agent, the key of a session, or at least six characters of an archive's id.
      </Empty>
    );
  return (
    <table class="table archives">
      <thead>
        <tr>
          <th scope="col">Session</th>
          <th scope="col">Why</th>
          <th scope="col">Archived</th>
          <th scope="col" class="figure">
            Entries
          </th>
          <th scope="col" class="figure">
            On the disk
          </th>
          <th scope="col">
            <span class="hidden">What can be done</span>
          </th>
        </tr>
      </thead>
      <tbody>
        {archives.map((row) => (
          <Row key={row.id} row={row} after={after} />
        ))}
      </tbody>
    </table>
  );
}

function Row({ row, after }: { readonly row: ArchiveRow; readonly after: () => void }) {
  const { sessionKey, title, archivedAt, entries, packedBytes } = row;
  const name = shortKey(sessionKey);
  return (
    <tr>
      <td class="name" title={sessionKey}>
        {name}
        <small class="about">
          <Title text={title} />
        </small>
      </td>
      <td>{archivedWords(row)}</td>
      <td>
        <Ago at={archivedAt} />
      </td>
      <td class="figure">{whole(entries)}</td>
      <td class="figure">{bytes(packedBytes ?? row.bytes)}</td>
      <td class="deeds">
        <Button
          label={`Restore ${name}`}
          unless={lacking("operate")}
          onClick={() => void restore(row, after)}
        >
          Restore
        </Button>
        <Menu
          label={`More for ${name}`}
          deeds={[
            {
              name: "Erase…",
              icon: "trash",
              isDangerous: true,
              unless: lacking("operate"),
              run: () => void erase(row, after),
            },
          ]}
        />
      </td>
    </tr>
  );
}

/** What was put away below it may come along; a session that has its key now is put in its place only by who agrees. */
async function restore(row: ArchiveRow, after: () => void): Promise<void> {
  const isHere = stillHere();
  const below = await tried(call("archives", { parent: row.sessionKey, limit: PAGE_ROWS }));
  if (below === null) return;
  if (below.archives.length === 0) return await brought(row, { tree: false }, after);
  const number = `${below.archives.length}${below.next === null ? "" : " or more"}`;
  let wishes = { tree: false };
  const isAgreed = await ask({
    title: `Restore ${shortKey(row.sessionKey)}`,
    text: `${number} ${below.archives.length === 1 ? "session that was" : "sessions that were"} born below it ${below.archives.length === 1 ? "is" : "are"} archived too.`,
    fields: [
      {
        name: "tree",
        label: "What comes back",
        kind: "choice",
        value: "yes",
        choices: [
          ["yes", "it, and all that is below it"],
          ["no", "it alone"],
        ],
      },
    ],
    verb: "Restore",
    isHere,
    run: async ({ tree }) => void (wishes = { tree: tree === "yes" }),
  });
  if (isAgreed) await brought(row, wishes, after);
}

async function brought(
  row: ArchiveRow,
  { tree }: { readonly tree: boolean },
  after: () => void,
): Promise<void> {
  const name = shortKey(row.sessionKey);
  const isHere = stillHere();
  const back = async (swap: boolean): Promise<void> => {
    const { below, away } = await restored({ id: row.id, below: tree ? "all" : "none", swap });
    const others = [
      below > 0 ? `, with ${many(below, "session")} below it` : "",
      away > 0 ? `; ${away} below it stay archived` : "",
    ];
    tell(`${name} is back${others.join("")}`);
  };
  try {
    await back(false);
  } catch (error) {
    if (!(error instanceof Fault) || error.code !== "exists") {
      await tried(Promise.reject(error));
      return after();
    }
    await ask({
      title: `${name} has a session now`,
      text: "Restore this archive in its place? The session that is there now becomes an archive in the same moment, and can be brought back.",
      verb: "Restore, and archive that one",
      isHere,
      run: async () => await back(true),
    });
  }
  after();
}

async function erase(row: ArchiveRow, after: () => void): Promise<void> {
  const { id, sessionKey, title, entries, packedBytes } = row;
  const isDone = await ask({
    title: "Erase this archive?",
    text: (
      <>
        <strong>{sessionKey}</strong>
        {title !== "" && `, “${oneLine(title)}”`}: {many(entries, "entry", "entries")},{" "}
        {bytes(packedBytes ?? row.bytes)}. It is erased for good, and cannot be brought back.
      </>
    ),
    verb: "Erase",
    isDangerous: true,
    run: async () => await call("purgeArchive", { id }),
  });
  if (isDone) tell(`The archive of ${shortKey(sessionKey)} is erased`);
  after();
}
