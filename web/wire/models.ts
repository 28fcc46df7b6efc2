// The models that can be chosen.

import type { Output } from "../../src/calls/door.ts";

export type Models = Output<"models">;

/** Short names first; last, and marked, those whose provider nobody has given a key. */
export function modelChoices(models: Models | null): readonly (readonly [value: string, label: string])[] {
  if (models === null) return [];
  const all = [
    ...Object.entries(models.aliases).map(([alias, id]) => ({ value: alias, id, label: `${alias} (${id})` })),
    ...models.models.map(({ id }) => ({ value: id, id, label: id })),
  ];
  return [
    ...all.filter(({ id }) => !isLocked(models, id)).map(({ value, label }) => [value, label] as const),
    ...all
      .filter(({ id }) => isLocked(models, id))
      .map(({ value, label }) => [value, `${label}: no key found`] as const),
  ];
}

/** A message for it would fail: nobody has given its provider a key. */
export function isLocked({ providers }: Models, id: string): boolean {
  return providers.some((each) => needsKey(each) && id.startsWith(`${each.provider}/`));
}

/** A server of one's own often needs none. The rehearsal is no provider. */
function needsKey({ hasKey, api }: Models["providers"][number]): boolean {
  return !hasKey && api !== "openai-compatible";
}
