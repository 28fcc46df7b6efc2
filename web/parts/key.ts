// Keys of sessions, as people say them.

/** The end of a key: what tells a session from its siblings. */
export function shortKey(key: string): string {
  const parts = key.split(":");
  if (parts[0] !== "agent" || parts.length < 3) return key;
  const [, agent = "", ...rest] = parts;
  const [kind = "", id = ""] = rest.slice(-2);
  if (rest.length === 1) return agent === "main" ? (rest[0] ?? key) : `${agent}:${rest[0]}`;
  if (kind === "run") return `run:${id.slice(-6)}`; // Runs of a job begin alike, with the time.
  return kind === "subagent" ? `sub:${id.slice(0, 8)}` : rest.slice(-2).join(":");
}

/** Every key that words name, as something else. */
export function withKeys(words: string, shown: (key: string) => string): string {
  return words.replaceAll(/\bagent:[\w:%.-]*\w/g, shown);
}
