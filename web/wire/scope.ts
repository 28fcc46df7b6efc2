// What the token of this page may. It is asked for with every connection: what a token may is said by the daemon alone.

import { effect, signal } from "@preact/signals";
import type { Output } from "../../src/calls/door.ts";
import { call } from "./call.ts";
import { connections } from "./socket.ts";
import { token } from "./token.ts";

type Bearer = Output<"whoami">;
type Scope = Bearer["scope"];

/** Whose token it is; null: nobody knows yet. What it may not is refused by the daemon in any case. */
export const bearer = signal<Bearer | null>(null);

const RANK: Readonly<Record<Scope, number>> = { read: 0, operate: 1, admin: 2 };

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
    if (connections.value === 0 || used === null) {
      bearer.value = null;
      return;
    }
    void call("whoami", {}).then(
      (told) => {
        if (token.value === used) bearer.value = told;
      },
      () => undefined, // Away, or not known any more: both are told elsewhere.
    );
  });
}
