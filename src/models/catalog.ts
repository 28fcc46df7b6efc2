// The models that there are, by the names that settings and people use. What an alias means is decided once, at the
// start: one that points to nothing is found then, and not by the first session that uses it.
//
// A source has any model of its provider: new ones come out every month, and a server at home has names of its own.

import { Fault } from "../base/fault.ts";
import { shown } from "../base/fits.ts";
import { nearest } from "../base/near.ts";
import type { Prices } from "../config/config.ts";
import type { Model } from "./model.ts";

/** Names that a refusal lists; the others are counted. */
const NAMES_SHOWN_MAX = 20;

/** Models of sources that are kept once they were made. The one not asked for longest goes, and is made again. */
const KEPT_MODELS_MAX = 1_000;

/** Characters of the id of a source's model: it is in every row and every answer of a session. */
const ID_CHARS_MAX = 256;

/** Where models of one provider come from, by any name. */
export interface ModelSource {
  readonly provider: string;
  model(name: string): Model;
  /** Those of which something is known. It has others. */
  known(): readonly KnownModel[];
}

export interface KnownModel {
  readonly id: string;
  readonly windowTokens: number;
  readonly prices: Prices | null; // null: not known
}

export class Catalog {
  readonly #models = new Map<string, Model>();
  readonly #sources = new Map<string, ModelSource>();
  /** Models of sources, by id; the latest asked for is last. */
  readonly #made = new Map<string, Model>();
  /** Maps, because a name comes from outside: an object would know `constructor`. */
  readonly #aliases = new Map<string, Model>();

  /** Aliases: a short name → the id of a model. None is itself an id, and none points to another alias. */
  constructor(
    models: readonly Model[],
    sources: readonly ModelSource[],
    aliases: Readonly<Record<string, string>>,
  ) {
    for (const model of models) {
      if (this.#models.has(model.id))
        throw new Fault("bad_input", `two models are called ${shown(model.id)}`);
      this.#models.set(model.id, model);
    }
    for (const source of sources) {
      if (this.#sources.has(source.provider))
        throw new Fault("bad_input", `two providers are called ${shown(source.provider)}`);
      this.#sources.set(source.provider, source);
    }
    for (const [alias, id] of Object.entries(aliases)) {
      const model = this.#byId(id);
      if (model === null)
        throw new Fault(
          "bad_input",
          `the alias ${shown(alias)} points to ${shown(id)}, which is no model; ${this.#known()}${this.#hint(id)}`,
        );
      if (this.#byId(alias) !== null)
        throw new Fault("bad_input", `the alias ${shown(alias)} is the id of a model; choose another name`);
      this.#aliases.set(alias, model);
    }
  }

  /** Takes `<provider>/<name>` or an alias, letter by letter. */
  find(name: string): Model {
    const model = this.get(name);
    if (model === null)
      throw new Fault("bad_input", `there is no model ${shown(name)}; ${this.#known()}${this.#hint(name)}`);
    return model;
  }

  /** Null: there is none of that name. */
  get(name: string): Model | null {
    return this.#aliases.get(name) ?? this.#byId(name);
  }

  /** Those that have a name here, in the order in which they were given. A source has others. */
  ids(): readonly string[] {
    return [...this.#models.keys()];
  }

  /** For people who look for a name: what was given, then what is known of each source. */
  known(): readonly KnownModel[] {
    const given = [...this.#models.values()].map(({ id, windowTokens, prices = null }) => ({
      id,
      windowTokens,
      prices,
    }));
    return [...given, ...[...this.#sources.values()].flatMap((source) => source.known())];
  }

  #byId(id: string): Model | null {
    return this.#models.get(id) ?? this.#ofSource(id);
  }

  #ofSource(id: string): Model | null {
    const slash = id.indexOf("/");
    const source = slash < 0 || id.length > ID_CHARS_MAX ? undefined : this.#sources.get(id.slice(0, slash));
    const name = id.slice(slash + 1);
    if (source === undefined || !/^[^\s\p{C}]+$/u.test(name)) return null;
    const model = this.#made.get(id) ?? source.model(name);
    this.#made.delete(id);
    this.#made.set(id, model);
    const [oldest] = this.#made.keys();
    if (this.#made.size > KEPT_MODELS_MAX && oldest !== undefined) this.#made.delete(oldest);
    return model;
  }

  /** What was meant, if that can be seen: a model without its provider, or a provider that is not there. */
  #hint(name: string): string {
    const slash = name.indexOf("/");
    const whole = this.known().find(({ id }) => slash < 0 && id.endsWith(`/${name}`));
    if (whole) return `; did you mean ${whole.id}?`;
    if (slash < 0 || this.#sources.size === 0 || this.#sources.has(name.slice(0, slash))) return "";
    const near = nearest(name.slice(0, slash), [...this.#sources.keys()]);
    return `${near === null ? "" : `; did you mean ${near}?`}; other providers are written down under models.providers`;
  }

  #known(): string {
    const ofSources = [...this.#sources.keys()].map((provider) => `${provider}/…`);
    const names = [...this.#models.keys(), ...ofSources, ...this.#aliases.keys()];
    const more = names.length > NAMES_SHOWN_MAX ? ` and ${names.length - NAMES_SHOWN_MAX} more` : "";
    return `known are ${names.slice(0, NAMES_SHOWN_MAX).join(", ") || "none"}${more}`;
  }
}
