// The configuration that is in force. It is changed in its file, and counts from the next start: so it is shown, and how to change
// it is said.

import { clean } from "../../../src/base/harmless.ts";
import { Empty, Loading } from "../../parts/empty.tsx";
import { useAsked } from "../../state/asking.ts";
import { place, replace } from "../../state/place.ts";
import { call } from "../../wire/call.ts";
import { linesOf, linesWith, sectionsOf } from "./flat.ts";
import { Refused } from "./refused.tsx";

export function Configuration() {
  const { value, fault, again } = useAsked((signal) => call("config", {}, signal), []);
  if (fault !== null) return <Refused fault={fault} again={again} what="Configuration values" />;
  if (value === null) return <Loading what="the configuration" />;
  const text = place.value.query["text"] ?? "";
  const sections = [...sectionsOf(linesWith(linesOf(value.config), text))];
  return (
    <>
      <p class="hint">
        What is in force, with defaults{value.file === null ? "; there is no file" : ", from "}
        {value.file !== null && <code>{value.file}</code>}. Secrets are not shown. To change a value:{" "}
        <code>npx sessiond config set agents.main.model anthropic/claude-sonnet-4-5</code>, then start the
        daemon again; nothing is lost by that.
      </p>
      <div class="lead-line">
        <input
          type="search"
          aria-label="Filter the configuration"
          placeholder="Filter: a part of a name or a value"
          value={text}
          onInput={({ currentTarget }: { readonly currentTarget: EventTarget | null }) =>
            replace({ ...place.value.query, text: (currentTarget as HTMLInputElement).value })
          }
        />
      </div>
      {sections.length === 0 && <Empty title={`Nothing is called ${text}, or has it as its value`} />}
      {sections.map(([section, lines]) => (
        <section key={section} class="config" aria-label={section}>
          <h2>{section}</h2>
          <dl>
            {lines.map(({ name, value: shown }) => (
              <div key={name}>
                <dt>{clean(name)}</dt>
                <dd>{clean(shown)}</dd>
              </div>
            ))}
          </dl>
        </section>
      ))}
    </>
  );
}
