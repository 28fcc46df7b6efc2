// Channel
//
// Where messages come from and answers go: a chat, a program, a page. A message comes in by the call `receive`, as an
// envelope, and is a letter when that is acknowledged. An answer goes out by `deliver`, from the outbox.
//
//   Owns:      what a channel is, and which there are.
//   Does not:  choose the session (routing/route.ts), decide what may leave (routing/policy.ts), try again (mail/outbox.ts).
//
// Invariants
//   C1. deliver() has the same id for the same answer, however often it comes. Once it resolves, that answer never comes again.
//   C2. An answer goes to the address and the thread that its message came from (`route.to`, `route.thread`).
//   C3. What typing() does, or fails to do, changes nothing of a turn.

import { Fault } from "../base/fault.ts";
import type { Route } from "../mail/letter.ts";
import type { Deliver } from "../mail/outbox.ts";

export interface Channel {
  /** As it stands in envelopes and routes, and in the keys of its chats. */
  readonly name: string;
  /**
   * Resolves when the answer is where it belongs. Rejects to be asked again later; with `Refused` when that would be of no use.
   * The signal is aborted when it took too long, or when the gateway stops: then it comes again, with the next start.
   */
  readonly deliver: Deliver;
  /**
   * A turn works on an answer for this route, or does so no more. A hint: it may be lost, and after a crash nobody says that
   * it is over, so let it fade by itself.
   */
  readonly typing?: (route: Route, isTyping: boolean) => Promise<void> | void;
}

/** What a program brings along under a name: a whole channel, or just its door. */
export type Given = Readonly<Record<string, Deliver | Channel>>;

/** All channels by name. bad_input when two have the same. */
export function channelsOf(given: Given, own: readonly Channel[]): ReadonlyMap<string, Channel> {
  const channels = new Map(own.map((channel) => [channel.name, channel]));
  for (const [name, door] of Object.entries(given)) {
    if (channels.has(name))
      throw new Fault(
        "bad_input",
        `two channels are called ${name}: one of the program, and one of webhooks`,
      );
    channels.set(name, typeof door === "function" ? { name, deliver: door } : door);
  }
  return channels;
}

/** As the outbox wants them. */
export function doorsOf(channels: ReadonlyMap<string, Channel>): ReadonlyMap<string, Deliver> {
  const doors = [...channels].map(([name, channel]): [string, Deliver] => [
    name,
    (outgoing, signal) => channel.deliver(outgoing, signal),
  ]);
  return new Map(doors);
}
