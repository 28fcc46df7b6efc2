// Models by who provides them. Those that can be asked now come first; each can be tried, which is a real call.

import type { Output } from "../../../src/calls/door.ts";
import { count } from "../../../src/base/figures.ts";
import { Empty, Loading, Trouble } from "../../parts/empty.tsx";
import { SearchField } from "../../parts/search-field.tsx";
import { Dot } from "../../parts/state.tsx";
import { useAsked } from "../../state/asking.ts";
import { place, replace } from "../../state/place.ts";
import { call } from "../../wire/call.ts";
import { lacking } from "../../wire/scope.ts";
import { isFree, price, priceWords, providedIn, type Provided } from "./provided.ts";
import { Tested, useTests } from "./testing.tsx";

export function Models() {
  const { value, fault, again } = useAsked((signal) => call("models", {}, signal), []);
  const tests = useTests();
  if (fault !== null) return <Trouble fault={fault} again={again} />;
  if (value === null) return <Loading what="models" />;
  const text = place.value.query["text"] ?? "";
  const provided = providedIn(value, text);
  return (
    <>
      <div class="lead-line">
        <SearchField
          label="Filter the models"
          placeholder="Filter the models"
          value={text}
          onText={(typed) => replace({ ...place.value.query, text: typed })}
        />
        <p class="hint">
          Prices are dollars for a million tokens. <b>Test</b> asks one short question, and that is paid.
        </p>
      </div>
      <Aliases aliases={value.aliases} />
      {provided.length === 0 && <Empty title={`No model is called ${text}`} />}
      {provided.map((each) => (
        <Provider key={each.provider} of={each} isOpen={each.isUsable || text !== ""} tests={tests} />
      ))}
    </>
  );
}

function Aliases({ aliases }: Pick<Output<"models">, "aliases">) {
  const all = Object.entries(aliases);
  if (all.length === 0) return null;
  return (
    <dl class="aliases">
      {all.map(([alias, model]) => (
        <div key={alias}>
          <dt>
            <code>{alias}</code>
          </dt>
          <dd>
            is <code>{model}</code>
          </dd>
        </div>
      ))}
    </dl>
  );
}

interface ProviderParts {
  readonly of: Provided;
  readonly isOpen: boolean;
  readonly tests: ReturnType<typeof useTests>;
}

function Provider({ of, isOpen, tests }: ProviderParts) {
  return (
    <details class="provider card" open={isOpen}>
      <summary>
        <h2>{of.provider}</h2>
        <Dot is={of.isUsable ? "good" : "idle"}>{of.words}</Dot>
        <small>{of.models.length}</small>
      </summary>
      {of.todo !== null && <p class="hint">{of.todo}</p>}
      <table class="table" aria-label={`Models of ${of.provider}`}>
        <thead>
          <tr>
            <th scope="col">Model</th>
            <th scope="col" class="figure window">
              Window
            </th>
            <th scope="col" class="figure price">
              In
            </th>
            <th scope="col" class="figure price">
              Cached
            </th>
            <th scope="col" class="figure price">
              Out
            </th>
            <th scope="col" class="test">
              <span class="hidden">Whether it answers</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {of.models.map((model) => (
            <Model key={model.id} model={model} of={of} tests={tests} />
          ))}
        </tbody>
      </table>
    </details>
  );
}

interface ModelParts {
  readonly model: Output<"models">["models"][number];
  readonly of: Provided;
  readonly tests: ReturnType<typeof useTests>;
}

function Model({ model: { id, windowTokens, prices }, of, tests }: ModelParts) {
  return (
    <tr>
      <th scope="row">
        <code>
          {id.slice(0, id.indexOf("/") + 1)}
          <wbr />
          {id.slice(id.indexOf("/") + 1)}
        </code>
        <small class="narrow">
          {count(windowTokens)} · {priceWords(prices)}
        </small>
      </th>
      <td class="figure window">{count(windowTokens)}</td>
      {prices === null || isFree(prices) ? (
        <td class="figure soft price" colSpan={3}>
          {prices === null ? "not known" : "free"}
        </td>
      ) : (
        [prices.input, prices.cacheRead, prices.output].map((each, at) => (
          <td key={at} class="figure price">
            {price(each)}
          </td>
        ))
      )}
      <td class="test">
        <Tested
          model={id}
          tests={tests}
          unless={lacking("operate") ?? (of.isUsable ? undefined : of.words)}
        />
      </td>
    </tr>
  );
}
