// A choice of what there is; and a way to name what is not among it.

import { useState } from "preact/hooks";
import { Choosing, Offers, type Choice, type Line } from "../../parts/field.tsx";

export interface ChoosingParts {
  readonly line: Line;
  readonly choices: readonly Choice[];
  readonly value: string;
  /** What is asked for beside a choice that ends with a colon. */
  readonly others: Readonly<Record<string, string>>;
  readonly offers?: readonly string[];
}

export function ChoosingOther({ line, choices, value, others, offers = [] }: ChoosingParts) {
  const [chosen, setChosen] = useState(value);
  const { "aria-invalid": _isRefused, ...plain } = line;
  const { id, name, ...said } = line;
  const other = others[chosen];
  return (
    <>
      <Choosing
        line={other === undefined ? line : plain}
        choices={choices}
        value={value}
        onChange={setChosen}
      />
      {other !== undefined && (
        <>
          <input
            {...said}
            key={chosen}
            type="text"
            name={`${name}.other`}
            aria-label={other}
            placeholder={other}
            list={`${id}-offers`}
            required
          />
          <Offers id={`${id}-offers`} offers={chosen === "key:" ? offers : []} />
        </>
      )}
    </>
  );
}
