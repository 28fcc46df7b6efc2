// When a job runs: a choice, what belongs to it, and a line that says what it means and when that is next, as the daemon reads it.

import { useEffect, useRef, useState } from "preact/hooks";
import { clean } from "../../../src/base/harmless.ts";
import type { Output } from "../../../src/calls/door.ts";
import { Choosing, type Line } from "../../parts/field.tsx";
import { useAsked } from "../../state/asking.ts";
import { useLate } from "../../state/late.ts";
import { call } from "../../wire/call.ts";
import type { Given } from "./form.ts";
import { exactly } from "./exactly.ts";
import { DAYS, HOWS, saidBy, typedIn, UNITS, type How, type Typed } from "./when.ts";
import { byYourClock, whenWords } from "./words.ts";

const TIMES_SHOWN = 3;

export function WhenField({ line, given: first }: { readonly line: Line; readonly given: Given }) {
  const [given, setGiven] = useState(first);
  const group = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const form = group.current?.closest("form");
    const read = (): void => {
      const now = [...new FormData(form ?? undefined)].map(([name, value]) => [name, String(value)] as const);
      setGiven((was) => ({ ...was, ...Object.fromEntries(now) })); // What is not shown now is kept for who comes back to it.
    };
    form?.addEventListener("input", read);
    return () => form?.removeEventListener("input", read);
  }, []);
  const typed = typedIn(given);
  const { "aria-invalid": isRefused, ...plain } = line; // It is what belongs to the choice that is wrong, and gone to.
  return (
    <>
      <div ref={group} class="schedule-when">
        <Choosing line={{ ...plain, name: "when.how" }} choices={HOWS} value={typed.how} />
        <Rest how={typed.how} typed={typed} line={isRefused === true ? line : plain} />
      </div>
      {isRefused !== true && <Meaning typed={typed} zone={(given["timezone"] ?? "").trim()} />}
    </>
  );
}

interface RestParts {
  readonly how: How;
  readonly typed: Typed;
  readonly line: Line;
}

/** What belongs to the choice. */
function Rest({ how, typed, line }: RestParts) {
  switch (how) {
    case "every":
    case "in":
      return (
        <>
          <Typing line={line} name="amount" label="How many" type="number" value={typed.amount} />
          <Named name="unit" label="Unit" choices={UNITS} value={typed.unit} />
        </>
      );
    case "at":
      return <Typing line={line} name="at" label="Date and time" type="datetime-local" value={typed.at} />;
    case "cron":
      return <Typing line={line} name="cron" label="Cron expression" type="text" value={typed.cron} />;
    case "weekly":
    case "weekdays":
    case "daily":
      return (
        <>
          {how === "weekly" && <Named name="day" label="Day" choices={DAYS} value={typed.day} />}
          <Typing line={line} name="time" label="Time of day" type="time" value={typed.time} />
        </>
      );
  }
}

interface TypingParts {
  readonly line: Line;
  readonly name: keyof Typed;
  readonly label: string;
  readonly type: keyof typeof KINDS;
  readonly value: string;
}

const KINDS = {
  number: { type: "number", class: "short", min: "1", step: "1" },
  text: {
    type: "text",
    class: "expression",
    placeholder: "0 9 * * 1-5",
    spellcheck: false,
    autocomplete: "off",
  },
  time: { type: "time" },
  "datetime-local": { type: "datetime-local" },
} as const;

function Typing({ line: { id: _id, ...line }, name, label, type, value }: TypingParts) {
  const named = { name: `when.${name}`, "aria-label": label };
  return <input {...line} {...named} {...KINDS[type]} key={name} required defaultValue={value} />;
}

interface NamedParts {
  readonly name: keyof Typed;
  readonly label: string;
  readonly choices: readonly (readonly [value: string, label: string])[];
  readonly value: string;
}

function Named({ name, label, choices, value }: NamedParts) {
  return (
    <select name={`when.${name}`} aria-label={label} defaultValue={value}>
      {choices.map(([each, words]) => (
        <option key={each} value={each} selected={each === value}>
          {words}
        </option>
      ))}
    </select>
  );
}

/** What the daemon makes of it, before anything is saved. */
function Meaning({ typed, zone }: { readonly typed: Typed; readonly zone: string }) {
  const said = saidBy(typed);
  const whose = said?.every !== undefined || zone === "" ? {} : { timezone: zone };
  const asked = useLate(said === null ? "" : JSON.stringify({ ...said, ...whose, limit: TIMES_SHOWN }));
  const { value, fault } = useAsked(
    async (signal) => (asked === "" ? null : await call("jobTimes", JSON.parse(asked), signal)),
    [asked],
  );
  const isRefused = fault?.code === "bad_input";
  return (
    <p class={`schedule-means${isRefused ? " refused" : ""}`} role="status">
      {isRefused && clean(fault.message.replace(/^\w+: /, ""))}
      {value !== null && timesWords(value)}
    </p>
  );
}

function timesWords({ when, timezone, times }: Output<"jobTimes">): string {
  const words = whenWords(when);
  const said = `${words.slice(0, 1).toUpperCase()}${words.slice(1)}`;
  if (times.length === 0) return `${said}: never`;
  return `${said}. Next: ${times.map(exactly).join(" · ")}${byYourClock(timezone, times)}`;
}
