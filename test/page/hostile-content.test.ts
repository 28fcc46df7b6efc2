import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import type { Page } from "playwright-core";
import { DEFAULT_AGENT, namedKey } from "../../src/routing/key.ts";
import type { Block, Draft } from "../../src/transcript/entry.ts";
import { Home, opening, scratch } from "../fixtures/home.ts";
import { Daemon } from "../gateway/daemon.ts";
import { visit } from "./browser.ts";
import { answer, AT, called, person, result, words } from "./entries.ts";

const KEY = namedKey(DEFAULT_AGENT, "hostile");

const RUN = "window.__pwned = (window.__pwned ?? 0) + 1";

/** What is to be shown as the text that it is. */
const MARKUP = [
  `<script>${RUN}</script>`,
  `<img src=x onerror="${RUN}">`,
  `<svg onload="${RUN}"><script>${RUN}</script></svg>`,
  `<iframe srcdoc="<script>parent.${RUN}</script>"></iframe>`,
  `<a href="javascript:${RUN}">press me</a>`,
  `<form action="javascript:${RUN}"><button>press</button></form>`,
  `<style>body { display: none }</style>`,
  `<meta http-equiv="refresh" content="0;url=javascript:${RUN}">`,
  `</p></div></article><base href="https://evil.example/">`,
];

const LINKS = [
  `[one](javascript:${RUN.replaceAll(" ", "")})`,
  `[two](JaVaScRiPt:alert%281%29)`,
  `[three](data:text/html;base64,PHNjcmlwdD4=)`,
  `[four](&#106;avascript:alert%281%29)`,
  `[five](vbscript:x) [six](file:///etc/passwd) [seven](//evil.example/x) [eight](/rpc)`,
  `![nine](https://evil.example/track.png)`,
  `![ten](javascript:alert%281%29)`,
  `<javascript:alert(1)> [eleven][ref]`,
  ``,
  `[ref]: javascript:alert(1)`,
];

/** Turns lines around, moves cursors, cannot be seen. */
const TRICKS =
  "pay \u202e000,1\u202c to \u2066\u2067x\u2069 \u200b\u200e\u200f\u061c\ufeff\u00ad\u0000\u0007\u001b[2J\u001b]0;title\u0007\u001b[31mred\u001b[0m\u009b1mC1 &#x202e; &#8238; end-of-tricks";

const PROGRAM = [...MARKUP, ...LINKS, TRICKS].join("\n\n");
const LINE = [...MARKUP, TRICKS].join(" ");

/** Each of them would take a careless reader minutes, or its whole memory. */
const BOMBS: readonly string[] = [
  ">".repeat(10_000),
  "a*".repeat(25_000),
  "*a **b ".repeat(10_000),
  "_a".repeat(40_000),
  "[".repeat(50_000),
  "`a``b".repeat(10_000),
  `|${"a|".repeat(2_000)}\n|${"-|".repeat(2_000)}\n${"|\n".repeat(5_000)}`,
  "- ".repeat(20_000) + "a",
  "x".repeat(200_000),
  "\n".repeat(100_000),
  "\u0301".repeat(50_000),
];

function pictures(): readonly Block[] {
  return [
    { type: "image", mimeType: "image/svg+xml", data: Buffer.from(MARKUP[2] ?? "").toString("base64") },
    { type: "image", mimeType: "text/html", data: Buffer.from(MARKUP[0] ?? "").toString("base64") },
    { type: "image", mimeType: `image/png" onerror="${RUN}`, data: "AAAA" },
    { type: "image", mimeType: "image/png", data: `AAAA" onerror="${RUN}` },
  ];
}

function hostileEntries(): readonly Draft[] {
  const from = { kind: "external_user", channel: LINE, peer: LINE } as const;
  const other = { kind: "inter_session", source: `agent:main:${LINE}`, tool: LINE } as const;
  const misshapen = [null, 7, "text", { type: 3 }, { type: "text", text: { a: 1 } }, { type: "image" }];
  return [
    person(PROGRAM, { provenance: from, mailId: LINE }),
    person(PROGRAM, { provenance: other }),
    person(PROGRAM, { provenance: { kind: "internal_system", cause: LINE } }),
    person(pictures()),
    person(misshapen as unknown as readonly Block[]),
    answer(words(PROGRAM), { type: "thinking", thinking: PROGRAM }, called("1", LINE, { [LINE]: PROGRAM })),
    result("1", LINE, [words(PROGRAM), ...pictures()]),
    answer(called("2", "exec", { command: LINE }), called("2", "exec", { command: LINE })),
    result("2", "exec", [words(LINE)], true),
    result("nobody's", LINE, [words(PROGRAM)], true),
    answer(...(misshapen as unknown as readonly Block[])),
    { type: "custom_message", timestamp: AT, customType: LINE, content: PROGRAM, display: true },
    { type: "model_change", timestamp: AT, provider: LINE, modelId: LINE },
    {
      type: "custom",
      timestamp: AT,
      customType: "sessiond/turn-ended",
      data: { outcome: LINE, reason: PROGRAM },
    },
    { type: "custom", timestamp: LINE, customType: "sessiond/turn-resumed", data: { why: LINE } },
    {
      type: "compaction",
      timestamp: AT,
      summary: PROGRAM,
      firstKeptEntryId: LINE,
      tokensBefore: LINE as unknown as number,
      details: { truncated: LINE, [LINE]: PROGRAM },
    },
    ...BOMBS.map((bomb) => answer(words(bomb))),
    person("the last of them"),
  ];
}

/** What of a page could do anything, or says something other than it seems to. Empty: nothing. */
const HARM = `(() => {
  const found = [];
  if (window.__pwned !== undefined) found.push("a script ran");
  const page = document.querySelector("#page main");
  for (const each of page.querySelectorAll("script, iframe, object, embed, style, link, meta, base, form[action]"))
    found.push(each.tagName);
  for (const each of page.querySelectorAll("*"))
    for (const { name, value } of each.attributes) {
      if (name.startsWith("on")) found.push(name);
      if (/[\\p{Cc}\\p{Cf}\\u2028\\u2029]/u.test(value.replace(/[\\t\\n\\u200c\\u200d]/g, ""))) found.push(name + ": a control");
      if (/^(?:href|src|action|formaction|xlink:href|srcset)$/.test(name) &&
          !/^(?:#|https?:\\/\\/|mailto:|data:image\\/(?:png|jpeg|gif|webp);base64,[A-Za-z0-9+/=]*$)/.test(value))
        found.push(name + "=" + value);
      if (name === "src" && !value.startsWith("data:image/")) found.push("fetches " + value);
    }
  const text = page.textContent.replace(/[\\t\\n\\u200c\\u200d]/g, "");
  const control = /[\\p{Cc}\\p{Cf}\\u2028\\u2029]/u.exec(text);
  if (control) found.push("a control in: " + JSON.stringify(text.slice(control.index - 40, control.index + 10)));
  return found;
})()`;

/** Opens whatever is folded, and what is folded in that. */
async function openAll(page: Page): Promise<void> {
  const closed = page.locator(".transcript details:not([open])");
  for (let left = await closed.count(); left > 0; left = await closed.count())
    await page.evaluate(`for (const each of document.querySelectorAll(".transcript details")) each.open = true;
      new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))`);
}

test("whatever stands in a transcript is shown as text, and does nothing", async (t) => {
  const path = join(scratch(t), "home");
  const home = new Home(path);
  await home.reopen();
  try {
    await home.store.commit([opening(KEY, home.world.newId())]);
    await home.append(KEY, hostileEntries(), { contextSeq: 1 });
  } finally {
    await home.close();
  }
  const daemon = await Daemon.start(t, { home: path });
  const page = await visit(t, daemon, { at: `#/session/${encodeURIComponent(KEY)}` });
  await page.locator(".transcript").getByText("the last of them").waitFor();
  await openAll(page);
  assert.deepEqual(await page.evaluate(HARM), []);

  await page.locator(".transcript .scroll").focus();
  await page.keyboard.press("Home");
  await page.locator("[data-seq='16']").waitFor();
  await openAll(page);
  assert.deepEqual(await page.evaluate(HARM), []);
  const feed = page.getByRole("feed");
  const shown = await feed.innerText();
  for (const markup of MARKUP) assert.ok(shown.includes(markup), `as text: ${markup}`);
  const tricks = await page.locator("[data-seq='1']").innerText();
  assert.match(tricks, /pay 000,1 to x redC1 .*end-of-tricks/, "sequences are gone, words are not");
  for (const word of ["one", "three", "ten"])
    assert.equal(await feed.getByRole("link", { name: word }).count(), 0, word);
  const picture = feed.getByRole("link", { name: "picture: nine" }).first();
  assert.equal(await picture.getAttribute("href"), "https://evil.example/track.png");
  assert.equal(await picture.getAttribute("rel"), "noopener noreferrer nofollow");
  assert.equal(await feed.locator("img").count(), 0, "no picture is what it says");

  // One after the other, so that whoever reads on comes past each of them.
  for (let seq = 17; seq < 17 + BOMBS.length; seq += 1) {
    await page.evaluate(`location.hash = "#/session/${encodeURIComponent(KEY)}?seq=${seq}"`);
    await page.locator(`[data-seq="${seq}"][aria-current=true]`).waitFor();
  }
  assert.deepEqual(await page.evaluate(HARM), []);
});

test("what a model says while it speaks is shown as text, and does nothing", async (t) => {
  const daemon = await Daemon.start(t);
  const say = [...MARKUP, ...LINKS.filter((each) => each !== ""), TRICKS].map((line) => `!say ${line}`);
  await daemon.call("send", { sessionKey: "agent:main:main", message: "!say hello" });
  const page = await visit(t, daemon, { at: "#/session/agent%3Amain%3Amain" });
  await page.getByRole("article", { name: /^Answer/ }).waitFor();
  // Every state of the page is looked at, also those that are gone when the answer is whole.
  await page.evaluate(`window.harms = [];
    new MutationObserver(() => window.harms.push(...${HARM})).observe(document.querySelector("#page"), {
      subtree: true, childList: true, attributes: true, characterData: true,
    })`);
  const message = [...say, "!verbose 300", "!then", "!say whole now"].join("\n");
  await daemon.call("send", { sessionKey: "agent:main:main", message });
  await page
    .getByRole("article", { name: /^Answer/ })
    .nth(1)
    .waitFor();
  assert.deepEqual(await page.evaluate("window.harms"), []);
  assert.deepEqual(await page.evaluate(HARM), []);
  const shown = await page
    .getByRole("article", { name: /^Answer/ })
    .nth(1)
    .innerText();
  for (const markup of MARKUP) assert.ok(shown.includes(markup), `as text: ${markup}`);
});
