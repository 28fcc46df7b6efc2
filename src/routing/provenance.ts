import type { SessionKey } from "./key.ts";

/**
 * Who a message comes from. It is decided where the message enters, travels with it, and is kept in the
 * transcript; content cannot change it.
 */
export type Provenance =
  // A person, or a program that speaks for one. Null: the door has no such notion (a terminal has no channel).
  | { readonly kind: "external_user"; readonly channel: string | null; readonly peer: string | null }
  // Another session. `tool` is the tool it used, null when the system forwarded it.
  | { readonly kind: "inter_session"; readonly source: SessionKey; readonly tool: string | null }
  // sessiond itself: a timer fired, a heartbeat came, a child announced its end.
  | { readonly kind: "internal_system"; readonly cause: string };
