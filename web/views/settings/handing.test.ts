import assert from "node:assert/strict";
import { test } from "node:test";
import { isLoopback, linkOf, suggestedName, wrongWith } from "./handing.ts";

test("a name that the daemon would refuse is refused where it is typed", () => {
  for (const name of ["", "Phone", "my phone", "naïve", "a".repeat(65), "owner", "phone", "../x"])
    assert.notEqual(wrongWith(name, ["phone"]), null, name);
  for (const name of ["tablet", "a", "_-9", "a".repeat(64), "phone2"])
    assert.equal(wrongWith(name, ["phone"]), null, name);
});

test("what is suggested is another device than this one, and not taken", () => {
  assert.equal(suggestedName([], false), "phone");
  assert.equal(suggestedName(["phone"], false), "laptop");
  assert.equal(suggestedName([], true), "laptop");
  const taken = ["phone", "laptop", "phone-2"];
  assert.equal(suggestedName(taken, false), "phone-3");
  assert.equal(wrongWith(suggestedName(taken, false), taken), null);
});

test("a link has the token behind the #, whatever is in it", () => {
  assert.equal(linkOf("https://host:1", "ab-_9"), "https://host:1/#t=ab-_9");
  assert.equal(linkOf("https://host:1", "a&b/c"), "https://host:1/#t=a%26b%2Fc");
});

test("an address that only this machine understands is known as one", () => {
  for (const name of ["localhost", "127.0.0.1", "127.1.2.3", "[::1]", "here.localhost"])
    assert.ok(isLoopback(name), name);
  for (const name of ["10.0.0.7", "127.example.org", "localhost.example.org", "[::2]"])
    assert.ok(!isLoopback(name), name);
});
