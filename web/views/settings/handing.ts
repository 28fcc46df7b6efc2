// A new token: what it may be called, and how it is handed to whoever will use it. Pure.

import type { Scope } from "../../wire/scope.ts";

/** What each may, beyond the one before it. */
export const MAY: Readonly<Record<Scope, string>> = {
  read: "look at everything, change nothing",
  operate: "also work: sessions, notes, jobs, archives",
  admin: "also say who may, run upkeep, see the configuration",
};

export const SCOPES = Object.keys(MAY) as readonly Scope[];

/** As the daemon takes them. */
const NAME = /^[a-z0-9_-]{1,64}$/;
/** The one whose token is a file of the daemon's home. */
export const OWNER = "owner";

/** What is wrong with a name; null: nothing that could be known here. */
export function wrongWith(name: string, taken: readonly string[]): string | null {
  if (name === "") return "It needs a name.";
  if (!NAME.test(name)) return "A name is 1 to 64 of the letters a to z, digits, - and _.";
  if (name === OWNER) return "The owner's token has this name.";
  return taken.includes(name) ? `There is a token ${name}. Revoke that first, or choose another name.` : null;
}

/** Whoever sits at one device most often wants to let in another. */
export function suggestedName(taken: readonly string[], isPhone: boolean): string {
  const [first, second] = isPhone ? ["laptop", "tablet"] : ["phone", "laptop"];
  const free = [first, second].find((each) => !taken.includes(each));
  if (free !== undefined) return free;
  let number = 2;
  while (taken.includes(`${first}-${number}`)) number += 1;
  return `${first}-${number}`;
}

/** Opens the page and signs in. What is behind the # is sent to nobody. */
export function linkOf(origin: string, token: string): string {
  return `${origin}/#t=${encodeURIComponent(token)}`;
}

/** A name that means another machine on every machine. */
export function isLoopback(hostname: string): boolean {
  return /^(?:localhost|127(?:\.\d+){3}|\[::1\])$|\.localhost$/.test(hostname);
}
