// Lists of sessions, and what all pages have in common.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import * as fc from "fast-check";
import { PAGE_ROWS_MAX } from "../../limits.ts";
import { parseKey, type SessionKey } from "../../routing/key.ts";
import type { Session } from "../../sessions/session.ts";
import type { Change } from "../change.ts";
import type { PageOf, SessionQuery } from "../store.ts";
import { pages, refused, type Corner } from "./corner.ts";
import { ended, noted, said } from "./samples.ts";

export function listContract(corner: () => Corner): void {
  describe("lists", () => {
    test("the session that changed last comes first, to the second; then the one born last", async () => {
      const at = corner();
      at.world.pass(1_000 - (at.world.nowMs() % 1_000)); // a second begins
      const [a, b, c] = [await at.open("a"), await at.open("b"), await at.open("c")];
      assert.deepEqual(await list(at, {}), [c, b, a]);
      at.world.pass(999);
      await at.append(a, [noted(1)]);
      assert.deepEqual(await list(at, {}), [c, b, a]); // still the same second
      at.world.pass(1);
      await at.store.commit([{ do: "charge", key: a, usage: { steps: 1 } }]);
      assert.deepEqual(await list(at, {}), [a, c, b]);
      await at.append(b, [said("x")]);
      assert.deepEqual(await list(at, {}), [b, a, c]);
      at.world.pass(1_000);
      await at.run(c, { kind: "queued", sinceMs: 1 });
      assert.deepEqual(await list(at, {}), [c, b, a]);
      await at.reopen();
      assert.deepEqual(await list(at, {}), [c, b, a]);
    });

    test("each property alone finds the sessions that have it", async () => {
      const at = corner();
      const root = await at.open("root");
      const labelled = await at.open("labelled", { settings: { label: at.id("label") } });
      at.world.pass(10_000);
      const child = await at.open("child", { parent: root });
      const main = await at.open("", { key: parseKey(`agent:${at.agent}:main`) });
      await at.run(main, { kind: "waiting", sinceMs: 1, for: "person" });
      await at.append(child, [said(`${at.id("Title")} of it`)]);
      const only = async (query: SessionQuery): Promise<SessionKey[]> => {
        const rows = await pages((page) => at.store.sessions({ ...query, ...page }));
        return rows.filter(({ agent }) => agent === at.agent).map(({ key }) => key);
      };
      assert.deepEqual(await only({ agent: at.agent }), [main, child, labelled, root]);
      assert.deepEqual(await only({ agent: "nobody" }), []);
      assert.deepEqual(await only({ kind: "main" }), [main]);
      assert.deepEqual(await only({ state: "waiting" }), [main]);
      assert.deepEqual(await only({ parent: root }), [child]);
      assert.deepEqual(await only({ label: at.id("label") }), [labelled]);
      assert.deepEqual(await only({ label: at.id("lab") }), []);
      assert.deepEqual(await only({ titlePrefix: at.id("title").toUpperCase() }), [child]);
      assert.deepEqual(await only({ updatedSinceMs: at.world.nowMs() }), [main, child]);
      assert.deepEqual(await only({ updatedSinceMs: at.world.nowMs() - 10_000 }), [
        main,
        child,
        labelled,
        root,
      ]);
      assert.deepEqual(await only({ updatedSinceMs: at.world.nowMs() + 1 }), []);
    });

    test("by title sessions come in the order of their titles, whatever their case", async () => {
      const at = corner();
      const titles = ["Zoo", "ant", "Äpfel", "Ants", "", "b%_a", "B\\", "ﬀ", "🎉 party", "\uFFFDx", "ANT"];
      for (const [n, title] of titles.entries()) {
        // The label goes first; without one it is what a person said.
        const key = await at.open(`${n}`, { settings: { label: n % 2 === 0 ? title : null } });
        if (n % 2 === 1) await at.append(key, [said(title)]);
        else await at.append(key, [said("not shown")]);
      }
      const shown = async (titlePrefix: string): Promise<(string | undefined)[]> => {
        const found = await pages((page) => at.store.sessions({ ...page, agent: at.agent, titlePrefix }));
        return found.map(({ key }) => titles[Number(key.split(":").at(-1))]);
      };
      const ordered = ["", "ant", "ANT", "Ants", "B\\", "b%_a", "Zoo", "Äpfel", "ﬀ", "\uFFFDx", "🎉 party"];
      ordered.splice(4, 2, "b%_a", "B\\"); // "%" stands before "\"
      assert.deepEqual(await shown(""), ordered);
      assert.deepEqual(await shown("an"), ["ant", "ANT", "Ants"]);
      assert.deepEqual(await shown("ANTS"), ["Ants"]);
      assert.deepEqual(await shown("ä"), ["Äpfel"]);
      assert.deepEqual(await shown("b%"), ["b%_a"]);
      assert.deepEqual(await shown("B\\"), ["B\\"]);
      assert.deepEqual(await shown("🎉"), ["🎉 party"]);
      assert.deepEqual(await shown("not"), []); // it is not shown
      assert.deepEqual(await shown("oo"), []); // nobody begins so
      assert.deepEqual(await shown("*"), []);
    });

    test("by words sessions are found that have each of them in the key or in the title that is shown", async () => {
      const at = corner();
      const label = "Budget of the Müller GmbH (2026)";
      const key = await at.open("prices", { settings: { label } });
      await at.append(key, [said("not shown")]);
      const other = await at.talk("other", ["the budget %_ of [a-z]+ \\ 🎉"]);
      const secret = await at.talk("secret", ["log in with password: Hunter2Hunter2"]);
      at.world.pass(1_000);
      await at.append(other, [noted(1)]);
      const found = (text: string): Promise<SessionKey[]> => list(at, { text });
      assert.deepEqual(await found(""), [other, secret, key]);
      assert.deepEqual(await found(" \t\n "), [other, secret, key]);
      assert.deepEqual(await found("BUDGET"), [other, key]);
      assert.deepEqual(await found("  müller\t budg  "), [key]); // in any order
      assert.deepEqual(await found("budgetof"), []); // each is looked for as it is
      assert.deepEqual(await found("PRICES budget"), [key]); // one in the key, one in the title
      assert.deepEqual(await found(`agent:${at.agent}: ORice`), []);
      assert.deepEqual(await found(key), [key]);
      assert.deepEqual(await found("prices budget nowhere"), []);
      assert.deepEqual(await found("shown"), []); // a label goes first
      for (const plain of ["%", "_", "[a-z]+", "\\", "🎉"]) assert.deepEqual(await found(plain), [other]);
      assert.deepEqual(await found(".*"), []);
      // What is not shown of a title is not looked through.
      assert.deepEqual(await found("hunter2"), []);
      assert.deepEqual(await found("password log"), [secret]);
      assert.deepEqual(await list(at, { text: "budget", titlePrefix: "bud" }), [key]);
      for (const [titlePrefix, those] of [
        ["log in with PASSWORD: ", [secret]],
        ["log in with password: h", []],
        ["log in with password: hunter2hunter2", []],
        ["log in with password: [", []],
      ] as const)
        assert.deepEqual(await list(at, { titlePrefix }), those, titlePrefix);
    });

    test("a label that is set, changed or taken away moves the session in the lists", async () => {
      const at = corner();
      const key = await at.talk("a", [`${at.id("said")}`]);
      const found = async (): Promise<boolean[]> => {
        const queries = [
          { titlePrefix: at.id("said") },
          { titlePrefix: at.id("label") },
          { label: at.id("label") },
        ];
        const lists = await Promise.all(queries.map((query) => at.store.sessions(query)));
        return lists.map(({ rows }) => rows.length === 1);
      };
      assert.deepEqual(await found(), [true, false, false]);
      await at.store.commit([{ do: "set", key, version: null, settings: { label: at.id("label") } }]);
      assert.deepEqual(await found(), [false, true, true]);
      await at.store.commit([{ do: "set", key, version: null, settings: { label: null } }]);
      assert.deepEqual(await found(), [true, false, false]);
    });

    test("any properties together find what has them all, and any pages show each of these once", async () => {
      const at = corner();
      const born = await crowd(at);
      const query = fc.record(
        {
          agent: fc.constant(at.agent as string),
          kind: fc.constantFrom("thread" as const, "main" as const),
          state: fc.constantFrom("idle" as const, "queued" as const, "ended" as const),
          parent: fc.constantFrom(...born.slice(0, 3)),
          label: fc.constantFrom("red", "Red", "blue"),
          titlePrefix: fc.constantFrom("", "r", "RE", "Blue", "said 1", "x"),
          text: fc.constantFrom("", " ", "ED", "1 sAid", "said 1", "3", "main re", "x"),
          updatedSinceMs: fc.integer({ min: 0, max: 12_000 }).map((ms) => at.world.nowMs() - ms),
        },
        { requiredKeys: ["agent"] },
      );
      const property = fc.asyncProperty(query, fc.integer({ min: 1, max: 50 }), async (asked, limit) => {
        const all = await Promise.all(born.map((key) => at.row(key)));
        const expected = all.filter((row) => fits(row, asked)).map(({ key }) => key);
        const rows = await pages((page) => at.store.sessions({ ...asked, ...page }), limit);
        const order = rows.map((row) => placeOf(row, asked, born));
        assert.deepEqual(rows.map(({ key }) => key).sort(), expected.sort());
        assert.deepEqual(
          order,
          order.toSorted((a, b) => (a < b ? -1 : 1)),
        );
      });
      await fc.assert(property, { numRuns: 60 });
    });

    test("a cursor that no page gave is bad_input", async () => {
      const at = corner();
      const key = await at.talk("a", ["x"]);
      const encode = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString("base64url");
      const wrong = [
        ...["", " ", "0", "1", "100", "-1", "NaN", "null", "undefined", "[]", "[0,0]", "💥", "x".repeat(1e5)],
        ...[null, [], {}, "x", 0, [null], [[]], [true], [0, null], [0, 0, 0], ["a", "b"]].map(encode),
      ];
      for (const cursor of wrong) {
        await refused("bad_input", at.store.sessions({ cursor }));
        await refused("bad_input", at.store.sessions({ cursor, titlePrefix: "" }));
        await refused("bad_input", at.store.mail(key, { cursor }));
        await refused("bad_input", at.store.outbox({ cursor, refused: false }));
        await refused("bad_input", at.store.timers({ cursor, dueByMs: 0 }));
      }
      // Of the wrong list, and places that nobody is at.
      await refused("bad_input", at.store.sessions({ cursor: encode(["a", 1]) }));
      await refused("bad_input", at.store.sessions({ cursor: encode([1, 1]), titlePrefix: "" }));
      await refused("bad_input", at.store.mail(key, { cursor: encode(["x"]) }));
      for (const far of [1e308, -1e308, 0.5]) {
        await at.store.sessions({ cursor: encode([far, far]) });
        await at.store.mail(key, { cursor: encode([far]) });
        await at.store.timers({ cursor: encode([far, ""]), dueByMs: 0 });
      }
    });

    test("a page has at least one row and at most the largest page, whatever was asked for", async () => {
      const at = corner();
      const key = await at.open("a");
      const many = Array.from({ length: PAGE_ROWS_MAX + 20 }, (_, n) => n);
      const from = { kind: "internal_system", cause: "test" } as const;
      await at.store.commit(many.map((n) => at.posting(key, `${n}`, { from })));
      await at.store.commit(many.map((n) => at.sending(`${n}`, key)));
      await at.store.commit(
        many.map((n): Change => ({ do: "setTimer", timer: at.timer(`${n}`, key), expectDueAtMs: null })),
      );
      await at.store.commit(many.map((n) => at.opening(at.key(`${n}`))));
      const lists: readonly ((page: PageOf) => Promise<{ readonly rows: readonly unknown[] }>)[] = [
        (page) => at.store.mail(key, page),
        (page) => at.store.outbox({ ...page, refused: false }),
        (page) => at.store.timers({ ...page, dueByMs: Number.MAX_SAFE_INTEGER }),
        (page) => at.store.sessions({ ...page, agent: at.agent }),
        (page) => at.store.sessions({ ...page, agent: at.agent, titlePrefix: "" }),
      ];
      for (const read of lists) {
        for (const limit of [0, -1, 0.5, -Infinity]) assert.equal((await read({ limit })).rows.length, 1);
        assert.equal((await read({ limit: 2.9 })).rows.length, 2);
        for (const limit of [PAGE_ROWS_MAX + 1, 1e9, Infinity])
          assert.equal((await read({ limit })).rows.length, PAGE_ROWS_MAX);
        for (const page of [{}, { limit: Number.NaN }]) assert.equal((await read(page)).rows.length, 100);
      }
    });
  });
}

async function list(at: Corner, query: SessionQuery): Promise<SessionKey[]> {
  const rows = await pages((page) => at.store.sessions({ ...query, ...page, agent: at.agent }));
  return rows.map(({ key }) => key);
}

/** Sessions that differ in everything a list can be asked for, in the order of their birth. */
async function crowd(at: Corner): Promise<SessionKey[]> {
  const born: SessionKey[] = [];
  for (let n = 0; n < 40; n += 1) {
    const key = n === 20 ? parseKey(`agent:${at.agent}:main`) : at.key(`${n}`);
    const parent = n > 6 && n % 3 === 0 ? (born[[0, 1, 3, 4][n % 4] ?? 0] ?? null) : null; // Who lives.
    const label = ["red", "Red", "blue", null][n % 4] ?? null;
    const changes: Change[] = [at.opening(key, { parent, settings: { label } })];
    const state = [null, { kind: "queued", sinceMs: n } as const, ended(n)][n % 5];
    if (state) changes.push({ do: "run", key, fence: 0, state });
    await at.store.commit(changes);
    if (n % 2 === 1) await at.append(key, [said(`Said ${n}`)]);
    born.push(key);
    if (n % 7 === 0) at.world.pass(1_700);
  }
  for (const key of born.filter((_, n) => n % 6 === 0)) await at.append(key, [said("again")]);
  return born;
}

/** What the interface says in words: every given property must match. */
function fits(row: Session, query: SessionQuery): boolean {
  const shown = row.settings.label ?? row.title;
  return Object.entries(query).every(([name, value]) => {
    if (name === "state") return row.state.kind === value;
    if (name === "label") return row.settings.label === value;
    if (name === "titlePrefix") return shown.toLowerCase().startsWith(String(value).toLowerCase());
    if (name === "text") return isSubset(String(value), `${row.key} ${shown}`);
    if (name === "updatedSinceMs") return row.updatedAtMs >= Number(value);
    return row[name as "agent" | "kind" | "parent"] === value;
  });
}

function isSubset(words: string, text: string): boolean {
  const wanted = words.split(" ").filter((word) => word !== "");
  return wanted.every((word) => new RegExp(word, "i").test(text)); // those of the crowd are plain letters
}

/** Text that sorts as the list should. All titles of the crowd are plain ASCII. */
function placeOf(row: Session, query: SessionQuery, born: readonly SessionKey[]): string {
  const birth = born.indexOf(row.key);
  if (query.titlePrefix !== undefined) {
    return `${(row.settings.label ?? row.title).toLowerCase()}\0${birth.toString().padStart(4, "0")}`;
  }
  const second = Math.floor(row.updatedAtMs / 1_000);
  return `${(1e12 - second).toString().padStart(14, "0")} ${(9_999 - birth).toString().padStart(4, "0")}`;
}
