import { callsIn, isBlobName, type Entry } from "../../../../src/transcript/entry.ts";
import { Kept, Lines, textIn } from "./content.tsx";

/** What it was called with; what was too long for its line is read when it is wanted. */
export function Given(parts: {
  readonly entry: Entry;
  readonly id: string;
  readonly given: Readonly<Record<string, unknown>>;
  readonly sessionKey: string;
}) {
  const { entry, id, given, sessionKey } = parts;
  if (Object.keys(given).length === 0) return <p class="soft">without arguments</p>;
  const blob = callsIn(entry).find((each) => each.id === id)?.blob;
  if (!isBlobName(blob)) return <Lines text={JSON.stringify(given, null, 2)} />;
  return <Kept blob={blob} sessionKey={sessionKey} head={<Lines text={textIn(given["spilled"])} />} />;
}
