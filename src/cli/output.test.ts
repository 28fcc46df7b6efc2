import assert from "node:assert/strict";
import { test } from "node:test";
import * as output from "./output.ts";

const {
  age,
  ago,
  clean,
  count,
  cut,
  cutMiddle,
  duration,
  hasColour,
  money,
  oneLine,
  percent,
  table,
  widthOf,
} = output;

test("nothing of a text moves a cursor, changes a colour, sets a title or turns a line around", () => {
  const hostile =
    "a\u001b[31mred\u001b[0m\u001b]0;title\u0007b\u009b2Jc\u001b]8;;http://x\u001b\\link\u202eevil\u001bc\u0000\u0008\u200b!";
  assert.equal(clean(hostile), "aredbclinkevil!");
  assert.equal(clean("one\r\ntwo\tthree\rfour"), "one\ntwo\tthree\nfour", "lines and tabs stay");
  assert.equal(
    clean("\u001b]0;never ended\nnext line"),
    "\nnext line",
    "what is not ended ends with its line",
  );
  assert.equal(clean("half \ud83d"), "half \ufffd");
  assert.equal(oneLine(" a\n\n b\u001b[2K\tc "), "a b c");
});

test("a family of emoji, and what joins its letters, is left whole", () => {
  assert.equal(clean("👩‍👩‍👧 नमस्ते"), "👩‍👩‍👧 नमस्ते");
});

test("widths are those of a terminal", () => {
  const widths = { plain: 5, 日本: 4, é: 1, "e\u0301": 1, "👩‍👩‍👧": 2, "├─ x…": 5, 한글: 4, "": 0 };
  for (const [text, width] of Object.entries(widths)) assert.equal(widthOf(text), width, text);
});

test("what is cut has the width that there is, and never half a character", () => {
  assert.equal(cut("abcdef", 6), "abcdef");
  assert.equal(cut("abcdef", 4), "abc…");
  assert.equal(cut("日本語", 4), "日…");
  assert.equal(cut("abc", 0), "");
});

test("what is cut in the middle keeps its beginning and its end", () => {
  assert.equal(cutMiddle("abcdefgh", 8), "abcdefgh");
  assert.equal(cutMiddle("abcdefgh", 5), "ab…gh");
  assert.equal(cutMiddle("abcdefgh", 4), "ab…h");
  assert.equal(cutMiddle("日本語日本語", 6), "日…語", "half a character is none");
  assert.equal(cutMiddle("abc", 1), "…");
  assert.equal(cutMiddle("abc", 0), "");
});

test("a table fits its terminal: the widest columns are cut first, and what is worth least is left out", () => {
  type Row = { readonly id: string; readonly key: string; readonly note: string };
  const rows: readonly Row[] = [
    { id: "0123456789", key: "agent:main:cron:morning:run:7", note: "a long note of it" },
    { id: "0123456780", key: "日本語日本語日本語日本語日本語", note: "" },
  ];
  const columns: readonly output.Column<Row>[] = [
    { title: "ID", of: ({ id }) => id },
    { title: "KEY", least: 9, cut: "middle", of: ({ key }) => key },
    { title: "NOTE", least: 6, keep: 1, of: ({ note }) => note },
  ];
  const widths = (room: number): number[] => table(rows, columns, room).trimEnd().split("\n").map(widthOf);
  for (const room of [80, 60, 50, 40, 30, 29, 28, 22, 21])
    for (const width of widths(room)) assert.ok(width <= room, `${width} in ${room}`);
  assert.equal(table(rows, columns, 80), table(rows, columns), "nothing is cut that fits");
  assert.match(
    table(rows, columns, 40),
    /^ID +KEY +NOTE\n0123456789 {2}agent:…:run:7 {2}a long/,
    "the id is whole",
  );
  assert.match(table(rows, columns, 28), /^ID +KEY\n0123456789 {2}agent\S*…\S*:7\n/);
  assert.match(table(rows, columns, 5), /^ID +KEY\n0123456789 {2}agen…un:7\n/, "too wide, and whole");
});

test("a terminal has a width, and a pipe has not", () => {
  assert.equal(output.roomOn({ isTty: true, columns: 80 }), 80);
  assert.equal(output.roomOn({ isTty: false, columns: 80 }), Infinity);
});

test("columns of a table stand below each other, also with wide characters and colours", () => {
  const rows = [
    { name: "日本", n: 1 },
    { name: "plain\nname\u001b[31m", n: 220 },
  ];
  const columns = [
    { title: "NAME", of: ({ name }: (typeof rows)[number]) => name },
    { title: "N", align: "right" as const, of: ({ n }: (typeof rows)[number]) => String(n) },
  ];
  assert.equal(table(rows, columns), "NAME          N\n日本          1\nplain name  220\n");
  const [first] = columns;
  assert.ok(first);
  const styled = [{ ...first, style: (text: string) => `<${text}>` }];
  assert.equal(
    table(rows, styled),
    "NAME\n<日本      >\n<plain name>\n",
    "a colour is put around, not counted",
  );
});

test("figures are short", () => {
  assert.deepEqual([0, 999, 1_000, 184_200, 999_949, 999_950, 12_400_000, 3.1e9].map(count), [
    "0",
    "999",
    "1.0k",
    "184.2k",
    "999.9k",
    "1.0M",
    "12.4M",
    "3.1G",
  ]);
  assert.deepEqual([0, 999, 12_000, 41 * 60_000, 3 * 3_600_000, 26 * 86_400_000].map(age), [
    "now",
    "now",
    "12s",
    "41m",
    "3h",
    "26d",
  ]);
  assert.deepEqual([ago(10), ago(12_000)], ["now", "12s ago"]);
  assert.deepEqual([340, 2_140, 259_000, 11_520_000, 190_800_000, 60_000].map(duration), [
    "340 ms",
    "2.1 s",
    "4 min 19 s",
    "3 h 12 min",
    "2 d 5 h",
    "1 min",
  ]);
  assert.deepEqual([money(0.4121), money(12.345)], ["$0.412", "$12.35"]);
  assert.deepEqual([percent(31, 100), percent(1, 0)], ["31%", "–"]);
});

test("JSON says the same, and nothing in it is obeyed by a terminal", () => {
  const hostile = { text: "a\u001b[2J\u009b31m\u202e\u2066\u007f\u2028 日本" };
  const line = output.jsonLine(hostile);
  assert.deepEqual(JSON.parse(line), hostile);
  assert.equal(clean(line), line);
});

test("a fence is longer than any in the text, and the model of a rehearsal has its provider", () => {
  assert.equal(output.fenced("a\n````\nb"), "`````\na\n````\nb\n`````");
  assert.equal(output.fenced("buy ``` milk\n"), "```\nbuy ``` milk\n```");
  assert.equal(output.modelName("rehearsal/default"), "rehearsal/default");
  assert.equal(output.modelName("openrouter/meta/llama"), "meta/llama");
});

test("colours are for terminals, unless somebody says otherwise", () => {
  assert.deepEqual([hasColour({}, true), hasColour({}, false)], [true, false]);
  assert.equal(hasColour({ NO_COLOR: "1" }, true), false);
  assert.equal(hasColour({ NO_COLOR: "" }, true), true, "an empty NO_COLOR is none");
  assert.equal(hasColour({ TERM: "dumb" }, true), false);
  assert.equal(hasColour({ FORCE_COLOR: "1" }, false), true);
  assert.equal(output.red({ colour: false }, "x"), "x");
  assert.equal(output.red({ colour: true }, "x"), "\u001b[31mx\u001b[39m");
});
