// Which requests are for us at all. A page of a stranger, open in a browser on this machine, can send requests to
// loopback: by its own name, made to point here (DNS rebinding), or straight from its script. Both say who they are, in
// Host and Origin, and neither can lie about it.

import type { GatewayConfig } from "../config/config.ts";
import { Fault } from "../base/fault.ts";
import { shown } from "../base/fits.ts";

const LOOPBACK: ReadonlySet<string> = new Set(["localhost", "127.0.0.1", "[::1]"]);

/** Listening on these is listening on every address of the machine. */
const EVERYWHERE: ReadonlySet<string> = new Set(["0.0.0.0", "::", "[::]"]);

export class Guard {
  readonly #hosts: ReadonlySet<string>;
  readonly #origins: ReadonlySet<string>;

  constructor({ host, hosts, origins }: GatewayConfig) {
    const own = EVERYWHERE.has(host)
      ? []
      : [host.includes(":") && !host.startsWith("[") ? `[${host}]` : host];
    this.#hosts = new Set([...LOOPBACK, ...own, ...hosts].map((each) => each.toLowerCase()));
    this.#origins = new Set(origins.map((each) => each.toLowerCase()));
  }

  /** Refuses what was not meant for us, or comes from a page that may not. */
  check(host: string | undefined, origin: string | undefined): void {
    const name = host === undefined ? null : nameOf(host);
    if (host === undefined || name === null || !this.#hosts.has(name))
      throw new Fault(
        "forbidden",
        `this gateway is not called ${shown(host ?? "")}; if it is, write the name into gateway.hosts`,
      );
    if (origin === undefined || this.isKnown(origin)) return;
    if (origin.toLowerCase().replace(/^https?:\/\//, "") === host.toLowerCase()) return; // our own page
    throw new Fault(
      "forbidden",
      `pages of ${shown(origin)} may not call this gateway; if they should, write it into gateway.origins`,
    );
  }

  /** Another page that may call. */
  isKnown(origin: string): boolean {
    return this.#origins.has(origin.toLowerCase());
  }
}

export function isLoopback(host: string): boolean {
  return host === "localhost" || host === "::1" || host === "[::1]" || /^127(?:\.\d{1,3}){3}$/.test(host);
}

/** Without the port; null: it is no name. */
function nameOf(host: string): string | null {
  return /^(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::\d{1,5})?$/i.exec(host)?.[1]?.toLowerCase() ?? null;
}
