// Events of a server as they come over HTTP (text/event-stream): blocks of lines, with an empty line between them.

/** `id` is null where the block has none: nothing can be gone on from. */
export interface Sent {
  readonly type: string;
  readonly id: string | null;
  readonly data: string;
}

/** What keeps the connection alive is left out. A block that is cut off at the end was never sent whole: it is left out too. */
export async function* eventsIn(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Sent, void> {
  const decoder = new TextDecoder();
  let rest = "";
  let lines: string[] = [];
  for await (const chunk of chunks) {
    const pieces = (rest + decoder.decode(chunk, { stream: true })).split(/\r?\n/);
    rest = pieces.pop() ?? "";
    for (const line of pieces) {
      if (line !== "") {
        lines.push(line);
        continue;
      }
      const sent = sentIn(lines);
      lines = [];
      if (sent !== null) yield sent;
    }
  }
}

/** Null: only comments. */
function sentIn(lines: readonly string[]): Sent | null {
  let [type, id, data]: [string, string | null, string | null] = ["message", null, null];
  for (const line of lines) {
    const [, name, value = ""] = /^([^:]*)(?:: ?(.*))?$/s.exec(line) ?? [];
    if (name === "event") type = value;
    else if (name === "id") id = value;
    else if (name === "data") data = data === null ? value : `${data}\n${value}`;
  }
  return data === null ? null : { type, id, data };
}
