import type { Log } from "../base/log.ts";
import type { Span } from "../base/span.ts";
import type { World } from "../base/world.ts";
import type { Agent, SessionConfig } from "../config/config.ts";
import type { Prompts } from "../config/prompt.ts";
import type { Bus } from "../events/bus.ts";
import type { Mailbox } from "../mail/mailbox.ts";
import type { Catalog } from "../models/catalog.ts";
import type { SessionKey } from "../routing/key.ts";
import type { Slots } from "../scheduler/slots.ts";
import type { Budgets } from "../sessions/budget.ts";
import type { Held } from "../sessions/held.ts";
import type { Store } from "../store/store.ts";
import type { Toolbox } from "../tools/toolbox.ts";
import type { Answers } from "./answers.ts";
import type { WriteFile } from "./handoff.ts";
import type { Suspects } from "./resuming.ts";

/** What a turn needs of the rest of the system. wire.ts hands it in. */
export interface TurnParts {
  readonly world: World;
  readonly bus: Bus;
  readonly log: Log;
  readonly store: Pick<Store, "putBlob" | "readBlob" | "session" | "sessions">;
  readonly slots: Pick<Slots, "takeSoon" | "throttled" | "coolsForMs">; // model calls
  readonly processSlots: Pick<Slots, "take">; //                       programs of tools
  readonly catalog: Catalog;
  readonly prompts: Pick<Prompts, "of">;
  readonly answers: Answers;
  readonly tools: Pick<Toolbox, "of">;
  /** Whether one of the others waits for this session, if only by way of more. */
  readonly isCircle: (key: SessionKey, others: readonly SessionKey[]) => Promise<boolean>;
  readonly suspects: Suspects;
  readonly budgets: Budgets;
  readonly session: SessionConfig;
  readonly writeFile: WriteFile;
  /** Takes out the keys that the configuration names. */
  readonly clean: (text: string) => string;
  readonly channels: ReadonlySet<string>; // doors that answers can go through
}

/** The session a turn runs in. */
export interface Place {
  readonly held: Held;
  readonly mailbox: Mailbox;
  readonly agent: Agent; //   as it holds for this session
  readonly persona: Agent; // whose prompt files are read: a sub-agent works in its root's folder, but is who it is
  readonly span: Span; //     of the turn
}
