import type { Output } from "../../../src/calls/door.ts";
import type { Status } from "../../wire/events.ts";
import { isLocked } from "../../wire/models.ts";
import { redraft, type Draft, type Mode } from "./draft.ts";

const MODES: readonly (readonly [mode: Mode, name: string, about: string])[] = [
  ["steer", "Steer", "read before the next step"],
  ["followup", "Follow up", "read after this turn"],
  ["collect", "Collect", "read after this turn, with what else comes"],
  ["interrupt", "Interrupt", "stops what runs first"],
];

/** How a message is read that does not say so itself. */
export function usualMode(status: Status | null): Mode {
  return MODES.find(([mode]) => mode === status?.settings.queueMode)?.[0] ?? "steer";
}

interface PickerParts {
  readonly sessionKey: string;
  readonly draft: Draft;
}

/** What a message does to a turn that runs. */
export function ModePicker({ sessionKey, draft, status }: PickerParts & { readonly status: Status | null }) {
  const [, usual] = MODES.find(([mode]) => mode === usualMode(status)) ?? [null, "As usual"];
  const about = MODES.find(([mode]) => mode === draft.mode)?.[2];
  return (
    <select
      class="pick"
      aria-label="While it works"
      title={`What the message does while a turn runs${about === undefined ? "" : `: ${about}`}`}
      value={draft.mode ?? ""}
      onChange={(event: Event) => {
        const { value } = event.currentTarget as HTMLSelectElement;
        redraft(sessionKey, { mode: value === "" ? null : (value as Mode) });
      }}
    >
      <option value="">{`${usual} (${status?.settings.queueMode == null ? "usual" : "as set"})`}</option>
      {MODES.map(([mode, name, words]) => (
        <option key={mode} value={mode}>
          {name}: {words}
        </option>
      ))}
    </select>
  );
}

/** The model that the session has from this message on. */
export function ModelPicker({
  sessionKey,
  draft,
  inForce,
  models,
}: PickerParts & { readonly inForce: string | null; readonly models: Output<"models"> | null }) {
  const { aliases, usable, locked } = choicesOf(models, inForce);
  return (
    <select
      class="pick"
      aria-label="Model"
      title="The model from this message on"
      value={draft.model ?? ""}
      onChange={(event: Event) => {
        const { value } = event.currentTarget as HTMLSelectElement;
        redraft(sessionKey, { model: value === "" ? null : value });
      }}
    >
      <option value="">{inForce === null ? "Usual model" : nameFirst(inForce)}</option>
      {aliases.length > 0 && (
        <optgroup label="Short names">
          {aliases.map(([alias, id]) => (
            <option key={alias} value={alias}>
              {alias} ({id})
            </option>
          ))}
        </optgroup>
      )}
      <optgroup label="Models">
        {usable.map((id) => (
          <option key={id} value={id}>
            {nameFirst(id)}
          </option>
        ))}
      </optgroup>
      {locked.length > 0 && (
        <optgroup label="No key found" disabled>
          {locked.map((id) => (
            <option key={id} value={id}>
              {nameFirst(id)}
            </option>
          ))}
        </optgroup>
      )}
    </select>
  );
}

/** Where there is little room its provider is cut off, not its name. */
function nameFirst(id: string): string {
  const at = id.indexOf("/");
  return at === -1 ? id : `${id.slice(at + 1)} (${id.slice(0, at)})`;
}

interface ModelChoices {
  readonly aliases: readonly (readonly [alias: string, id: string])[];
  readonly usable: readonly string[];
  readonly locked: readonly string[]; // as isLocked says
}

function choicesOf(models: Output<"models"> | null, inForce: string | null): ModelChoices {
  if (models === null) return { aliases: [], usable: [], locked: [] };
  const locked = (id: string): boolean => isLocked(models, id);
  const names = Object.entries(models.aliases).map(([alias, id]) => [alias, id] as const);
  const others = models.models.map(({ id }) => id).filter((id) => id !== inForce);
  return {
    aliases: names.filter(([, id]) => !locked(id)),
    usable: others.filter((id) => !locked(id)),
    locked: [...names.filter(([, id]) => locked(id)).map(([alias]) => alias), ...others.filter(locked)],
  };
}
