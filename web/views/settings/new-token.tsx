// A token is made: what it is called, what it may. What is wrong is said at the field that it is about.

import { useEffect, useRef, useState } from "preact/hooks";
import type { Output } from "../../../src/calls/door.ts";
import { Button } from "../../parts/button.tsx";
import { Dialog } from "../../parts/dialog.tsx";
import { Trouble } from "../../parts/empty.tsx";
import { FieldLine } from "../../parts/field.tsx";
import { tell } from "../../parts/toast.tsx";
import { call, faultOf, isCalledOff } from "../../wire/call.ts";
import type { Scope } from "../../wire/scope.ts";
import type { Fault } from "../../../src/base/fault.ts";
import { MAY, SCOPES, suggestedName, wrongWith } from "./handing.ts";

interface NewTokenParts {
  readonly taken: readonly string[];
  readonly done: (made: Output<"createToken">) => void;
  readonly onClose: () => void;
}

/** What came of the last try. `name`: it is about that. */
interface Wrong {
  readonly name: string | null;
  readonly fault: Fault | null;
}

const NOTHING: Wrong = { name: null, fault: null };

export function NewToken({ taken, done, onClose }: NewTokenParts) {
  const [wrong, setWrong] = useState(NOTHING);
  const [asking, setAsking] = useState<AbortController | null>(null);
  const field = useRef<HTMLInputElement>(null);
  const [name, setName] = useState(() =>
    suggestedName(taken, matchMedia("(pointer: coarse) and (max-width: 640px)").matches),
  );
  const [scope, setScope] = useState<Scope>("operate");
  useEffect(() => field.current?.select(), []);
  const refuse = (now: Wrong): void => {
    setWrong(now);
    if (now.name !== null) field.current?.focus();
  };
  const make = async (): Promise<void> => {
    if (asking !== null) return;
    const why = wrongWith(name, taken);
    if (why !== null) return refuse({ name: why, fault: null });
    const controller = new AbortController();
    setWrong(NOTHING);
    setAsking(controller);
    try {
      done(await call("createToken", { name, scope }, controller.signal));
    } catch (error) {
      if (!isCalledOff(error)) refuse(wrongBy(faultOf(error)));
    }
    setAsking(null);
  };
  const leave = (): void => {
    if (asking !== null) {
      asking.abort();
      tell(`Whether ${name} was made is not known. If it is listed, revoke it: nobody has its text.`, true);
    }
    onClose();
  };
  return (
    <Dialog title="New token" onClose={leave} isFirm>
      <form
        noValidate
        onSubmit={(event: SubmitEvent) => {
          event.preventDefault();
          void make();
        }}
      >
        <Name field={field} name={name} wrong={wrong.name} type={setName} />
        <Choice scope={scope} choose={setScope} />
        {wrong.fault !== null && <Trouble fault={wrong.fault} />}
        <footer>
          <Button onClick={leave}>Cancel</Button>
          <Button type="submit" look="main" isDisabled={asking !== null}>
            Make it
          </Button>
        </footer>
      </form>
    </Dialog>
  );
}

function wrongBy(fault: Fault): Wrong {
  return fault.code === "exists" || fault.code === "bad_input"
    ? { name: fault.message, fault: null }
    : { name: null, fault };
}

interface NameParts {
  readonly field: { current: HTMLInputElement | null };
  readonly name: string;
  readonly wrong: string | null;
  readonly type: (name: string) => void;
}

function Name({ field, name, wrong, type }: NameParts) {
  return (
    <FieldLine
      refused={wrong ?? undefined}
      field={{
        name: "name",
        label: "Name",
        hint: "The device, program or person that will use it. What it does is told under this name.",
        isNeeded: true,
        show: (line) => (
          <input
            {...line}
            ref={field}
            type="text"
            autocomplete="off"
            autocapitalize="none"
            spellcheck={false}
            value={name}
            onInput={({ currentTarget }: { readonly currentTarget: EventTarget | null }) =>
              type((currentTarget as HTMLInputElement).value)
            }
          />
        ),
      }}
    />
  );
}

function Choice({ scope, choose }: { readonly scope: Scope; readonly choose: (scope: Scope) => void }) {
  return (
    <fieldset class="scopes">
      <legend>What it may</legend>
      {SCOPES.map((each) => (
        <label key={each}>
          <input type="radio" name="scope" checked={each === scope} onChange={() => choose(each)} />
          <b>{each}</b> <span class="soft">{MAY[each]}</span>
        </label>
      ))}
    </fieldset>
  );
}
