// A session as a file, made in the page: the same lines as `sessiond export` writes. Secrets were taken out by the daemon.

import { signal } from "@preact/signals";
import { many, whole } from "../../src/base/figures.ts";
import { exportedLine, exportHead, type ExportFormat, type ExportPage } from "../../src/calls/exported.ts";
import { Button } from "../parts/button.tsx";
import { ask } from "../parts/dialog.tsx";
import { shortKey } from "../parts/key.ts";
import { tell, tried } from "../parts/toast.tsx";
import { rowNow } from "../state/rows.ts";
import { call } from "../wire/call.ts";
import type { Row } from "../wire/events.ts";
import { nameOf } from "./named.ts";

interface Exporting {
  readonly sessionKey: string;
  readonly entries: number; // so far
  readonly of: number; //      0: nobody knows yet
  readonly cancel: () => void;
}

/** One at a time; null: none. */
const exporting = signal<Exporting | null>(null);

const PAGE_ENTRIES = 200;

export const FORMATS: readonly (readonly [format: ExportFormat, name: string])[] = [
  ["jsonl", "As JSONL (its transcript)"],
  ["markdown", "As Markdown (to read)"],
];

export async function askExport(row: Row): Promise<void> {
  let format: ExportFormat = "jsonl";
  const isDone = await ask({
    title: `Export ${nameOf(row)}`,
    fields: [{ name: "format", label: "Format", kind: "choice", choices: FORMATS }],
    verb: "Export",
    run: async (given) => void (format = given["format"] === "markdown" ? "markdown" : "jsonl"),
  });
  if (isDone) await exportAs(row.sessionKey, format);
}

export async function exportAs(sessionKey: string, format: ExportFormat): Promise<void> {
  exporting.value?.cancel();
  const over = new AbortController();
  const mine = (entries: number, of: number): void => {
    if (!over.signal.aborted) exporting.value = { sessionKey, entries, of, cancel: () => over.abort() };
  };
  mine(0, 0);
  over.signal.addEventListener("abort", () => (exporting.value = null));
  const file = await tried(written(sessionKey, format, mine, over.signal));
  if (over.signal.aborted) return; // Half an export is none.
  exporting.value = null;
  if (file === null) return;
  give(file.blob, `${fileOf(sessionKey)}.${format === "jsonl" ? "jsonl" : "md"}`);
  tell(`${many(file.entries, "entry", "entries")} exported.`);
}

async function written(
  sessionKey: string,
  format: ExportFormat,
  told: (entries: number, of: number) => void,
  over: AbortSignal,
): Promise<{ readonly blob: Blob; readonly entries: number }> {
  const pieces: Blob[] = [];
  let entries = 0;
  let from: number | null = 1;
  while (from !== null) {
    const page: ExportPage = await call("entries", { sessionKey, from, limit: PAGE_ENTRIES }, over);
    const head = from === 1 ? exportHead(page, format) : "";
    // A browser may put a Blob on its disk; a text of a hundred thousand entries it may not.
    pieces.push(new Blob([head, ...page.entries.map((entry) => exportedLine(entry, format))]));
    entries += page.entries.length;
    from = page.next;
    told(entries, page.lastSeq);
  }
  return { blob: new Blob(pieces, { type: "text/plain" }), entries };
}

function fileOf(sessionKey: string): string {
  return sessionKey.replaceAll(/[^a-zA-Z0-9._-]+/g, "-");
}

function give(blob: Blob, name: string): void {
  const url = URL.createObjectURL(blob);
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 60_000); // Some browsers read it only after the click is over.
}

function amountOf({ entries, of }: Exporting): string {
  return of === 0
    ? many(entries, "entry", "entries")
    : `${whole(entries)} of ${many(of, "entry", "entries")}`;
}

/** How far it is, and the way out; nothing, while nothing is exported. `beside`: whose it is need not be said there. */
export function Progress({ beside }: { readonly beside: string | null }) {
  const running = exporting.value;
  if (running === null) return null;
  const { sessionKey } = running;
  const row = rowNow(sessionKey);
  const whose = sessionKey === beside ? "" : ` ${row === null ? shortKey(sessionKey) : nameOf(row)}`;
  return (
    <p class="progress" role="status">
      Exporting{whose}: {amountOf(running)} …
      <Button look="quiet" onClick={running.cancel}>
        Cancel
      </Button>
    </p>
  );
}
