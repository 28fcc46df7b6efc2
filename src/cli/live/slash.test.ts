import assert from "node:assert/strict";
import { test } from "node:test";
import { COMMANDS } from "../../calls/commands.ts";
import { completionOf } from "./slash.ts";

/** As the call `commands` lists them. */
const LISTED = COMMANDS.map(({ name, aliases = [], takes, words = [], about }) => {
  return { name, aliases: [...aliases], takes, words: [...words], about };
});

test("what is begun goes on as far as all that fit do, and one that is clear has a space behind it", () => {
  const cases: Readonly<Record<string, string>> = {
    "/su": "bagents ",
    "/SU": "bagents ",
    "/subagents": " ",
    "/con": "t",
    "/cont": "",
    "/res": "et ", // another name of /new
    "/q": "u",
    "/qui": "t ", // the terminal's own
    "/subagents s": "",
    "/subagents sp": "awn ",
    "/cron a": "dd ",
    "/cron r": "",
    "/cron ru": "n",
    "/think h": "igh ",
    "/kill a": "ll ",
    "/help sta": "tus ",
    "/model x": "",
    "/none x": "",
    "/xyz": "",
  };
  for (const [begun, more] of Object.entries(cases))
    assert.equal(completionOf(begun, LISTED).more, more, begun);
});

test("what may be several things lists them", () => {
  assert.deepEqual(completionOf("/st", LISTED).choices, ["/status", "/stop", "/steer"]);
  assert.deepEqual(completionOf("/cron r", LISTED).choices, ["run", "runs", "rm"]);
  const all = completionOf("/", LISTED);
  assert.equal(all.more, "");
  for (const { name, aliases = [] } of COMMANDS)
    for (const each of [name, ...aliases]) assert.ok(all.choices.includes(`/${each}`), each);
  for (const name of ["subagents", "cron"]) {
    const { words = [] } = COMMANDS.find((each) => each.name === name) ?? {};
    assert.ok(words.length > 4);
    assert.deepEqual(completionOf(`/${name} `, LISTED).choices, words);
  }
  for (const begun of ["/xyz", "/stop x", "/model "])
    assert.deepEqual(completionOf(begun, LISTED).choices, []);
});
