// What is done to a note while it is written. It is saved over the version that was read, and over no other: if somebody wrote
// meanwhile, both texts are there, and who typed decides. What was typed is a draft until then.

import { useState } from "preact/hooks";
import { useLeaving } from "../../parts/leaving.ts";
import { tell, tried, untell } from "../../parts/toast.tsx";
import { call, faultOf } from "../../wire/call.ts";
import { draftOf, keepDraft, type Draft } from "./drafts.ts";
import { readWhole, type Whole } from "./whole.ts";

interface Begun {
  readonly agent: string;
  readonly path: string;
  readonly start: Draft;
  /** The note as it is; null: there is none, or it is not known. */
  readonly was: Whole | null;
  /** It is another now, and is still written. */
  readonly saved: () => void;
  readonly done: () => void;
}

/** What another wrote meanwhile. told: that they did; seen: what (null: they deleted it). */
type Other = null | { readonly is: "told" } | { readonly is: "seen"; readonly whole: Whole | null };

export interface Writing {
  readonly text: string;
  readonly other: Other;
  readonly isChanged: boolean;
  readonly isBusy: boolean;
  readonly type: (typed: string) => void;
  /** `isLeft`: and that was it. */
  readonly save: (isLeft: boolean) => Promise<void>;
  /** Reads what another wrote: from then on it is that which is saved over. */
  readonly look: () => Promise<void>;
  /** What was typed goes. */
  readonly leave: () => void;
}

export function useWriting({ agent, path, start, was, saved, done }: Begun): Writing {
  const [text, setText] = useState(start.text);
  const [version, setVersion] = useState(start.version);
  const [other, setOther] = useState<Other>(null);
  const [isBusy, setBusy] = useState(false);
  // What it was begun on; null: it is a draft of before, and that is not known any more.
  const [base, setBase] = useState(() => (draftOf(agent, path) === null ? (was?.text ?? "") : null));
  const isNew = (typed: string): boolean => typed !== (base ?? was?.text ?? "");
  const isChanged = isNew(text);
  useLeaving(isChanged ? path : null, (address) => isAt(address, agent, path));
  const type = (typed: string): void => {
    setText(typed);
    const isDraft = isNew(typed) || other !== null || version === null;
    keepDraft(agent, path, isDraft ? { text: typed, version } : null);
  };
  const leave = (): void => {
    keepDraft(agent, path, null);
    done();
  };
  const goOn = (now: string | null): void => {
    setVersion(now);
    setBase(text);
    setOther(null);
    keepDraft(agent, path, null);
    saved();
  };
  const save = async (isLeft: boolean): Promise<void> => {
    if (isBusy) return;
    setBusy(true);
    untell(`Saved ${path}`); // That was before.
    try {
      const now = await call("writeMemory", { agent, path, mode: "replace", text, version });
      tell(`Saved ${path}`);
      if (isLeft) return leave();
      goOn(now.version);
    } catch (error) {
      const fault = faultOf(error);
      if (fault.code === "stale_writer") setOther({ is: "told" });
      else tell(`${fault.message}. ${fault.todo}`, true);
    }
    setBusy(false);
  };
  const look = async (): Promise<void> => {
    const found = await tried(theirsOf(agent, path));
    if (found === null) return;
    setOther({ is: "seen", whole: found.whole });
    setVersion(found.whole?.version ?? null);
    keepDraft(agent, path, { text, version: found.whole?.version ?? null });
  };
  return { text, other, isChanged, isBusy, type, save, look, leave };
}

/** `whole` is null: they deleted it. */
async function theirsOf(agent: string, path: string): Promise<{ readonly whole: Whole | null }> {
  try {
    return { whole: await readWhole(agent, path) };
  } catch (error) {
    if (faultOf(error).code === "not_found") return { whole: null };
    throw error;
  }
}

function isAt(address: string, agent: string, path: string): boolean {
  const [place = "", query = ""] = new URL(address).hash.split("?", 2);
  const isSamePath = new URLSearchParams(query).get("path") === path;
  return isSamePath && (place === `#/memory/${agent}` || (place === "#/memory" && agent === "main"));
}
