// Judge: compares what the ledger says with what the home shows. Everything acknowledged is there once and in
// order; everything else is there whole or not at all.

import type { SessionKey } from "../../src/routing/key.ts";
import type { Ledger, Mark } from "./ledger.ts";
import type { Seen, SeenSession } from "./look.ts";

export interface Verdict {
  readonly problems: readonly string[];
  /** Acknowledged attempts that were found whole. */
  readonly kept: number;
}

/** Attempts that happened are settled: whatever crashes later, they must stay. */
export function judge(ledger: Ledger, seen: Seen): Verdict {
  const problems = [...ledger.refusals, ...seen.problems];
  const facts = new Facts(ledger, seen);
  const happened = new Set<string>();
  let kept = 0;
  for (const attempt of ledger.attempts.values()) {
    const acknowledged = ledger.acknowledged.has(attempt.name);
    const marks = attempt.marks
      .map((mark) => ({ mark, found: facts.find(mark) }))
      .filter(({ found }) => found !== "moot");
    const there = marks.filter(({ found }) => found === "there").length;
    if (there === marks.length) happened.add(attempt.name);
    else if (acknowledged)
      problems.push(`${attempt.name} was acknowledged, and is missing: ${missing(marks)}`);
    else if (there > 0) problems.push(`${attempt.name} happened only in part; missing: ${missing(marks)}`);
    if (acknowledged && there === marks.length) kept += 1;
  }
  problems.push(...facts.strangers(), ...facts.outOfOrder(), ...facts.wrongTurns());
  for (const name of happened) ledger.acknowledged.add(name); // It is durable now, whoever was told.
  for (const name of ledger.attempts.keys()) if (!happened.has(name)) ledger.attempts.delete(name);
  return { problems, kept };
}

function missing(marks: readonly { readonly mark: Mark; readonly found: string }[]): string {
  return marks
    .filter(({ found }) => found !== "there")
    .map(({ mark }) => JSON.stringify(mark))
    .join(" ");
}

class Facts {
  readonly #ledger: Ledger;
  readonly #seen: Seen;
  /** Sessions that some attempt deleted. They are never opened again. */
  readonly #deleted = new Set<SessionKey>();
  readonly #order = new Map<string, number>();
  readonly #waiting: ReadonlySet<string>;
  readonly #written: ReadonlySet<string>;

  constructor(ledger: Ledger, seen: Seen) {
    this.#ledger = ledger;
    this.#seen = seen;
    for (const [at, attempt] of [...ledger.attempts.values()].entries()) {
      this.#order.set(attempt.name, at);
      for (const mark of attempt.marks) if ("gone" in mark) this.#deleted.add(mark.gone);
    }
    const sessions = [...seen.sessions.values()];
    this.#waiting = new Set(sessions.flatMap((session) => session.waiting));
    this.#written = new Set(sessions.flatMap((session) => session.mailIds));
  }

  /** Moot: the session was deleted, so nothing of it can be looked for; or another check looks at it. */
  find(mark: Mark): "there" | "missing" | "moot" {
    if ("gone" in mark) return this.#seen.sessions.has(mark.gone) ? "missing" : "there";
    if ("letter" in mark)
      return this.#waiting.has(mark.letter) || this.#written.has(mark.letter) ? "there" : "missing";
    if ("taken" in mark)
      return !this.#waiting.has(mark.taken) && this.#written.has(mark.taken) ? "there" : "missing";
    if ("turn" in mark) return "moot"; // judged against the newest entry: wrongTurns()
    const key = "opened" in mark ? mark.opened : mark.in;
    const session = this.#seen.sessions.get(key);
    if (!session) return this.#deleted.has(key) ? "moot" : "missing";
    if ("entry" in mark) return session.texts.includes(mark.entry) ? "there" : "missing";
    if ("blob" in mark) return session.blobs.has(mark.blob) ? "there" : "missing";
    if ("copied" in mark) return session.row.transcript.copied === mark.copied ? "there" : "missing";
    return "there"; // opened
  }

  /** Entries that nobody tried to write, or that are there twice. Forks repeat what they copied. */
  *strangers(): Generator<string> {
    const tried = new Set(
      [...this.#ledger.attempts.values()].flatMap((attempt) =>
        attempt.marks.flatMap((mark) => ("entry" in mark ? [mark.entry] : [])),
      ),
    );
    for (const [key, session] of this.#seen.sessions) {
      const own = session.texts.slice(session.row.transcript.copied);
      for (const text of own) if (!tried.has(text)) yield `${key} has an entry that nobody wrote: ${text}`;
      if (new Set(session.texts).size !== session.texts.length) yield `${key} has an entry twice`;
    }
  }

  *outOfOrder(): Generator<string> {
    for (const [key, session] of this.#seen.sessions) {
      let last = -1;
      for (const text of session.texts.slice(session.row.transcript.copied)) {
        const at = this.#order.get(text.split(":")[0] ?? "") ?? -1;
        if (at < last) yield `${key}: ${text} stands after an entry that was written later`;
        last = at;
      }
    }
  }

  /** A row's turn names an attempt whose entries are in the transcript, and no newer one is. */
  *wrongTurns(): Generator<string> {
    const turns = new Map<string, SessionKey>();
    for (const attempt of this.#ledger.attempts.values())
      for (const mark of attempt.marks) if ("turn" in mark) turns.set(mark.turn, mark.in);
    for (const [key, session] of this.#seen.sessions) {
      const newest = newestTurn(session, (name) => turns.get(name) === key);
      const row = session.row.state.kind === "running" ? session.row.state.turn : null;
      if (newest !== row) yield `${key}: its row says turn ${row}, its transcript ${newest}`;
    }
  }
}

function newestTurn(session: SeenSession, isTurn: (name: string) => boolean): string | null {
  const own = session.texts.slice(session.row.transcript.copied).toReversed();
  return own.map((text) => text.split(":")[0] ?? "").find(isTurn) ?? null;
}
