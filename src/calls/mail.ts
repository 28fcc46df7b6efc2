// The letters that wait for a session: what was posted to it, by whomever, and it has not read yet. What it has read is in its
// transcript; a letter is in one of the two, and never in both.

import { z } from "zod";
import { isPicture } from "../context/weight.ts";
import { isBeat } from "../mail/beat.ts";
import { modeOf } from "../mail/batch.ts";
import type { Letter, Mail } from "../mail/letter.ts";
import { isOfJob, isOrder, isReport, isTimer, TASK_TOOL } from "../mail/task.ts";
import { wishedIn, wishOf } from "../mail/wish.ts";
import type { AgentId } from "../routing/key.ts";
import type { Provenance } from "../routing/provenance.ts";
import { inForce } from "../sessions/inforce.ts";
import { call, just, type Caller, type Done, type System } from "./call.ts";
import { MAIL_CHARS_TOLD, MAIL_FROM_CHARS_TOLD } from "./limits.ts";
import { keyFor, reached } from "./reach.ts";
import { limit } from "./schemas.ts";
import { isSpawned } from "./send.ts";
import { MODES, sessionKey } from "./setting-shapes.ts";
import { brief, iso, writerOf } from "./views.ts";

const input = z.strictObject({
  sessionKey: sessionKey.optional().describe("The key of a session; without it, main."),
  limit,
  cursor: z.string().optional().describe("The `next` of the page before."),
});

const letter = z.strictObject({
  id: z.string().describe("`wait` takes it; the entry has it as `mailId` once it is read."),
  postedAt: z.string(),
  by: z.enum(["person", "session", "sessiond"]),
  from: z
    .string()
    .describe("Who wrote it: a channel and who it is there, a session's key, or sessiond and why."),
  kind: z
    .enum(["message", "task", "report", "answer", "beat", "notice", "order"])
    .describe(
      "message; task: somebody, or a job, waits for what becomes of it; report: what became of one; answer: to what the session sent; " +
        "beat: of a heartbeat; notice: sessiond tells something; order: it is obeyed, and never written down.",
    ),
  mode: z
    .enum(MODES)
    .nullable()
    .describe(
      "What it does to a turn that runs, as it says or as the session is set now; null: it is an order.",
    ),
  text: z.string().describe(`Its first ${MAIL_CHARS_TOLD} characters, without secrets.`),
  chars: z.int().describe("How many it has in all."),
  pictures: z.int(),
});

const page = z.strictObject({
  sessionKey,
  letters: z.array(letter).describe("Oldest first."),
  next: z
    .string()
    .nullable()
    .describe("Pass it as `cursor` for what was posted later; null: that was the last."),
});

export const mail = call({
  about:
    "The letters that wait for a session, whoever sent them: what it has not read yet. Long texts are cut, secrets are taken out.",
  who: "person",
  tool: null,
  scope: "read",
  http: "GET /sessions/:sessionKey/mail",
  input,
  output: page,
  idempotent: true,
  run: waitingMail,
});

async function waitingMail(
  system: System,
  caller: Caller,
  { sessionKey: named, limit: most = 50, cursor }: z.output<typeof input>,
): Promise<Done<z.input<typeof page>>> {
  const session = await reached(system, caller, keyFor(caller, named));
  const agent = system.config.agents.get(session.agent as AgentId);
  const usual = agent === undefined ? null : inForce(session, agent).queueMode;
  const { rows, next } = await system.store.mail(session.key, { limit: most, cursor: cursor ?? null });
  const told = (each: Mail): z.input<typeof letter> => ({
    ...toldOf(each),
    mode: isOrder(each) ? null : modeOf(each, usual),
  });
  return just({ sessionKey: session.key, letters: rows.map(told), next });
}

function toldOf(of: Mail): Omit<z.input<typeof letter>, "mode"> {
  const text = isOrder(of) ? orderWords(of) : textIn(of);
  return {
    id: of.id,
    postedAt: iso(of.postedAtMs),
    by: BY[of.from.kind],
    from:
      of.from.kind === "inter_session"
        ? of.from.source
        : brief(writerOf(of.from) ?? "", MAIL_FROM_CHARS_TOLD),
    kind: kindOf(of),
    text: brief(text, MAIL_CHARS_TOLD),
    chars: text.length,
    pictures: of.content.filter((block) => block.type === "image" || isPicture(block)).length,
  };
}

const BY: Readonly<Record<Provenance["kind"], z.input<typeof letter>["by"]>> = {
  external_user: "person",
  inter_session: "session",
  internal_system: "sessiond",
};

function kindOf(of: Letter): z.input<typeof letter>["kind"] {
  if (isOrder(of)) return "order";
  if (isReport(of)) return "report";
  if (isTask(of)) return "task";
  if (isBeat(of)) return "beat";
  if (of.from.kind === "internal_system") return "notice";
  return of.from.kind === "inter_session" && of.from.tool === null ? "answer" : "message";
}

/** Of a run of a job, or of a spawn: also one whose end is reported to nobody. */
function isTask({ id, from, replyTo }: Letter): boolean {
  if (replyTo !== null && isTimer(replyTo) && isOfJob(id)) return true;
  return from.kind === "inter_session" ? from.tool === TASK_TOOL : isSpawned(id);
}

function textIn({ content }: Letter): string {
  const said = content.filter((block) => !isPicture(block)); // Of one in a blob there are words, which say where it is.
  return said.flatMap((block) => (block.type === "text" ? [block.text] : [])).join("\n");
}

/** What an order says is for sessiond. */
function orderWords(order: Letter): string {
  const about = (words: string | null): string => (words === null ? "" : `: ${words}`);
  switch (wishOf(order)) {
    case "compact":
      return `summarise the earlier conversation${about(wishedIn(order, "compact").focus)}`;
    case "handoff": {
      const { key, focus, message } = wishedIn(order, "handoff");
      return `hand over to ${key}${about(message ?? focus)}`;
    }
    case "rewind":
      return `go back to entry ${wishedIn(order, "rewind").to.seq}`;
    case "rotate":
      return "go on in a new file";
    case "reset":
      return "begin a new conversation";
    case null:
      return textIn(order);
  }
}
