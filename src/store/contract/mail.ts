// Letters.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { LETTER_BYTES_MAX, MAILBOX_LETTERS_MAX, MAIL_ID_KEPT_MS, PAGE_BYTES_MAX } from "../../limits.ts";
import type { Letter } from "../../mail/letter.ts";
import type { Block } from "../../transcript/entry.ts";
import type { Change } from "../change.ts";
import { pages, refused, withoutTrace, type Corner } from "./corner.ts";
import { ended, letterOf } from "./samples.ts";

export function mailContract(corner: () => Corner): void {
  describe("mail", () => {
    test("letters wait in the order they were posted, as they were written", async () => {
      const at = corner();
      const key = await at.open("a");
      const from = { kind: "inter_session", source: at.key("b"), tool: null } as const;
      const content = [{ type: "text", text: "\ud800 \0 é 🎉\n" }] as const;
      const replyTo = { channel: "c", to: "t", thread: "5" };
      const odd: Partial<Letter> = { from, content, replyTo, class: "background", mode: "collect" };
      await at.post(key, "z", odd);
      at.world.pass(10);
      await at.store.commit([at.posting(key, "a"), at.posting(key, "m")]);
      const check = async (): Promise<void> => {
        const mail = await at.mail(key);
        assert.deepEqual(await at.waiting(key), ["z", "a", "m"]);
        const postedAtMs = at.world.nowMs() - 10;
        const id = `ext:${at.id("z")}`;
        assert.deepEqual(mail[0], { ...letterOf(id, "z"), ...odd, to: key, postedAtMs });
        assert.deepEqual(await pages((page) => at.store.mail(key, page), 1), mail);
      };
      await check();
      await at.reopen();
      await check();
    });

    test("posting does not change the recipient's row, nor does taking", async () => {
      const at = corner();
      const key = await at.open("a");
      const before = await at.row(key);
      const cursor = await at.now();
      at.world.pass(5_000);
      await at.post(key, "x");
      assert.deepEqual(await at.row(key), before);
      await at.store.commit([{ do: "take", key, fence: 0, ids: [`ext:${at.id("x")}`] }]);
      assert.deepEqual(await at.row(key), before);
      assert.deepEqual((await at.feed(cursor)).changes, []);
    });

    test("the same letter again gets the first receipt again: while it waits, when it was taken, after a restart", async () => {
      const at = corner();
      const key = await at.open("a");
      const id = `ext:${at.id("x")}`;
      assert.deepEqual(await at.post(key, "x"), { id, to: key, repeated: false });
      assert.deepEqual(await at.post(key, "x"), { id, to: key, repeated: true });
      const twice = await at.store.commit([at.posting(key, "y"), at.posting(key, "y")]);
      assert.deepEqual(
        twice.posts.map(({ repeated }) => repeated),
        [false, true],
      );
      assert.deepEqual(await at.waiting(key), ["x", "y"]);
      await at.store.commit([{ do: "take", key, fence: 0, ids: [id] }]);
      assert.deepEqual(await at.post(key, "x"), { id, to: key, repeated: true });
      await at.reopen();
      assert.deepEqual(await at.post(key, "x"), { id, to: key, repeated: true });
      // To whomever it is addressed this time, and whether or not they are there.
      assert.deepEqual(await at.post(at.key("nobody"), "x"), { id, to: key, repeated: true });
      assert.deepEqual(await at.waiting(key), ["y"]);
      await at.store.commit([
        { do: "take", key, fence: 0, ids: [`ext:${at.id("y")}`] },
        { do: "run", key, fence: 0, state: ended(1) },
      ]);
      assert.deepEqual(await at.post(key, "x"), { id, to: key, repeated: true });
      assert.deepEqual(await at.waiting(key), []);
    });

    test("another letter under a used id is a conflict, also when the first was taken", async () => {
      const at = corner();
      const key = await at.open("a");
      await at.post(key, "x");
      const other = at.posting(key, "x", { content: [{ type: "text", text: "other" }] });
      await withoutTrace(at, "conflict", [other]);
      await withoutTrace(at, "conflict", [at.posting(key, "x", { mode: "interrupt" })]);
      await at.store.commit([{ do: "take", key, fence: 0, ids: [`ext:${at.id("x")}`] }]);
      await withoutTrace(at, "conflict", [other]);
      await at.reopen();
      await withoutTrace(at, "conflict", [other]);
    });

    test("a letter is taken once, by its recipient", async () => {
      const at = corner();
      const [a, b] = [await at.open("a"), await at.open("b")];
      const [x, y] = [await at.post(a, "x"), await at.post(b, "y")];
      await at.post(a, "z"); // so that a letter which is put back could be seen to have lost its place
      const wrong = [[x.id, x.id], [y.id], [x.id, y.id], ["ext:none"], [""]];
      for (const ids of wrong) {
        await withoutTrace(at, "stale_writer", [
          { do: "charge", key: a, usage: { steps: 1 } },
          { do: "take", key: a, fence: 0, ids },
        ]);
      }
      const take = { do: "take", key: a, fence: 0, ids: [x.id] } as const;
      const taken = await Promise.allSettled([at.store.commit([take]), at.store.commit([take])]);
      assert.deepEqual(
        taken.map(({ status }) => status),
        ["fulfilled", "rejected"],
      );
      assert.deepEqual([await at.waiting(a), await at.waiting(b)], [["z"], ["y"]]);
      await withoutTrace(at, "stale_writer", [take]);
    });

    test("a letter goes to the first of its addresses that has not ended", async () => {
      const at = corner();
      const [a, b, c] = [await at.open("a"), await at.open("b"), await at.open("c")];
      const nobody = at.key("nobody");
      assert.equal((await at.post([a, b, c], "1")).to, a);
      await at.end(a);
      assert.equal((await at.post([nobody, a, b, c], "2")).to, b);
      // Also when it ends, or is opened, earlier in the same commit.
      const late = at.key("late");
      const receipt = await at.store.commit([
        { do: "run", key: b, fence: 0, state: ended(1) },
        at.posting([a, b, c], "3"),
        at.opening(late),
        at.posting([late, c], "4"),
      ]);
      assert.deepEqual(
        receipt.posts.map(({ to }) => to),
        [c, late],
      );
    });

    test("a letter that nobody can read is refused, with the reason", async () => {
      const at = corner();
      const key = await at.open("a");
      await at.end(key);
      const nobody = at.key("nobody");
      await withoutTrace(at, "ended", [at.posting(key, "x")]);
      await withoutTrace(at, "ended", [at.posting([nobody, key], "x")]);
      await withoutTrace(at, "not_found", [at.posting([nobody, at.key("neither")], "x")]);
    });

    test("a mailbox is full for people and what sessions send, and never for the system itself or for answers", async () => {
      const at = corner();
      const [key, ancestor] = [await at.open("a"), await at.open("b")];
      const many = Array.from({ length: MAILBOX_LETTERS_MAX - 1 }, (_, n) =>
        at.posting([key, ancestor], `${n}`),
      );
      const cause = { from: { kind: "internal_system", cause: "test" } } as const;
      await at.store.commit([at.posting(key, "own", cause), ...many]);
      const sister = { from: { kind: "inter_session", source: key, tool: "sessions_send" } } as const;
      const answer = { from: { kind: "inter_session", source: key, tool: null } } as const;
      await withoutTrace(at, "mailbox_full", [at.posting(key, "last"), at.posting(key, "one more")]);
      await at.post(key, "last");
      await withoutTrace(at, "mailbox_full", [at.posting(key, "one more", sister)]);
      await at.post(key, "system", cause);
      await at.post(key, "answer", answer);
      assert.equal((await at.post([key, ancestor], "0")).repeated, true); // which takes no room
      await at.store.commit([{ do: "take", key, fence: 0, ids: [`ext:${at.id("0")}`] }]);
      await at.post(key, "one more", sister);
      // What is forwarded was accepted before, so it finds room.
      await at.post([key, ancestor], "system too", cause);
      await at.store.commit(
        Array.from({ length: MAILBOX_LETTERS_MAX }, (_, n) => at.posting(ancestor, `ancestor ${n}`)),
      );
      const alone = ["own", "last", "system", "answer", "one more"].map((name) => `ext:${at.id(name)}`);
      await at.store.commit([
        { do: "take", key, fence: 0, ids: alone },
        { do: "run", key, fence: 0, state: ended(1) },
      ]);
      assert.equal((await at.waiting(ancestor)).length, 2 * MAILBOX_LETTERS_MAX - 1);
    });

    test("the id of a taken letter from outside is forgotten after 30 days, that of a cause is not", async () => {
      const at = corner();
      const key = await at.open("a");
      const cause = { id: `cause:${at.id("c")}` };
      await at.post(key, "waiting");
      await at.post(key, "x");
      await at.post(key, "x", cause);
      await at.store.commit([{ do: "take", key, fence: 0, ids: [`ext:${at.id("x")}`, cause.id] }]);
      const repeated = async (): Promise<boolean[]> => {
        await at.store.commit([]); // by which the store learns how late it is
        for (let turn = 0; turn < 10; turn += 1) await at.sweep(); // a little each time
        const posts = [at.posting(key, "x"), at.posting(key, "x", cause), at.posting(key, "waiting")];
        return (await at.store.commit(posts)).posts.map((posted) => posted.repeated);
      };
      at.world.pass(MAIL_ID_KEPT_MS);
      assert.deepEqual(await repeated(), [true, true, true]);
      at.world.pass(1);
      assert.deepEqual(await repeated(), [false, true, true]);
      assert.deepEqual(await at.waiting(key), ["waiting", "x"]);
    });

    test("what comes with a letter happens once, like the letter: a birth, a revival, a setting", async () => {
      const at = corner();
      const key = at.key("a");
      const sending = (name: string, label: string): Change[] => {
        const posting = at.posting(key, name);
        const { id } = posting.letter;
        return [
          at.opening(key, { ifExists: "keep", with: id }),
          { do: "revive", key, with: id },
          { do: "set", key, version: null, settings: { label }, with: id },
          posting,
        ];
      };
      const row = async (): Promise<unknown> => {
        const { state, settings, settingsVersion } = await at.row(key);
        return [state.kind, settings.label, settingsVersion];
      };
      await at.store.commit(sending("1", "one"));
      await at.store.commit(sending("2", "two"));
      const before = await at.everything();
      const again = async (): Promise<void> => {
        const { posts } = await at.store.commit(sending("1", "one"));
        assert.deepEqual(
          posts.map(({ repeated }) => repeated),
          [true],
        );
      };
      await again(); // while it waits
      assert.deepEqual(await at.everything(), before);
      const ids = (await at.mail(key)).map(({ id }) => id);
      await at.store.commit([{ do: "take", key, fence: 0, ids }]);
      await at.end(key);
      await at.reopen();
      await again(); // when it was taken
      assert.deepEqual(await row(), ["ended", "two", 3]);
      await at.store.commit(sending("3", "three"));
      assert.deepEqual(await row(), ["idle", "three", 4]);
      await at.store.commit([{ do: "delete", key, expect: null }]);
      await again(); // when its reader is gone
      assert.equal(await at.store.session(key), null);
      // A stale version is of no matter where nothing is set.
      const stale = { do: "set", key, version: 7, settings: {}, with: ids[0] ?? "" } as const;
      await at.store.commit([at.opening(key), stale]);
      assert.deepEqual(await row(), ["idle", null, 1]);
    });

    test("deleting a session takes its waiting mail along; a letter from outside that it had taken stays known", async () => {
      const at = corner();
      const key = await at.open("a");
      const x = await at.post(key, "x");
      await at.post(key, "waiting");
      await at.store.commit([{ do: "take", key, fence: 0, ids: [x.id] }]);
      await at.store.commit([{ do: "delete", key, expect: null }]);
      assert.deepEqual(await at.waiting(key), []);
      await refused("not_found", at.post(key, "waiting"));
      assert.equal((await at.post(key, "x")).repeated, true);
      await at.open("a");
      assert.deepEqual(await at.waiting(key), []);
      assert.equal((await at.post(key, "waiting")).repeated, false);
    });

    test("a letter goes on to its next address when its reader is deleted, and is lost only without one", async () => {
      const at = corner();
      const [child, parent] = [await at.open("child"), await at.open("parent")];
      await at.store.commit([
        { ...at.posting(child, "both"), to: [child, child, parent] },
        at.posting(child, "child's alone"),
      ]);
      await at.store.commit([{ do: "delete", key: child, expect: null }]);
      assert.deepEqual(await at.waiting(parent), ["both"]);
      assert.deepEqual(await at.waiting(child), []);
    });

    test("the id of a cause is known for its reader's life, not for that of the next session of its key", async () => {
      const at = corner();
      const key = await at.open("a");
      const cause = { id: `cause:${at.id("x")}` };
      await at.post(key, "x", cause);
      await at.store.commit([{ do: "take", key, fence: 0, ids: [cause.id] }]);
      assert.equal((await at.post(key, "x", cause)).repeated, true);
      await at.store.commit([{ do: "delete", key, expect: null }, at.opening(key)]);
      assert.equal((await at.post(key, "other content", cause)).repeated, false);
      assert.equal((await at.mail(key)).length, 1);
    });

    test("a page of mail goes on after its last letter, also when all were taken and others came", async () => {
      const at = corner();
      const key = await at.open("a");
      await at.store.commit(["1", "2", "3"].map((name) => at.posting(key, name)));
      const first = await at.store.mail(key, { limit: 2 });
      await at.store.commit([
        { do: "take", key, fence: 0, ids: (await at.mail(key)).map(({ id }) => id) },
        at.posting(key, "4"),
      ]);
      const second = await at.store.mail(key, { limit: 2, cursor: first.next });
      assert.deepEqual(
        second.rows.map(({ id }) => id.split("/").at(-1)),
        ["4"],
      );
    });

    test("a page of mail goes on after its last letter, also when that was taken meanwhile", async () => {
      const at = corner();
      const key = await at.open("a");
      const names = ["1", "2", "3", "4", "5"];
      await at.store.commit(names.map((name) => at.posting(key, name)));
      const first = await at.store.mail(key, { limit: 2 });
      await at.store.commit([{ do: "take", key, fence: 0, ids: first.rows.map(({ id }) => id) }]);
      const second = await at.store.mail(key, { limit: 2, cursor: first.next });
      assert.deepEqual(
        second.rows.map(({ id }) => id.split("/").at(-1)),
        ["3", "4"],
      );
    });

    test("a page of large letters is short, and the rest comes with the next ones", async () => {
      const at = corner();
      const key = await at.open("a");
      const large: Block = { type: "text", text: "x".repeat(LETTER_BYTES_MAX - 1_000) };
      const count = Math.ceil(PAGE_BYTES_MAX / LETTER_BYTES_MAX) + 3;
      const ids = Array.from({ length: count }, (_, n) => `large ${n}`);
      for (const id of ids) {
        const posting = at.posting(key, id);
        await at.store.commit([{ ...posting, letter: { ...posting.letter, content: [large] } }]);
      }
      const first = await at.store.mail(key, {});
      assert.ok(first.rows.length > 0 && first.rows.length * large.text.length <= PAGE_BYTES_MAX);
      assert.deepEqual(await at.waiting(key), ids);
      assert.equal(await at.store.waiting(key, 1_000), count);
    });

    test("are counted while they wait, and no further than is asked for", async () => {
      const at = corner();
      const key = await at.open("a");
      assert.equal(await at.store.waiting(key, 10), 0);
      for (const id of ["1", "2", "3"]) await at.store.commit([at.posting(key, id)]);
      assert.deepEqual([await at.store.waiting(key, 10), await at.store.waiting(key, 2)], [3, 2]);
      const { rows } = await at.store.mail(key, { limit: 1 });
      await at.store.commit([{ do: "take", key, fence: 0, ids: rows.map(({ id }) => id) }]);
      assert.equal(await at.store.waiting(key, 10), 2);
      assert.equal(await at.store.waiting("agent:nobody:main" as typeof key, 10), 0);
    });
  });
}
