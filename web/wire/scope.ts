// What the token of this page may. It is asked for at once, and with every connection: what a token may is said by the daemon alone.
// What it said last is kept beside the token, so a page that is loaded again does not begin by offering what it will not have.

import { computed, effect, signal } from "@preact/signals";
import type { Output } from "../../src/calls/door.ts";
import { call } from "./call.ts";
import { connections } from "./socket.ts";
import { markOf, token } from "./token.ts";

type Bearer = Output<"whoami">;
export type Scope = Bearer["scope"];

const KEPT_AS = "sessiond.bearer"; // Who signs out forgets it (token.ts).

const RANK: Readonly<Record<Scope, number>> = { read: 0, operate: 1, admin: 2 };

interface Told extends Bearer {
  readonly of: string; // the mark of the token
}

const told = signal(kept());

/** Whose token it is; null: nobody knows yet. What it may not is refused by the daemon in any case. */
export const bearer = computed<Bearer | null>(() =>
  token.value !== null && told.value?.of === markOf(token.value) ? told.value : null,
);

/** Why what needs this scope cannot be done with this page's token; undefined: it can, or nobody knows yet. */
export function lacking(needed: Scope): string | undefined {
  const { value } = bearer;
  if (value === null || RANK[value.scope] >= RANK[needed]) return undefined;
  return value.scope === "read"
    ? `Read only: the token ${value.name} may look`
    : `It needs a token with the scope ${needed}`;
}

/** Called once. */
export function watchBearer(): void {
  effect(() => {
    const used = token.value;
    void connections.value;
    if (used === null) return;
    void call("whoami", {}).then(
      ({ name, scope }) => {
        if (token.value === used) keep({ of: markOf(used), name, scope });
      },
      () => undefined, // Away, or not known any more: both are told elsewhere.
    );
  });
}

function keep(now: Told): void {
  const { value } = told;
  if (value?.of === now.of && value.name === now.name && value.scope === now.scope) return; // Nothing is drawn again.
  told.value = now;
  try {
    localStorage.setItem(KEPT_AS, JSON.stringify(now));
  } catch {
    return; // It is asked for again after a reload.
  }
}

/** Another version of the page may have kept something else. */
function kept(): Told | null {
  try {
    const { of, name, scope } = JSON.parse(localStorage.getItem(KEPT_AS) ?? "{}") as Partial<Told>;
    if (typeof of !== "string" || typeof name !== "string" || scope === undefined) return null;
    return Object.hasOwn(RANK, scope) ? { of, name, scope } : null;
  } catch {
    return null;
  }
}
