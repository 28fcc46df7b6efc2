import assert from "node:assert/strict";
import { test } from "node:test";
import { redirectIn, Redirected } from "./redirect.ts";

function answered(status: number, location: string | null): Response {
  const response = new Response(null, { status, headers: location === null ? {} : { location } });
  return Object.defineProperty(response, "url", { value: "https://a.example/v1/messages" });
}

test("a redirect says where to, also without an origin; what is none says nothing", () => {
  for (const status of [301, 302, 303, 307, 308])
    assert.equal(redirectIn(answered(status, "/v2"))?.href, "https://a.example/v2");
  assert.equal(redirectIn(answered(307, "http://b.example:81/x"))?.origin, "http://b.example:81");
  for (const [status, location] of [
    [200, "/v2"],
    [304, "/v2"],
    [307, null],
    [307, "http://["],
  ] as const)
    assert.equal(redirectIn(answered(status, location)), null);
});

test("only the origin of another address is told", () => {
  const { message } = new Redirected(
    new URL("https://ann:pass@b.example/secret?key=secret#secret"),
    "set it",
  );
  assert.equal(message, "it redirects to another address, at https://b.example; set it");
});
