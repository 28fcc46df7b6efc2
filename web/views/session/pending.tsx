// Messages that were sent and that the session has not taken yet: they wait in its mailbox, or for a connection.

/** The transcript tells of every letter that it shows: it is pending no more. */
export function arrived(_mailId: string): void {}

/** Stands below the transcript. */
export function Pending(_: { readonly sessionKey: string }) {
  return null;
}
