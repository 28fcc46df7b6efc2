// Whether a model answers. It is asked once for each press, and what came of it stands until the next.

import { useState } from "preact/hooks";
import type { Output } from "../../../src/calls/door.ts";
import { duration, money } from "../../../src/base/figures.ts";
import { clean, cut, oneLine } from "../../../src/base/harmless.ts";
import { Button } from "../../parts/button.tsx";
import { Icon } from "../../parts/icons.tsx";
import { call, faultOf } from "../../wire/call.ts";

/** Columns of what it said: that it speaks is what one wants to see. */
const TEXT_COLUMNS = 60;

type Outcome =
  | { readonly is: "asking" }
  | { readonly is: "answered"; readonly told: Output<"testModel"> }
  | { readonly is: "failed"; readonly message: string; readonly todo: string };

export interface Tests {
  readonly of: ReadonlyMap<string, Outcome>;
  readonly run: (model: string) => void;
}

export function useTests(): Tests {
  const [of, setOf] = useState<Tests["of"]>(new Map());
  const put = (model: string, outcome: Outcome): void => setOf((was) => new Map(was).set(model, outcome));
  const run = (model: string): void => {
    put(model, { is: "asking" });
    call("testModel", { model }).then(
      (told) => put(model, outcomeOf(told)),
      (error: unknown) => {
        const { message, todo } = faultOf(error);
        put(model, { is: "failed", message, todo });
      },
    );
  };
  return { of, run };
}

function outcomeOf(told: Output<"testModel">): Outcome {
  return told.failure === null ? { is: "answered", told } : { is: "failed", ...told.failure };
}

interface TestedParts {
  readonly model: string;
  readonly tests: Tests;
  /** Why it cannot be asked. */
  readonly unless: string | undefined;
}

export function Tested({ model, tests, unless }: TestedParts) {
  const outcome = tests.of.get(model);
  return (
    <div class="tested">
      <Button
        label={`Test ${model}`}
        isDisabled={outcome?.is === "asking"}
        unless={unless}
        onClick={() => tests.run(model)}
      >
        Test
      </Button>
      <span role="status">{outcome !== undefined && <Came outcome={outcome} />}</span>
    </div>
  );
}

function Came({ outcome }: { readonly outcome: Outcome }) {
  if (outcome.is === "asking") return <span class="soft">asking …</span>;
  if (outcome.is === "failed")
    return (
      <span class="bad">
        <b>
          <Icon name="warn" /> No answer:
        </b>{" "}
        {clean(outcome.message)} <small>{clean(outcome.todo)}</small>
      </span>
    );
  const { ms, text, cost } = outcome.told;
  return (
    <span class="good">
      <b>
        <Icon name="check" /> Answers
      </b>{" "}
      in {duration(ms)}
      {cost !== null && cost > 0 && `, for ${cost < 0.001 ? "less than $0.001" : money(cost)}`}
      <small>
        <q>{cut(oneLine(text), TEXT_COLUMNS)}</q>
      </small>
    </span>
  );
}
