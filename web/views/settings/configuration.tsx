// The configuration that is in force. It is changed in its file, and counts from the next start: so it is shown, and how to change
// it is said.

import { many } from "../../../src/base/figures.ts";
import { clean } from "../../../src/base/harmless.ts";
import type { Output } from "../../../src/calls/door.ts";
import { Empty, Loading } from "../../parts/empty.tsx";
import { SearchField } from "../../parts/search-field.tsx";
import { useAsked } from "../../state/asking.ts";
import { place, replace } from "../../state/place.ts";
import { call } from "../../wire/call.ts";
import { lacking } from "../../wire/scope.ts";
import { linesOf, linesWith, sectionsOf } from "./flat.ts";
import { Needed, Refused } from "./refused.tsx";

export function Configuration() {
  if (lacking("admin") === undefined) return <InForce />;
  return (
    <section class="card">
      <Needed to="see the configuration" />
    </section>
  );
}

function InForce() {
  const { value, fault, again } = useAsked((signal) => call("config", {}, signal), []);
  if (fault !== null) return <Refused fault={fault} again={again} to="see the configuration" />;
  if (value === null) return <Loading what="the configuration" />;
  const text = place.value.query["text"] ?? "";
  const all = linesOf(value.config);
  const found = linesWith(all, text);
  return (
    <>
      <div class="lead-line">
        <SearchField
          label="Filter the configuration"
          placeholder="Words of a name or a value"
          value={text}
          onText={(typed) => replace({ ...place.value.query, text: typed })}
        />
        <span class="soft" role="status">
          {text.trim() === "" ? many(all.length, "value") : `${found.length} of ${many(all.length, "value")}`}
        </span>
      </div>
      <From file={value.file} />
      {found.length === 0 && <Empty title={`Nothing is called ${text}, or has it as its value`} />}
      {[...sectionsOf(found)].map(([section, lines]) => (
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

/** Where it is read from, and how it is changed. */
function From({ file }: Pick<Output<"config">, "file">) {
  return (
    <p class="hint">
      What is in force since the daemon started:{" "}
      {file === null ? (
        "defaults and its environment; there is no file"
      ) : (
        <>
          the file <code>{clean(file)}</code>, its environment, and defaults
        </>
      )}
      . Secrets are not shown.{" "}
      <code>npx sessiond config set agents.main.model anthropic/claude-sonnet-4-5</code> changes a value; it
      counts from the next start, by which nothing is lost.
    </p>
  );
}
