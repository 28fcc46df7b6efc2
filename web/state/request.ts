// The id of a request: what is sent again because nobody answered has the same one, and is done once. A page that is not served safely
// has no crypto.randomUUID, so it is made of bytes.

/** The same content has the same id: asked again after a lost answer, it is done once. What was changed meanwhile is another. */
export function idsByContent(): (content: string) => string {
  const made = new Map<string, string>();
  return (content) => {
    const id = made.get(content) ?? requestId();
    made.set(content, id);
    return id;
  };
}

export function requestId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return `page-${Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("")}`;
}
