// The sections of a summary: fixed headings, so that each can be looked for, gone on from and mended.

import { inBytes, LINE_END } from "./clip.ts";

export const SECTIONS = [
  "## Goal",
  "## Standing instructions",
  "## Done",
  "## State",
  "## Decisions",
  "## Open questions",
  "## Identifiers",
  "## Next",
] as const;

export type Section = (typeof SECTIONS)[number];

/** What stands under each heading. A section that is not there is not in it. */
export type Bodies = ReadonlyMap<Section, string>;

/** What a section says that has nothing to say. */
const NOTHING = "- none";

const NAMES: ReadonlyMap<string, Section> = new Map(
  SECTIONS.map((section) => [section.slice(3).toLowerCase(), section]),
);

/** What heads a line of a list, or ends a block of code. */
const BULLET = /^\s*(?:[-*•+]|\d{1,3}[.)])\s+/;

/** Models write headings at any level, with a colon, bold, in capitals: all of these count. */
function headingIn(line: string): Section | null {
  if (line.length > 80 || !line.includes("#")) return null;
  const name = /^ {0,3}#{1,6}\s+(.+)$/.exec(line)?.[1] ?? "";
  return (
    NAMES.get(
      name
        .replaceAll(/[*_:#]/g, "")
        .trim()
        .toLowerCase(),
    ) ?? null
  );
}

/** What stands before the first heading is left out: it is no part of a summary. Nothing in it looks like a heading of ours. */
export function bodiesIn(text: string): Bodies {
  const lines = new Map<Section, string[]>();
  let section: Section | null = null;
  for (const line of text.split(LINE_END)) {
    const heading = headingIn(line);
    if (heading !== null && !lines.has(heading)) lines.set(heading, []);
    if (heading !== null) section = heading;
    else if (section !== null) lines.get(section)?.push(line.trimEnd());
  }
  return new Map([...lines].map(([each, body]) => [each, said(body)]));
}

function said(lines: readonly string[]): string {
  const body = harmless(lines).join("\n").trim();
  return isNothing(body) ? "" : body;
}

/**
 * Lines of a body, so that whoever reads the summary finds no headings but its sections: after it stand other parts, which are
 * ours alone. A heading is put behind a bar, and so is all that stands under a large one. Fences go: one that is left open would
 * hide what follows.
 */
export function harmless(lines: readonly string[]): readonly string[] {
  let isOther = false;
  return lines
    .filter((line) => !FENCE.test(line))
    .map((line) => {
      isOther ||= LARGE.test(line);
      const isHarmless = line === "" || line.startsWith("|");
      return !isHarmless && (isOther || MARKED.test(line)) ? `| ${line.trimStart()}` : line;
    });
}

const FENCE = /^\s*(?:`{3,}|~{3,})[\w+.-]*\s*$/;
const LARGE = /^\s*#{1,2}(?![#\d])/;

/** A heading, what makes one of the line before it, or a fence with words after it. */
const MARKED = /^\s*(?:#|=+\s*$|-{2,}\s*$|`{3}|~{3})/;

function isNothing(line: string): boolean {
  return /^[-*•\s(]*(?:none|nothing|n\/a)?[.)\s]*$/i.test(line);
}

/** The lines of a section without what heads them; none: it is not there, or says that there are none. */
export function listedIn(text: string, section: Section): readonly string[] {
  const body = bodiesIn(text).get(section) ?? "";
  return body
    .split("\n")
    .map((line) => line.replace(BULLET, "").trim())
    .filter((line) => !isNothing(line));
}

/** Everything that belongs under the headings. */
export interface Filling {
  /** Lines that matter most, the first of them before all others: they are there, or do not fit. */
  readonly firm: readonly { readonly section: Section; readonly line: string }[];
  /** What fills the room that is left. */
  readonly soft: Bodies;
}

/** All sections, in at most so many bytes, whatever is to be said in them. The headings alone take some 120. */
export function filled({ firm, soft }: Filling, bytesMax: number): string {
  const frame = SECTIONS.reduce((bytes, section) => bytes + Buffer.byteLength(section) + 2, 0);
  let room = bytesMax - frame;
  const lines = new Map<Section, string[]>(SECTIONS.map((section) => [section, []]));
  for (const { section, line } of firm) {
    const bytes = Buffer.byteLength(line) + 1;
    if (bytes > room) continue;
    lines.get(section)?.push(line);
    room -= bytes;
  }
  const softly = shared(soft, room);
  for (const section of SECTIONS) {
    if (softly.has(section) || lines.get(section)?.length !== 0) continue;
    if (room < (NOTHING.length + 1) * SECTIONS.length) continue; // There is hardly room for the headings.
    lines.get(section)?.push(NOTHING);
  }
  const parts = SECTIONS.map((section) => {
    const body = [softly.get(section) ?? "", ...(lines.get(section) ?? [])].filter((each) => each !== "");
    return [section, ...body].join("\n");
  });
  return parts.join("\n\n");
}

/** Short ones whole, and what is left of the room in equal parts for the others. */
function shared(soft: Bodies, room: number): Bodies {
  const out = new Map<Section, string>();
  let left = room - (NOTHING.length + 1) * SECTIONS.length;
  const bodies = [...soft].filter(([, body]) => body !== "");
  const bySize = bodies
    .map(([section, body]) => ({ section, body, bytes: Buffer.byteLength(body) + 1 }))
    .toSorted((a, b) => a.bytes - b.bytes);
  for (const [at, { section, body, bytes }] of bySize.entries()) {
    const share = Math.floor(left / (bySize.length - at));
    if (share < 40) break; // less would say nothing
    out.set(section, inBytes(body, share - 1));
    left -= Math.min(share, bytes);
  }
  return out;
}
