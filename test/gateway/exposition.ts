// A strict reader of Prometheus' text format: what it does not know, or finds where it does not belong, is an error.

import assert from "node:assert/strict";

export interface Sample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

export interface Family {
  readonly name: string;
  readonly help: string;
  readonly type: string;
  readonly samples: Sample[];
}

const NAME = /^[a-zA-Z_:][a-zA-Z0-9_:]*$/;
const TYPES = new Set(["counter", "gauge", "histogram", "summary"]);
const SUFFIXES: Readonly<Record<string, readonly string[]>> = {
  counter: [""],
  gauge: [""],
  histogram: ["_bucket", "_sum", "_count"],
  summary: ["", "_sum", "_count"],
};

/** Families by name, in their order. */
export function parsed(text: string): ReadonlyMap<string, Family> {
  assert.ok(text.endsWith("\n"), "the last line ends");
  const families = new Map<string, Family>();
  let help: { readonly name: string; readonly text: string } | null = null;
  let family: Family | null = null;
  for (const line of text.split("\n")) {
    if (line === "") continue;
    const about = /^# (HELP|TYPE) (\S+) (.+)$/.exec(line);
    if (about?.[1] === "HELP") {
      help = { name: about[2] ?? "", text: about[3] ?? "" };
      continue;
    }
    if (about) {
      const [, , name = "", type = ""] = about;
      assert.match(name, NAME);
      assert.equal(help?.name, name, `${name} has its HELP before its TYPE`);
      assert.ok(TYPES.has(type), `${name}: ${type}`);
      assert.ok(!families.has(name), `${name} comes once`);
      family = { name, help: help?.text ?? "", type, samples: [] };
      families.set(name, family);
      continue;
    }
    assert.ok(!line.startsWith("#"), line);
    const sample = sampleIn(line);
    const of = family;
    assert.ok(of, `${line}: it belongs to nothing`);
    const names = (SUFFIXES[of.type] ?? []).map((suffix) => `${of.name}${suffix}`);
    assert.ok(names.includes(sample.name), `${sample.name} stands under ${of.name}`);
    of.samples.push(sample);
  }
  for (const each of families.values()) check(each);
  return families;
}

function sampleIn(line: string): Sample {
  const parts = /^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (\S+)$/.exec(line);
  assert.ok(parts, `no sample: ${line}`);
  const [, name = "", inside = "", value = ""] = parts;
  const labels: Record<string, string> = {};
  let rest = inside;
  while (rest !== "") {
    const label = /^([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"(?:,|$)/.exec(rest);
    assert.ok(label, `no labels: ${line}`);
    const [whole, key = "", text = ""] = label;
    assert.ok(!Object.hasOwn(labels, key), `${key} comes once: ${line}`);
    labels[key] = text.replaceAll(/\\(.)/g, (_all, each: string) => (each === "n" ? "\n" : each));
    rest = rest.slice(whole.length);
  }
  const number = value === "+Inf" ? Infinity : value === "-Inf" ? -Infinity : Number(value);
  assert.ok(value === "NaN" || !Number.isNaN(number), `no number: ${line}`);
  return { name, labels, value: number };
}

function check({ name, type, help, samples }: Family): void {
  assert.ok(help.length > 0, `${name} has words`);
  assert.equal(name.endsWith("_total"), type === "counter", `${name} is a ${type}`);
  const seen = samples.map(({ name: of, labels }) => JSON.stringify([of, Object.entries(labels).toSorted()]));
  assert.equal(new Set(seen).size, seen.length, `${name} has each series once`);
  if (type === "counter")
    assert.ok(
      samples.every(({ value }) => value >= 0),
      name,
    );
  if (type === "histogram") checkHistogram(name, samples);
}

/** Of each series: buckets that rise, the last of them without an end and equal to the count, and a sum. */
function checkHistogram(name: string, samples: readonly Sample[]): void {
  const series = Map.groupBy(samples, ({ labels: { le: _le, ...labels } }) => JSON.stringify(labels));
  for (const each of series.values()) {
    const buckets = each.filter((sample) => sample.name === `${name}_bucket`);
    const bounds = buckets.map(({ labels }) => (labels["le"] === "+Inf" ? Infinity : Number(labels["le"])));
    const counts = buckets.map(({ value }) => value);
    assert.equal(bounds.at(-1), Infinity, `${name} has a bucket without an end`);
    assert.deepEqual(
      bounds,
      bounds.toSorted((one, other) => one - other),
      name,
    );
    assert.deepEqual(
      counts,
      counts.toSorted((one, other) => one - other),
      name,
    );
    const count = each.filter((sample) => sample.name === `${name}_count`).map(({ value }) => value);
    assert.deepEqual(count, [counts.at(-1)], name);
    assert.equal(each.filter((sample) => sample.name === `${name}_sum`).length, 1, name);
  }
}
