// What somebody may have meant who misspelt a word.

export function instead(key: string, known: readonly string[]): string {
  const near = nearest(key, known);
  return near === null ? `there are ${known.join(", ")}` : `did you mean ${near}?`;
}

/** Null: none is near. Two edits in a short word make another word: more than half of it has to be left. */
export function nearest(key: string, known: readonly string[]): string | null {
  for (const edits of [1, 2]) {
    const near = known.find((each) => edits * 2 < each.length && isNear(key, each, edits));
    if (near !== undefined) return near;
  }
  return null;
}

/** Whether that many edits make one of the other: a letter more, one less, another one, or two changed over. */
function isNear(one: string, other: string, edits: number): boolean {
  if (Math.abs(one.length - other.length) > edits) return false;
  let same = 0;
  while (same < one.length && one[same] === other[same]) same += 1;
  const [a, b] = [one.slice(same), other.slice(same)];
  if (a === b) return true;
  if (edits === 0) return false;
  const swapped = a[0] === b[1] && a[1] === b[0];
  return (
    isNear(a.slice(1), b, edits - 1) ||
    isNear(a, b.slice(1), edits - 1) ||
    isNear(a.slice(1), b.slice(1), edits - 1) ||
    (swapped && isNear(a.slice(2), b.slice(2), edits - 1))
  );
}
