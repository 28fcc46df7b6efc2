// Route
//
// Which session a message from a channel belongs to.
//
//   Owns:      the rules that choose a key: the scope of direct messages, linked identities, threads.
//   Does not:  write keys (key.ts), know channels or their accounts, open sessions.
//
// Invariants
//   R1. The same envelope and configuration always give the same key. Nothing is remembered between messages.
//   R2. Two people share a session of direct messages only where the configuration says so: in the scope `main`, in
//       the scope `per-peer` when channels give them the same id, or by a link. A name that a link gives to a person
//       is not such an id: whoever bears it by chance stays apart.
//   R3. A message costs the same with one link and with a million.
//   R4. No message says that its answer goes to another session or to a timer, or is a report: the channels that mean so are
//       refused.

import { Fault } from "../base/fault.ts";
import type { DmScope, SessionConfig } from "../config/config.ts";
import type { Route } from "../mail/letter.ts";
import {
  channelKey,
  directKey,
  groupKey,
  mainKey,
  roomKey,
  threadKey,
  topicKey,
  type AgentId,
  type SessionKey,
} from "./key.ts";
import { encodePart, quote } from "./part.ts";
import type { Provenance } from "./provenance.ts";

/** Where a message comes from, as its channel said it. */
export interface Origin {
  readonly channel: string; //        "": not tied to a channel
  readonly account: string | null; // null: the channel has one account
  readonly chatType: "direct" | "group" | "channel" | "room";
  readonly peer: string; //           the person, group, channel or room
  readonly sender: string | null; //  who wrote it, in a chat of several; null: the peer did
  readonly thread: string | null; //  null: it is not in a thread
  readonly subject: string | null; // what the chat is called, for people; null: nothing
}

/** A message as its channel describes it. */
export interface Envelope extends Origin {
  readonly topic: boolean; // the thread is what Telegram calls a topic
  readonly agent: AgentId;
}

/** What an envelope says once the rules were asked. */
export interface Routed {
  readonly key: SessionKey;
  readonly replyTo: Route; //          the account is in `origin`
  readonly from: Provenance;
  readonly origin: Origin;
}

/** The routes of one configuration. Another configuration needs another one. */
export class Routes {
  readonly #scope: DmScope;
  readonly #people: ReadonlyMap<string, string>; // an address, `<channel>:<peer>` → whose it is
  readonly #names: ReadonlySet<string>;

  constructor(session: Pick<SessionConfig, "dmScope" | "identityLinks">) {
    this.#scope = session.dmScope;
    this.#people = linked(session.identityLinks);
    this.#names = new Set(Object.keys(session.identityLinks));
  }

  /** bad_input: an id that is empty, holds half a character, or does not fit a key. */
  of(envelope: Envelope): Routed {
    checkIds(envelope);
    const { channel, account, chatType, peer, sender, thread, subject } = envelope;
    const chat = this.#chat(envelope);
    const threaded = envelope.topic ? topicKey : threadKey;
    return {
      key: thread === null ? chat : threaded(chat, thread),
      replyTo: { channel, to: peer, thread },
      from: { kind: "external_user", channel: tie(channel), peer: sender ?? peer },
      origin: { channel, account, chatType, peer, sender, thread, subject },
    };
  }

  #chat(envelope: Envelope): SessionKey {
    const chat = { agent: envelope.agent, channel: tie(envelope.channel), peer: envelope.peer };
    switch (envelope.chatType) {
      case "direct":
        return this.#direct(envelope);
      case "group":
        return groupKey(chat);
      case "channel":
        return channelKey(chat);
      case "room":
        return roomKey(chat);
    }
  }

  #direct({ agent, channel, account, peer }: Envelope): SessionKey {
    if (this.#scope === "main") return mainKey(agent);
    const person = this.#person(channel, peer);
    if (person !== null) return directKey({ agent, channel: null, account: null, peer: person });
    // Who calls himself what a linked person is called would get that person's session without the channel (R2).
    if (channel === "" && this.#names.has(peer))
      throw new Fault(
        "bad_input",
        `${quote(peer)} is a person of session.identityLinks: name the channel too`,
      );
    const apart = this.#scope !== "per-peer" || this.#names.has(peer);
    return directKey({
      agent,
      channel: apart ? tie(channel) : null,
      account: this.#scope === "per-account-channel-peer" ? account : null,
      peer,
    });
  }

  /** Null: no link names this address. */
  #person(channel: string, peer: string): string | null {
    // In an address the first colon ends the channel. A channel that holds one would be read as another's peer.
    if (channel.includes(":")) return null;
    return this.#people.get(`${channel}:${peer}`) ?? null;
  }
}

/** Null: not tied to a channel, which a key says by naming none. */
function tie(channel: string): string | null {
  return channel === "" ? null : channel;
}

/** By address, so that a message need not look through the lists (R3). config/schema.ts lets no two people share one. */
function linked(links: SessionConfig["identityLinks"]): ReadonlyMap<string, string> {
  const pairs = Object.entries(links).flatMap(([name, addresses]) =>
    addresses.map((address): [string, string] => [address, name]),
  );
  return new Map(pairs);
}

/** In a Route these are no doors to the outside: what goes there stays in sessiond, and only sessiond writes them. */
export const KEPT_CHANNELS: ReadonlyMap<string, string> = new Map([
  ["session", "answers between sessions"],
  ["report", "what children report"],
  ["timer", "what becomes of jobs and heartbeats"],
]);

/** Of every id, also of one that is in no key of this scope: a change of scope must not make messages fail. */
function checkIds({ channel, account, peer, sender, thread }: Envelope): void {
  const kept = KEPT_CHANNELS.get(channel);
  if (kept !== undefined) {
    const why = `the word is kept for ${kept}, and no channel has it`;
    throw new Fault("bad_input", `the channel of a message: ${quote(channel)}: ${why}`); // R4
  }
  for (const [what, id] of Object.entries({ channel: tie(channel), account, peer, sender, thread })) {
    try {
      if (id !== null) encodePart(id);
    } catch (fault) {
      if (!(fault instanceof Fault)) throw fault;
      throw new Fault(fault.code, `the ${what} of a message: ${fault.message}`, { cause: fault });
    }
  }
}
