// A configuration as lines, each with the name by which it is set: agents.main.model = "fast". An empty object or list is a line.

export interface Line {
  readonly name: string;
  readonly value: string; // JSON
}

export function linesOf(value: unknown, name = ""): readonly Line[] {
  if (typeof value !== "object" || value === null) return [{ name, value: JSON.stringify(value) ?? "null" }];
  const below = Object.entries(value).flatMap(([each, inner]) => linesOf(inner, nameBelow(name, each)));
  return below.length === 0 ? [{ name, value: Array.isArray(value) ? "[]" : "{}" }] : below;
}

function nameBelow(name: string, each: string): string {
  return name === "" ? each : `${name}.${each}`;
}

/** Those that have all the words, in name or value. */
export function linesWith(lines: readonly Line[], text: string): readonly Line[] {
  const words = text.toLowerCase().trim().split(/\s+/);
  return lines.filter(({ name, value }) => {
    const line = `${name} ${value}`.toLowerCase();
    return words.every((word) => line.includes(word));
  });
}

/** By the first part of their name; what has no other stands first, together. */
export function sectionsOf(lines: readonly Line[]): ReadonlyMap<string, readonly Line[]> {
  const [alone, others] = [lines.filter(isAlone), lines.filter((each) => !isAlone(each))];
  return Map.groupBy([...alone, ...others], (line) =>
    isAlone(line) ? ALONE : line.name.slice(0, line.name.indexOf(".")),
  );
}

const ALONE = "general";

function isAlone({ name }: Line): boolean {
  return !name.includes(".");
}
