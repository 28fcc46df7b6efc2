// The models that there are, by the names that settings and people use. What a name means is decided once, at
// the start: an alias that points to nothing is found then, and not by the first session that uses it.

import { Fault } from "../base/fault.ts";
import { shown } from "../base/fits.ts";
import type { Model } from "./model.ts";

/** Names that a refusal lists; the others are counted. */
const NAMES_SHOWN_MAX = 20;

export class Catalog {
  readonly #models = new Map<string, Model>();
  /** Maps, because a name comes from outside: an object would know `constructor`. */
  readonly #aliases = new Map<string, Model>();

  /** Aliases: a short name → the id of a model. None is itself an id, and none points to another alias. */
  constructor(models: readonly Model[], aliases: Readonly<Record<string, string>>) {
    for (const model of models) {
      if (this.#models.has(model.id))
        throw new Fault("bad_input", `two models are called ${shown(model.id)}`);
      this.#models.set(model.id, model);
    }
    for (const [alias, id] of Object.entries(aliases)) {
      const model = this.#models.get(id);
      if (model === undefined)
        throw new Fault(
          "bad_input",
          `the alias ${shown(alias)} points to ${shown(id)}, which is no model; ${this.#known()}`,
        );
      if (this.#models.has(alias))
        throw new Fault("bad_input", `the alias ${shown(alias)} is the id of a model; choose another name`);
      this.#aliases.set(alias, model);
    }
  }

  /** Takes `<provider>/<name>` or an alias, letter by letter. */
  find(name: string): Model {
    const model = this.get(name);
    if (model === null) throw new Fault("bad_input", `there is no model ${shown(name)}; ${this.#known()}`);
    return model;
  }

  /** Null: there is none of that name. */
  get(name: string): Model | null {
    return this.#models.get(name) ?? this.#aliases.get(name) ?? null;
  }

  /** In the order in which they were given. */
  ids(): readonly string[] {
    return [...this.#models.keys()];
  }

  #known(): string {
    const names = [...this.#models.keys(), ...this.#aliases.keys()];
    const more = names.length > NAMES_SHOWN_MAX ? ` and ${names.length - NAMES_SHOWN_MAX} more` : "";
    return `known are ${names.slice(0, NAMES_SHOWN_MAX).join(", ") || "none"}${more}`;
  }
}
