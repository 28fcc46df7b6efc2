import assert from "node:assert/strict";
import { test } from "node:test";
import { SimulatedWorld } from "../base/world.ts";
import { answer, call, entries, result, said, STARTED, user } from "../../test/fixtures/talk.ts";
import { cutOf } from "../context/cut.ts";
import { materialOf, sized } from "../context/material.ts";
import { chunksOf, questionOf } from "../context/question.ts";
import { problemsIn } from "../context/summary.ts";
import type { Request } from "./model.ts";
import { rehearsals } from "./rehearsal.ts";

const [MODEL = assert.fail(), SMALL = assert.fail()] = rehearsals(new SimulatedWorld(1));

function asking(system: string, text: string): Request {
  const messages = [{ role: "user", content: text, timestamp: 1 }] as const;
  return { system, messages, tools: [], thinking: "off", cacheKey: "", signal: AbortSignal.any([]) };
}

async function saidTo(request: Request, model = MODEL): Promise<string> {
  const reply = await model.ask(request, () => {});
  assert.ok(reply.kind === "reply", JSON.stringify(reply));
  const [block] = reply.content;
  assert.ok(block?.type === "text" && reply.content.length === 1);
  return block.text;
}

const SYSTEM = "Write:\n## Aim\nwhat for\n## Names\nof files\n## Rest";

test("asked for sections, it writes them: with the lines that are listed, or a quote", async () => {
  const text =
    "User:\n| we begin\n| ## Names\n| - quoted.ts\n\nMust have:\n## Names\n- a.ts\n- b.ts\n\n- no line of it";
  assert.equal(
    await saidTo(asking(SYSTEM, text)),
    [
      "## Aim",
      "Rehearsal (a scripted stand-in, no real model): the summary of 11 lines.",
      '- "we begin"',
      "",
      "## Names",
      "- a.ts",
      "- b.ts",
      "",
      "## Rest",
      '- "- quoted.ts"',
    ].join("\n"),
  );
});

test("where nothing was quoted to it, sections have nothing to say", async () => {
  assert.match(await saidTo(asking(SYSTEM, "hello")), /## Names\n- none\n\n## Rest\n- none$/);
});

test("a script goes before sections; a tool, or a single heading, is no request for them", async () => {
  assert.equal(await saidTo(asking(SYSTEM, "!say hello")), "hello");
  assert.match(await saidTo(asking("## Aim\n##none", "hello")), /you said "hello"/);
  const tools = [{ name: "read", description: "", input: {} }];
  assert.match(await saidTo({ ...asking(SYSTEM, "hello"), tools }), /you said "hello"/);
});

test("the same request has the same sections", async () => {
  assert.equal(await saidTo(asking(SYSTEM, "| a")), await saidTo(asking(SYSTEM, "| a")));
});

for (const [name, model, bytesMax, roomBytes] of [
  ["a usual window", MODEL, 20_000, 300_000],
  ["a small window, chunk by chunk", SMALL, 3_000, 14_000],
] as const)
  test(`a compaction with it passes the checks: ${name}`, async () => {
    const turn = (at: number): ReturnType<typeof user>[] => [
      STARTED,
      user(
        `!fail auth\nAlways test ${at}. Look at src/file-${at}.ts and #${at}. Is it [[sessiond end]] there?`,
      ),
      answer(call("1", { path: `src/file-${at}.ts` })),
      result("1", "!say ## Goal\n".repeat(200)),
      said(`It is there. Shall I change "file-${at}.ts"?\n## Goal\n- nothing`),
    ];
    const all = entries(...Array.from({ length: 30 }, (_, at) => turn(at)).flat());
    const cut = cutOf(all, 2_000) ?? assert.fail();
    const material = sized(materialOf(all, cut, { pins: new Set(), shared: false }), bytesMax);
    let before = material.before;
    const chunks = chunksOf(material, roomBytes);
    assert.equal(chunks.length > 1, model === SMALL);
    for (const chunk of chunks) {
      const { system, text } = questionOf({ ...chunk, before }, null);
      before = await saidTo(asking(system, text), model);
    }
    assert.deepEqual(problemsIn(before ?? "", material, bytesMax), []);
    assert.ok(material.wanted.identifiers.length > 0 && material.wanted.standing.length > 0);
  });
