import type { Class } from "./letter.ts";

/** The most urgent first. */
export const CLASSES = ["interactive", "delegated", "scheduled", "background"] as const satisfies Class[];

/** The class of a session is the highest of all who wait for it. Nobody waits: it is in the background. */
export function highest(waiting: readonly { readonly class: Class }[]): Class {
  return CLASSES.find((each) => waiting.some((one) => one.class === each)) ?? "background";
}

/** Of what a session starts or asks for: as urgent as its own work, but for a person, who waits for that session alone. */
export function handedOn(own: Class): Class {
  return own === "interactive" ? "delegated" : own;
}
