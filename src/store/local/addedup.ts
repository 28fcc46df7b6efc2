import type { Use } from "../store.ts";
import type { Questions } from "./reader.ts";

type Ask = <What extends "added" | "older" | "shelved">(
  what: What,
  ask: Questions[What]["ask"],
) => Promise<Questions[What]["answer"]>;

/** In parts, as everybody waits for the reader: what changes meanwhile may be counted or not. */
export async function addedUp(ask: Ask): Promise<Omit<Use, "blobs">> {
  const [newest, older, archives] = [
    await sumOf((after) => ask("added", { after }), 0),
    await sumOf((after) => ask("older", { after }), 0),
    await sumOf((after) => ask("shelved", { after }), [0, ""] as readonly [number, string]),
  ];
  return { sessions: newest.sessions, transcripts: newest.bytes + older.bytes, archives: archives.bytes };
}

/** `sessions` is 0 for what is none. */
async function sumOf<Place>(
  ask: (
    after: Place,
  ) => Promise<{ readonly bytes: number; readonly sessions?: number; readonly last: Place | null }>,
  first: Place,
): Promise<{ readonly bytes: number; readonly sessions: number }> {
  let [bytes, sessions] = [0, 0];
  for (let after: Place | null = first; after !== null;) {
    const some: Awaited<ReturnType<typeof ask>> = await ask(after);
    bytes += some.bytes;
    sessions += some.sessions ?? 0;
    after = some.last;
  }
  return { bytes, sessions };
}
