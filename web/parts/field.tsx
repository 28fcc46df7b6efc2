// A line of a form: its label, what is typed into it, what helps with it, and what it was refused with.

import type { ComponentChildren } from "preact";
import { useId } from "preact/hooks";
import { clean } from "../../src/base/harmless.ts";
import type { Called } from "./refused.ts";

export type Choice = readonly [value: string, label: string];

export interface Field extends Called {
  readonly label: string;
  readonly kind?: "text" | "lines" | "number" | "choice";
  readonly choices?: readonly Choice[];
  /** Of a text: what may be chosen, and need not be. */
  readonly offers?: readonly string[];
  readonly value?: string;
  readonly hint?: ComponentChildren;
  readonly isNeeded?: boolean;
  /** It stands under "More", which is closed while everything in it is as usual. */
  readonly isMore?: boolean;
  /** What it is if nobody says; without it, empty. */
  readonly usual?: string;
  /** In place of one input: some that belong together. The label is that of whichever has the id. */
  readonly show?: (line: Line) => ComponentChildren;
}

/** What an input has, so that its label, its hint and its refusal are told with it. */
export interface Line {
  readonly id: string;
  readonly name: string;
  readonly required: boolean;
  readonly "aria-describedby"?: string;
  readonly "aria-invalid"?: true;
}

export function FieldLine({
  field,
  refused,
}: {
  readonly field: Field;
  readonly refused: string | undefined;
}) {
  const { name, label, hint, isNeeded = false, show } = field;
  const id = useId();
  const described = [
    hint === undefined ? [] : `${id}-hint`,
    refused === undefined ? [] : `${id}-refused`,
  ].flat();
  const line: Line = {
    id,
    name,
    required: isNeeded,
    ...(described.length === 0 ? {} : { "aria-describedby": described.join(" ") }),
    ...(refused === undefined ? {} : { "aria-invalid": true }),
  };
  return (
    <div class="field" data-field={name}>
      <label for={id}>{label}</label>
      {show === undefined ? <Entry field={field} line={line} /> : show(line)}
      {refused !== undefined && (
        <p class="refused" role="alert" id={`${id}-refused`}>
          {clean(refused)}
        </p>
      )}
      {hint !== undefined && <small id={`${id}-hint`}>{hint}</small>}
    </div>
  );
}

function Entry({ field, line }: { readonly field: Field; readonly line: Line }) {
  const { kind = "text", choices = [], offers = [], value = "" } = field;
  switch (kind) {
    case "lines":
      return <textarea {...line} rows={4} defaultValue={value} />;
    case "choice":
      return <Choosing line={line} choices={choices} value={value} />;
    case "number":
      return <input {...line} type="number" step="any" defaultValue={value} />;
    case "text":
      return (
        <>
          <input
            {...line}
            {...(offers.length === 0 ? {} : { list: `${line.id}-offers` })}
            type="text"
            defaultValue={value}
          />
          {offers.length > 0 && <Offers id={`${line.id}-offers`} offers={offers} />}
        </>
      );
  }
}

interface ChoosingParts {
  readonly line: Line;
  readonly choices: readonly Choice[];
  readonly value: string;
  readonly onChange?: (value: string) => void;
}

export function Choosing({ line, choices, value, onChange }: ChoosingParts) {
  return (
    <select
      {...line}
      defaultValue={value}
      onChange={(event: Event) => onChange?.((event.currentTarget as HTMLSelectElement).value)}
    >
      {choices.map(([each, words]) => (
        <option key={each} value={each} selected={each === value}>
          {words}
        </option>
      ))}
    </select>
  );
}

export function Offers({ id, offers }: { readonly id: string; readonly offers: readonly string[] }) {
  return (
    <datalist id={id}>
      {offers.map((each) => (
        <option key={each} value={each}>
          {each}
        </option>
      ))}
    </datalist>
  );
}
