import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { DEFAULT_AGENT, namedKey, type SessionKey } from "../routing/key.ts";
import type { Claim } from "./store.ts";
import { Leases } from "./leases.ts";

const [A, B] = [namedKey(DEFAULT_AGENT, "a"), namedKey(DEFAULT_AGENT, "b")];

test("a session that nobody claimed is free and has fence 0", () => {
  const leases = new Leases();
  assert.equal(leases.isFree(A, 0), true);
  assert.equal(leases.fenceOf(A), 0);
});

test("a lease holds until its time, not at it", () => {
  const leases = new Leases();
  const { fence } = leases.claim("one", A, 1_000);
  assert.deepEqual([leases.isFree(A, 999), leases.isFree(A, 1_000)], [false, true]);
  assert.equal(leases.fenceOf(A), fence);
  assert.equal(leases.isFree(B, 0), true);
});

test("the owner renews what is still its own, also when its time had passed", () => {
  const leases = new Leases();
  const a = leases.claim("one", A, 1_000);
  assert.deepEqual(leases.renew([a, { key: B, fence: 0 }], 2_000), [a]);
  assert.equal(leases.isFree(A, 1_999), false);
  assert.deepEqual(leases.renew([a], 9_000), [a]);
  assert.deepEqual(leases.renew([{ key: A, fence: a.fence + 1 }], 9_000), []);
  const b = leases.claim("one", A, 9_000); // the same owner: what it held before is lost all the same
  assert.deepEqual(leases.renew([a], 9_999), []);
  assert.deepEqual(leases.renew([b], 9_999), [b]);
});

test("a released lease is free, is nobody's to renew, and keeps its fence", () => {
  const leases = new Leases();
  const claim = leases.claim("one", A, 1_000);
  leases.release([{ key: A, fence: claim.fence + 1 }]);
  assert.equal(leases.isFree(A, 0), false);
  leases.release([claim, { key: B, fence: 0 }]);
  assert.equal(leases.isFree(A, 0), true);
  assert.deepEqual(leases.renew([claim], 1_000), []);
  assert.equal(leases.fenceOf(A), claim.fence);
});

test("a session that is forgotten begins anew, and its old fence is never given again", () => {
  const leases = new Leases();
  const claim = leases.claim("one", A, 1_000);
  leases.forget(A);
  assert.deepEqual([leases.fenceOf(A), leases.isFree(A, 0)], [0, true]);
  assert.deepEqual(leases.renew([claim], 1_000), []);
  assert.ok(leases.claim("two", A, 1_000).fence > claim.fence);
});

test("forgetting can be taken back", () => {
  const leases = new Leases();
  const claim = leases.claim("one", A, 1_000);
  const takeBack = leases.forget(A);
  takeBack();
  assert.deepEqual([leases.fenceOf(A), leases.isFree(A, 999)], [claim.fence, false]);
  leases.forget(B)(); // of which there was none
  assert.equal(leases.isFree(B, 0), true);
});

test("whatever owners do, a fence is given once, and later ones are larger", () => {
  const key = fc.constantFrom<SessionKey>(A, B);
  const owner = fc.constantFrom("one", "two");
  const step = fc.oneof(
    fc.record({ do: fc.constant("claim" as const), owner, key }),
    fc.record({ do: fc.constant("renew" as const), owner, key }),
    fc.record({ do: fc.constant("release" as const), owner, key }),
    fc.record({ do: fc.constant("forget" as const), owner, key }),
  );
  const property = fc.property(fc.array(step), (steps) => {
    const leases = new Leases();
    const claims: Claim[] = [];
    const last = new Map<SessionKey, number>();
    let largest = 0;
    for (const [nowMs, each] of steps.entries()) {
      if (each.do === "claim" && leases.isFree(each.key, nowMs)) {
        const claim = leases.claim(each.owner, each.key, nowMs + 3);
        assert.ok(claim.fence > largest);
        largest = claim.fence;
        last.set(each.key, claim.fence);
        claims.push(claim);
      }
      if (each.do === "renew") {
        // Of all claims that were ever made, only the last one of a session holds.
        for (const { key: held, fence } of leases.renew(claims, nowMs + 3))
          assert.equal(fence, last.get(held));
      }
      if (each.do === "release") leases.release(claims.filter((claim) => claim.key === each.key));
      if (each.do === "forget") leases.forget(each.key);
      assert.ok([0, last.get(each.key)].includes(leases.fenceOf(each.key)));
    }
  });
  fc.assert(property, { numRuns: 500 });
});
