/**
 * Whoever was asked says that another address answers. It is not gone to: fetch would take keys along in every header
 * that it does not know for one. Only the origin is told, because the rest of an address may hold anything.
 */
export class Redirected extends Error {
  constructor({ origin }: URL, whatHelps: string) {
    super(`it redirects to another address, at ${origin}; ${whatHelps}`);
  }
}

const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

/** Where an answer to a request with `redirect: "manual"` sends us. Null: nowhere. */
export function redirectIn({ status, headers, url }: Response): URL | null {
  const location = REDIRECTS.has(status) ? headers.get("location") : null;
  return location !== null && URL.canParse(location, url) ? new URL(location, url) : null;
}
