import type { Mail, Route } from "../mail/letter.ts";
import { isReport } from "../mail/task.ts";
import { KEPT_CHANNELS } from "../routing/route.ts";
import type { Writing } from "../sessions/held.ts";
import type { Session } from "../sessions/session.ts";
import type { Body, Message } from "../transcript/entry.ts";
import { spillMessage, type PutBlob } from "../transcript/spill.ts";

/** Letters become user messages of the transcript, with who wrote them and where the answer goes. */
export async function entriesOf(letters: readonly Mail[], nowMs: number, putBlob: PutBlob): Promise<Body[]> {
  return await Promise.all(
    letters.map(async (letter): Promise<Body> => {
      const [only, ...others] = letter.content;
      const isPlain = others.length === 0 && only?.type === "text" && only.blob === undefined;
      const message: Message = {
        role: "user",
        content: isPlain ? only.text : letter.content,
        timestamp: nowMs,
      };
      return {
        type: "message",
        message: await spillMessage(message, putBlob),
        provenance: letter.from,
        mailId: letter.id,
        ...(letter.replyTo ? { replyTo: letter.replyTo } : {}),
      };
    }),
  );
}

/** Where answers go from now on, and where the newest message came from; nothing when that is as it was. */
export function rerouting(session: Session, letters: readonly Mail[]): Pick<Writing, "reroute"> {
  const route = letters.findLast(({ replyTo }) => isDoor(replyTo))?.replyTo ?? session.route;
  const origin = letters.findLast((letter) => letter.origin !== null)?.origin ?? session.origin;
  if (isSame(route, session.route) && isSame(origin, session.origin)) return {};
  return { reroute: { route, origin } };
}

/** Another session, or a timer, is no place where a person could be reached later. */
function isDoor(route: Route | null): boolean {
  return route !== null && !KEPT_CHANNELS.has(route.channel);
}

function isSame(a: unknown, b: unknown): boolean {
  return a === b || JSON.stringify(a) === JSON.stringify(b);
}

/**
 * Letters with where their answer goes. What sessiond itself wrote, and what children report, is answered where the session
 * last answered. It is decided here and written down with the message: whoever goes on with the turn reads it there.
 */
export function answeredTo(session: Session, letters: readonly Mail[]): readonly Mail[] {
  return letters.map((letter) => {
    if (letter.replyTo !== null || !(letter.from.kind === "internal_system" || isReport(letter)))
      return letter;
    return { ...letter, replyTo: session.route };
  });
}
