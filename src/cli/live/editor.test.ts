import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { widthOf } from "../output.ts";
import { Editor, type Key, type Wish } from "./editor.ts";

function key(name: string | undefined, of: Partial<Key> = {}): Key {
  return { text: undefined, name, ctrl: false, meta: false, ...of };
}

function type(editor: Editor, text: string): void {
  for (const letter of text) editor.press(key(letter, { text: letter }));
}

const [RETURN, UP, DOWN] = [key("return", { text: "\r" }), key("up"), key("down")];
const ctrl = (name: string): Key => key(name, { ctrl: true });

test("what is typed is sent with return, and an empty line is not", () => {
  const editor = new Editor();
  assert.equal(editor.press(RETURN), null);
  type(editor, "hello");
  assert.deepEqual(editor.press(RETURN), { do: "send", text: "hello" });
  assert.equal(editor.text, "");
});

test("a letter is removed whole, also one of several marks", () => {
  const editor = new Editor();
  editor.press(key(undefined, { text: "a" }));
  editor.press(key(undefined, { text: "👨‍👩‍👧" }));
  editor.press(key("backspace"));
  assert.equal(editor.text, "a");
});

test("words are removed backwards, and the line from the cursor on", () => {
  const editor = new Editor();
  type(editor, "one two three");
  editor.press(ctrl("w"));
  assert.equal(editor.text, "one two ");
  editor.press(ctrl("a"));
  for (let n = 0; n < 3; n += 1) editor.press(key("right"));
  editor.press(ctrl("k"));
  assert.equal(editor.text, "one");
});

test("the history goes back and forth, and what was being typed is there again at its end", () => {
  const editor = new Editor();
  for (const text of ["first", "second", "second"]) {
    type(editor, text);
    editor.press(RETURN);
  }
  type(editor, "thi");
  const seen = [UP, UP, UP, DOWN, DOWN, DOWN].map((each) => {
    editor.press(each);
    return editor.text;
  });
  assert.deepEqual(seen, ["second", "first", "first", "second", "thi", "thi"]);
});

test("what is pasted may have several lines, and sends nothing", () => {
  const editor = new Editor();
  const wishes: (Wish | null)[] = [];
  for (const each of [
    key("paste-start"),
    key("a", { text: "a" }),
    RETURN,
    key("c", { text: "b", ctrl: false }),
    key("paste-end"),
  ])
    wishes.push(editor.press(each));
  assert.deepEqual(wishes, [null, null, null, null, null]);
  assert.equal(editor.text, "a\nb");
});

test("Ctrl-J and a backslash before return make a new line", () => {
  const editor = new Editor();
  type(editor, "a");
  editor.press(ctrl("j"));
  type(editor, "b\\");
  assert.equal(editor.press(RETURN), null);
  assert.equal(editor.text, "a\nb\n");
});

test("Tab asks how a command goes on, behind its first letters or its second word, and is a letter elsewhere", () => {
  const tab = key("tab", { text: "\t" });
  const pressed = (text: string): readonly [Wish | null, string] => {
    const editor = new Editor();
    type(editor, text);
    return [editor.press(tab), editor.text];
  };
  for (const begun of ["/", "/st", "/CRON", "/cron ", "/cron  r", "/model opus"])
    assert.deepEqual(pressed(begun), [{ do: "complete", begun }, begun]);
  for (const text of ["", "st", "//st", "/etc/h", "/cron run 1", "see /st"])
    assert.deepEqual(pressed(text), [null, `${text}\t`]);
  const editor = new Editor();
  for (const each of [key("paste-start"), key("/", { text: "/" }), tab, key("paste-end")]) editor.press(each);
  assert.equal(editor.text, "/\t", "what is pasted is as it was");
});

test("a completion is put behind what was begun, unless something else was typed since", () => {
  const editor = new Editor();
  type(editor, "/st");
  editor.complete("/s", "top ");
  assert.equal(editor.text, "/st");
  editor.complete("/st", "op ");
  assert.equal(editor.text, "/stop ");
  type(editor, "x");
  assert.equal(editor.text, "/stop x");
  editor.press(key("left"));
  editor.complete("/stop x", "y");
  assert.equal(editor.text, "/stop x", "the cursor went elsewhere");
});

test("Ctrl-C empties the line, then interrupts; Ctrl-D leaves only an empty one", () => {
  const editor = new Editor();
  type(editor, "ab");
  assert.equal(editor.press(ctrl("d")), null);
  assert.equal(editor.press(ctrl("c")), null);
  assert.equal(editor.text, "");
  assert.deepEqual(editor.press(ctrl("c")), { do: "interrupt" });
  assert.deepEqual(editor.press(ctrl("d")), { do: "leave" });
});

test("whatever is typed, it is shown within the width, and the cursor within what is shown", () => {
  const pressed = fc.oneof(
    fc.string({ unit: "grapheme", maxLength: 3 }).map((text) => key(undefined, { text })),
    fc.constantFrom(key("left"), key("right"), key("backspace"), UP, ctrl("j"), ctrl("w"), key("home")),
  );
  fc.assert(
    fc.property(fc.array(pressed, { maxLength: 60 }), fc.integer({ min: 4, max: 30 }), (keys, width) => {
      const editor = new Editor();
      for (const each of keys) editor.press(each);
      const { rows, row, column } = editor.shown(width);
      assert.ok(rows.every((each) => widthOf(each) <= width));
      assert.ok(row >= 0 && row < rows.length && column <= width);
    }),
  );
});
