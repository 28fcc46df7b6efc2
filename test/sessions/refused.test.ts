// What a provider cannot read, sends elsewhere, or repeats of what it was given: sessions go on, and nothing is told.

import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { openLog } from "../../src/index.ts";
import { afterwards } from "../fixtures/home.ts";
import { APIS, NAMES, PIXEL } from "../providers/asking.ts";
import { redirect, refusePictures, reply, Standin, status } from "../providers/standin.ts";
import { errorBody } from "../providers/wire.ts";
import { Stage, tool } from "./stage.ts";

const HERON = "the-heron-walks-at-dawn";

async function open(t: TestContext): Promise<{ stage: Stage; standin: Standin; logged: readonly string[] }> {
  const standin = await Standin.open();
  afterwards(t, () => standin.close());
  process.env["HERON"] = HERON;
  afterwards(t, () => void delete process.env["HERON"]);
  const logged: string[] = [];
  const log = openLog("trace", { write: (line) => void logged.push(line) });
  const headers = { "x-mine": "Token ${HERON}" };
  const providers = APIS.map((api) => [
    api,
    { api, baseUrl: standin.baseUrl(api), apiKey: "some-key", headers },
  ]);
  const agents = APIS.map((api) => [api, { model: `${api}/${NAMES[api]}` }]);
  const config = {
    models: { providers: Object.fromEntries(providers) },
    agents: Object.fromEntries(agents),
  };
  return { stage: await Stage.open(t, config, { log }), standin, logged };
}

test("a picture that the provider cannot read does not end the session: it is told of it in words", async (t) => {
  const { stage, standin } = await open(t);
  standin.otherwise(() => refusePictures());
  for (const api of APIS) {
    const key = `agent:${api}:main`;
    const images = [{ data: PIXEL, mimeType: "image/png" }];
    const { id } = await stage.sessions.send(key, "look", { images });
    assert.equal((await stage.sessions.wait(key, id)).outcome, "done");
    const { outcome, text } = await stage.sessions.ask(key, "and now?");
    assert.deepEqual([outcome, text], ["done", "ok"]);
    assert.match(JSON.stringify(standin.requests.at(-1)?.body), /which this model cannot see/);
  }
});

test("a provider that moved is not followed: the turn says where it went, and the session goes on", async (t) => {
  const { stage, standin } = await open(t);
  const other = await Standin.open();
  afterwards(t, () => other.close());
  for (const api of APIS) {
    const key = `agent:${api}:main`;
    standin.play(redirect(`${other.baseUrl(api)}/messages`), reply({ text: "Here." }));
    const { outcome, reason } = await stage.sessions.ask(key, "hello");
    assert.equal(outcome, "failed");
    assert.match(reason ?? "", /redirects to another address, at http:\/\/127\.0\.0\.1:\d+; set models\./);
    assert.equal((await stage.sessions.ask(key, "again")).text, "Here.");
  }
  assert.equal(other.requests.length, 0);
});

test("a key that stands in the middle of a header is nowhere in what can be seen or read", async (t) => {
  const { stage, standin, logged } = await open(t);
  for (const api of APIS) {
    standin.play(status(401, errorBody(api, 401, `Incorrect key: ${HERON}`)));
    const { reason } = await stage.sessions.ask(`agent:${api}:main`, "hello");
    assert.match(reason ?? "", /Incorrect key: \[secret\]/);
    assert.equal(standin.requests.at(-1)?.headers["x-mine"], `Token ${HERON}`);
  }
  await stage.close();
  const files = readdirSync(stage.home, { recursive: true, withFileTypes: true }).filter((each) =>
    each.isFile(),
  );
  for (const { parentPath, name } of files)
    assert.equal(readFileSync(join(parentPath, name), "latin1").includes(HERON), false, name);
  assert.equal(logged.join("\n").includes(HERON), false);
});

test("a key that a tool returns is not written down", async (t) => {
  process.env["HERON"] = HERON;
  afterwards(t, () => void delete process.env["HERON"]);
  const providers = { openai: { apiKey: "${HERON}" } };
  const leak = tool("leak", async () => ({ content: `it is ${HERON}`, details: { key: HERON } }));
  const stage = await Stage.open(t, { models: { providers } }, { tools: [leak] });
  assert.equal((await stage.sessions.ask("main", "!call leak {}\n!then\n!results")).text, "it is [secret]");
  const bytes = await stage.bytes("main");
  assert.ok(bytes.includes("it is [secret]") && !bytes.includes(HERON));
});
