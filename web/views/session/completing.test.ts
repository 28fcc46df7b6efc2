import assert from "node:assert/strict";
import { test } from "node:test";
import { choicesFor, isCommand, withoutEscape, type Commands } from "./completing.ts";

const COMMANDS: Commands = [
  { name: "help", aliases: [], takes: "[command]", words: [], about: "this" },
  { name: "status", aliases: ["info"], takes: "", words: [], about: "what it does" },
  { name: "model", aliases: [], takes: "[model]", words: ["default", "rehearsal/small", "small"], about: "" },
];

function texts(text: string): readonly string[] {
  return choicesFor(text, COMMANDS).map((each) => each.text);
}

test("a name goes on with every command that begins so, and with a space where something may follow", () => {
  assert.deepEqual(texts("/"), ["/help ", "/status", "/model "]);
  assert.deepEqual(texts("/St"), ["/status"]);
  assert.deepEqual(texts("/in"), ["/info"], "by the alias that was begun");
  assert.deepEqual(texts("/nothing"), []);
});

test("the first word goes on with those that begin so, then with those that have it somewhere", () => {
  assert.deepEqual(texts("/model s"), ["/model small", "/model rehearsal/small"]);
  assert.deepEqual(texts("/model small"), ["/model rehearsal/small"], "what is whole is no choice");
  assert.deepEqual(texts("/help mo"), ["/help model"]);
  assert.deepEqual(texts("/model small and more"), []);
});

test("a message is none, whatever is in it", () => {
  assert.deepEqual(texts("hello /st"), []);
  assert.deepEqual(texts("/st\nmore"), []);
  assert.deepEqual(texts("//etc/hosts"), []);
  assert.deepEqual(texts("/etc/hosts"), []);
  assert.equal(isCommand("/status"), true);
  assert.equal(isCommand("//status"), false, "two slashes stand for one");
  assert.equal(isCommand("what is /status"), false);
  assert.equal(withoutEscape("//etc"), "/etc");
});
