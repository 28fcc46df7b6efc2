import type { Settings, Usage } from "../sessions/session.ts";

/** The note with which a new file of a history begins, behind what it copied. */
export const GENERATION = "sessiond/generation";

/** What was known of the session until then, for whoever has only this file. */
export interface Generation {
  readonly usage: Usage;
  readonly settings: Settings;
  readonly title: string; // empty: the conversation begins anew
  readonly bornAtMs: number;
  readonly interactedAtMs: number;
}
