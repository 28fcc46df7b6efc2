// Who is being written to: told from commits, once they are durable, and never waited for.

import type { Log } from "../base/log.ts";
import type { SendPolicy } from "../config/config.ts";
import type { Route } from "../mail/letter.ts";
import type { SessionKey } from "../routing/key.ts";
import { maySend } from "../routing/policy.ts";
import type { Session } from "../sessions/session.ts";
import type { Change } from "../store/change.ts";
import type { Channel } from "./channel.ts";

export interface TypingParts {
  readonly channels: ReadonlyMap<string, Channel>;
  readonly policy: SendPolicy;
  readonly log: Log;
  /** A session of this process, as it was before the commit; null: it is not ours. */
  readonly session: (key: SessionKey) => Session | null;
}

export class Typing {
  readonly #parts: TypingParts;
  /** Where it was said that somebody types. One whose session another process took stays, until we have it again. */
  readonly #typing = new Map<SessionKey, Route>();

  constructor(parts: TypingParts) {
    this.#parts = parts;
  }

  /** What a commit of this process did. It never throws: whoever committed must not fail because of us. */
  told(changes: readonly Change[]): void {
    for (const change of changes) {
      if (change.do === "run" && change.state.kind === "running")
        this.#begin(change.key, this.#routeAfter(change.key, changes));
      else if (change.do === "run" || change.do === "delete") this.#end(change.key);
    }
  }

  /** A turn that is begun by another chat than the last one says so in the same commit. */
  #routeAfter(key: SessionKey, changes: readonly Change[]): Route | null {
    const rerouted = changes.findLast((change) => change.do === "reroute" && change.key === key);
    if (rerouted?.do === "reroute") return rerouted.route;
    return this.#parts.session(key)?.route ?? null;
  }

  #begin(key: SessionKey, route: Route | null): void {
    const before = this.#typing.get(key);
    if (route === null || !this.#mayKnow(key, route)) return this.#end(key);
    if (before !== undefined && isSame(before, route)) return;
    this.#end(key);
    if (this.#parts.channels.get(route.channel)?.typing === undefined) return;
    this.#typing.set(key, route);
    this.#tell(route, true);
  }

  #end(key: SessionKey): void {
    const route = this.#typing.get(key);
    if (route === undefined) return;
    this.#typing.delete(key);
    this.#tell(route, false);
  }

  /** Whoever is not to hear the answer is not told either that there will be one. */
  #mayKnow(key: SessionKey, { channel }: Route): boolean {
    const override = this.#parts.session(key)?.settings.sendPolicy ?? null;
    return maySend(this.#parts.policy, { key, channel, override }).allowed;
  }

  #tell(route: Route, isTyping: boolean): void {
    const channel = this.#parts.channels.get(route.channel);
    Promise.try(() => channel?.typing?.(route, isTyping)).catch((error: unknown) => {
      this.#parts.log.debug({ channel: route.channel, err: error }, "a channel was not told who types");
    });
  }
}

function isSame(a: Route, b: Route): boolean {
  return a.channel === b.channel && a.to === b.to && a.thread === b.thread;
}
