// Providers over a real connection, in all the ways in which they fail: what is to be seen of it, what is written down, who
// else notices, and what never leaves.

import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test, type TestContext } from "node:test";
import {
  openLog,
  RealWorld,
  z,
  type Block,
  type ConfigInput,
  type Entry,
  type Parts,
} from "../../src/index.ts";
import type { Api } from "../../src/config/config.ts";
import { afterwards } from "../fixtures/home.ts";
import { APIS, NAMES } from "../providers/asking.ts";
import {
  cutMidToolCall,
  cutMidWord,
  endEarly,
  errorMidway,
  garbage,
  hang,
  hangBefore,
  overflow,
  page,
  reply,
  Standin,
  status,
  type Play,
  type Received,
} from "../providers/standin.ts";
import { errorBody } from "../providers/wire.ts";
import { notesIn, Stage, tool } from "./stage.ts";

const KEY = "sk-test-secret-4f9a0c1e7b2d";
/** Of no shape that anybody would know for a secret. */
const HEADER = "the heron walks at dawn";
const ECHO = `Incorrect key ${KEY} in ${JSON.stringify({ authorization: `Bearer ${KEY}`, team: HEADER })}`;

/** A stage with an agent for each protocol, and a stand-in that knows by the prompt which session asks. */
class House {
  readonly stage: Stage;
  readonly standin: Standin;
  readonly logged: readonly string[];
  readonly #plays = new Map<string, Play[]>();

  static async open(t: TestContext, more: Parts = {}): Promise<House> {
    const standin = await Standin.open();
    afterwards(t, () => standin.close());
    const logged: string[] = [];
    const log = openLog("trace", { write: (line) => void logged.push(line) });
    const fetch = tool("fetch", () => Promise.resolve("fetched it"), z.object({ what: z.string() }));
    const stage = await Stage.open(t, configOf(standin), { log, tools: [fetch], ...more });
    return new House(stage, standin, logged);
  }

  private constructor(stage: Stage, standin: Standin, logged: readonly string[]) {
    this.stage = stage;
    this.standin = standin;
    this.logged = logged;
    standin.otherwise((asked) => this.#plays.get(sessionOf(asked))?.shift() ?? reply({ text: "Fine." }));
  }

  /** What this session hears next; after it, "Fine.". */
  play(key: string, ...plays: readonly Play[]): void {
    this.#plays.set(key, [...plays]);
  }

  asked(key: string): readonly Received[] {
    return this.standin.requests.filter((received) => sessionOf(received) === key);
  }

  async coolsForMs(provider: string): Promise<number> {
    const { providers } = await this.stage.sessions.call("overview", {});
    return providers.find((each) => each.provider === provider)?.coolsForMs ?? -1;
  }

  /** It works as if nothing had been: with a tool, and with all that was said before. */
  async goesOn(key: string): Promise<void> {
    const calls = [{ name: "fetch", arguments: { what: "it" } }];
    this.play(key, reply({ text: "One moment.", calls }), reply({ text: "Here it is." }));
    const { outcome, text } = await this.stage.sessions.ask(key, "and now?");
    assert.deepEqual([outcome, text], ["done", "Here it is."]);
    assert.deepEqual((await this.stage.results(key)).at(-1)?.text, "fetched it");
    const shown = JSON.stringify(this.asked(key).at(-1)?.body);
    for (const words of ["please begin", "and now?", "fetched it"]) assert.ok(shown.includes(words), words);
    assert.equal((await this.stage.sessions.status(key)).state, "idle");
  }
}

function configOf(standin: Standin): ConfigInput {
  const all = APIS.map((api) => [
    api,
    { api, baseUrl: standin.baseUrl(api), apiKey: KEY, headers: { "x-team": HEADER } },
  ]);
  const agents = APIS.map((api) => [api, { model: `${api}/${NAMES[api]}` }]);
  return {
    models: { providers: Object.fromEntries(all) },
    agents: Object.fromEntries(agents),
    scheduler: { slots: 200 },
  };
}

function sessionOf({ body }: Received): string {
  return /in the session (agent:[\w:-]+)\./.exec(JSON.stringify(body))?.[1] ?? "";
}

function keyOf(api: Api, name: string): string {
  return `agent:${api}:direct:${name}`;
}

/** The turn that failed is to be seen: an answer without words that says why, and how the turn ended. */
function assertTold(entries: readonly Entry[], outcome: string, reason: string): void {
  const [answer] = answersIn(entries);
  assert.ok(answer !== undefined && answersIn(entries).length === 1);
  const { stopReason, errorMessage, content } = answer;
  assert.deepEqual(
    { stopReason, errorMessage, content },
    { stopReason: "error", errorMessage: reason, content: [] },
  );
  const [ended] = notesIn(entries, "turn-ended");
  assert.deepEqual([ended?.["outcome"], ended?.["reason"]], [outcome, reason]);
}

function answersIn(entries: readonly Entry[]) {
  return entries.flatMap((entry) =>
    entry.type === "message" && entry.message.role === "assistant" ? [entry.message] : [],
  );
}

/** Lines of a transcript file: every call has one result, every result a call. */
function assertPaired(file: string): void {
  const [, ...entries] = readFileSync(file, "utf8")
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as Entry);
  const waiting = new Set<string>();
  for (const entry of entries) {
    if (entry.type !== "message") continue;
    const { message } = entry;
    if (message.role === "toolResult")
      assert.ok(waiting.delete(message.toolCallId), `a result of nothing in ${file}`);
    else assert.equal(waiting.size, 0, `a call without a result in ${file}`);
    if (message.role === "assistant")
      for (const block of message.content) if (block.type === "toolCall") waiting.add(block.id);
  }
  assert.equal(waiting.size, 0, `a call without a result in ${file}`);
}

function filesBelow(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true }).flatMap((each) =>
    each.isFile() ? [join(each.parentPath, each.name)] : [],
  );
}

interface Failure {
  readonly name: string;
  readonly play: (api: Api) => Play;
  readonly tries: 1 | 4;
  readonly outcome: "failed" | "overflow";
  readonly reason: RegExp;
}

const CUT = { tries: 4, outcome: "failed", reason: /the answer was cut off/ } as const;
const REFUSED = { tries: 1, outcome: "failed" } as const;

const FAILURES: readonly Failure[] = [
  { name: "garbage", play: garbage, ...CUT },
  { name: "a-page", play: page, ...CUT },
  { name: "cut-mid-word", play: cutMidWord, ...CUT },
  { name: "cut-mid-call", play: cutMidToolCall, ...CUT },
  { name: "end-without-end", play: endEarly, ...CUT },
  {
    name: "error-midway",
    play: (api) => errorMidway(midway(api)),
    ...CUT,
    reason: /Incorrect key \[secret\]/,
  },
  { name: "status-500", play: echo(500), ...CUT, reason: /answered 500: Incorrect key \[secret\]/ },
  { name: "status-400", play: echo(400), ...REFUSED, reason: /answered 400: Incorrect key \[secret\]/ },
  {
    name: "status-401",
    play: echo(401),
    ...REFUSED,
    reason: /does not let us in \(401\): .*providers\.[a-z-]+\.apiKey$/,
  },
  { name: "overflow", play: overflow, ...REFUSED, outcome: "overflow", reason: /context is too long/ },
];

function echo(code: number): (api: Api) => Play {
  return (api) => status(code, errorBody(api, code, ECHO));
}

function midway(api: Api): object {
  if (api === "anthropic") return { type: "error", error: { type: "api_error", message: ECHO } };
  const response = { error: { code: "server_error", message: ECHO }, incomplete_details: null };
  if (api === "openai") return { type: "response.failed", sequence_number: 9, response };
  return { error: { code: 500, message: ECHO, status: "INTERNAL" } };
}

/** All at once, in sessions of their own: so each is also a test of whether the others notice. */
function failures(t: TestContext, house: House, api: Api): Promise<void>[] {
  const { stage } = house;
  const { sessions } = stage;
  const failing = FAILURES.map(({ name, play, tries, outcome, reason }) =>
    t.test(`${name}: the turn says so, and the session goes on`, async () => {
      const key = keyOf(api, name);
      house.play(key, ...Array.from({ length: tries }, () => play(api)));
      const ended = await sessions.ask(key, "please begin");
      assert.equal(ended.outcome, outcome);
      assert.match(ended.reason ?? "", reason);
      assert.equal(house.asked(key).length, tries);
      assert.equal(await house.coolsForMs(api), 0);
      assertTold(await stage.entries(key), outcome, ended.reason ?? "");
      await house.goesOn(key);
    }),
  );
  const recovering = FAILURES.filter(({ tries }) => tries > 1).map(({ name, play }) =>
    t.test(`${name}, once: the turn is done, and only the good answer is written down`, async () => {
      const key = keyOf(api, `once-${name}`);
      house.play(key, play(api), reply({ text: "There you are." }));
      const { outcome, reason, text } = await sessions.ask(key, "please begin");
      assert.deepEqual([outcome, reason, text], ["done", null, "There you are."]);
      const answers = answersIn(await stage.entries(key)).map(({ content }) => content.map(wordsOf));
      assert.deepEqual(answers, [["There you are."]]);
      await house.goesOn(key);
    }),
  );
  return [...failing, ...recovering];
}

/** Whoever asks the same provider, or another, is answered. */
async function hanging(house: House, api: Api): Promise<void> {
  const { stage } = house;
  const { sessions } = stage;
  for (const [name, play] of Object.entries({ before: hangBefore(), after: hang() })) {
    const key = keyOf(api, `hang-${name}`);
    house.play(key, play);
    const { id } = await sessions.send(key, "please begin");
    await stage.until(() => Promise.resolve(house.asked(key).length > 0));
    for (const other of APIS)
      assert.equal((await sessions.ask(keyOf(other, "beside"), "hello")).text, "Fine.");
    assert.equal((await sessions.status(key)).state, "running");
    await sessions.abort(key);
    assert.equal((await sessions.wait(key, id)).outcome, "aborted");
    assert.deepEqual(answersIn(await stage.entries(key)), []);
    await house.goesOn(key);
  }
  for (const other of APIS) assert.deepEqual(await stage.outcomes(keyOf(other, "beside")), ["done", "done"]);
}

/** What the library shows of every session, and then every byte of the home and the log. */
async function assertNothingTold({ stage, standin, logged }: House): Promise<void> {
  const { sessions } = stage;
  const seen: unknown[] = [await sessions.call("models", {}), await sessions.call("overview", {})];
  const { sessions: rows, next } = await sessions.list({ limit: 200 });
  assert.equal(next, null);
  for (const { sessionKey } of rows)
    seen.push(
      await sessions.status(sessionKey),
      await sessions.history(sessionKey),
      await stage.entries(sessionKey),
    );
  await stage.close();
  const texts = new Map([
    ["what is shown", JSON.stringify(seen)],
    ["the log", logged.join("\n")],
    ...filesBelow(stage.home).map((file): [string, string] => [file, readFileSync(file, "latin1")]),
  ]);
  assert.match(texts.get("what is shown") ?? "", /Incorrect key \[secret\]/);
  for (const [where, text] of texts)
    for (const secret of [KEY, HEADER])
      assert.equal(text.includes(secret), false, `${secret} is in ${where}`);
  const headers = standin.requests.map((received) => JSON.stringify(received.headers));
  assert.ok(
    headers.every((each) => each.includes(KEY) && each.includes(HEADER)),
    "it was used",
  );
}

/** Of a home that is closed. */
function assertNoHalves({ stage }: House): void {
  const files = filesBelow(stage.home);
  const transcripts = files.filter((file) => file.endsWith(".jsonl"));
  assert.ok(transcripts.length > FAILURES.length);
  for (const file of transcripts) assertPaired(file);
  assert.ok(transcripts.some((file) => readFileSync(file, "latin1").includes("There you are.")));
  for (const file of files) {
    const bytes = readFileSync(file, "latin1");
    for (const half of ["Hello,", "somewhere", '{\\"path', '"look"', "Well, "])
      assert.equal(bytes.includes(half), false, `${half} is in ${file}`);
  }
}

function wordsOf(block: Block): string {
  return block.type === "text" ? block.text : block.type;
}

/** Thirty times as fast as the real one. */
class Hurried extends RealWorld {
  readonly #fromMs = super.nowMs();

  override nowMs(): number {
    return this.#fromMs + (super.nowMs() - this.#fromMs) * 30;
  }

  override sleep(ms: number, signal: AbortSignal): Promise<void> {
    return super.sleep(ms / 30, signal);
  }
}

describe("a provider", { concurrency: true }, () => {
  for (const api of APIS)
    test(`that fails (${api})`, { concurrency: true }, async (t) => {
      const house = await House.open(t);
      await Promise.all([
        ...failures(t, house, api),
        t.test("who hangs holds up nobody else, and can be stopped", () => hanging(house, api)),
      ]);
      for (const { refused } of house.standin.requests) assert.equal(refused, null);
      await t.test("its key is nowhere in what can be seen or read", () => assertNothingTold(house));
      await t.test("no file holds half of an answer or of a call", () => assertNoHalves(house));
    });

  test("that has too much to do is waited for by all who ask it, who say why, and by nobody else", async (t) => {
    const house = await House.open(t);
    const { sessions, until } = house.stage;
    const why = async (key: string): Promise<string | false> => {
      const { state, why: words } = await sessions.status(key);
      return state === "queued" && words.includes("pause") && words;
    };
    for (const api of APIS) {
      const [first, second] = [keyOf(api, "first"), keyOf(api, "second")];
      house.play(first, status(429, null, { "retry-after": "500" }));
      const words = `waits for ${api}, which asked for a pause; it is asked again in `;
      const sent = [await sessions.send(first, "please begin")];
      assert.ok((await until(() => why(first))).startsWith(words));
      sent.push(await sessions.send(second, "please begin"));
      assert.ok((await until(() => why(second))).startsWith(words));
      assert.deepEqual([house.asked(first).length, house.asked(second).length], [1, 0]);
      const leftMs = await house.coolsForMs(api);
      assert.ok(leftMs > 0 && leftMs <= 500_000 * 1.25, String(leftMs));
      assert.equal((await sessions.ask("agent:main:direct:other", "!say still here")).text, "still here");
      for (const { sessionKey, id } of sent) {
        await sessions.abort(sessionKey);
        assert.equal((await sessions.wait(sessionKey, id)).outcome, "aborted");
      }
    }
  });

  test("that says when to come back is asked then; a turn that never gets in fails", async (t) => {
    const house = await House.open(t);
    const busy = status(429, null, { "retry-after-ms": "150" });
    const comeBack = async (api: Api): Promise<void> => {
      const key = keyOf(api, "busy");
      house.play(key, busy, busy, reply({ text: "There you are." }));
      assert.equal((await house.stage.sessions.ask(key, "please begin")).text, "There you are.");
      assert.equal(house.asked(key).length, 3);
      assert.equal(answersIn(await house.stage.entries(key)).length, 1);
      const lost = keyOf(api, "lost");
      house.play(lost, busy, busy, busy, busy);
      const { outcome, reason } = await house.stage.sessions.ask(lost, "please begin");
      assert.deepEqual([outcome, reason], ["failed", `${api} answered 429: no (it was asked 4 times)`]);
      assertTold(await house.stage.entries(lost), "failed", reason ?? "");
      await house.goesOn(lost);
    };
    await Promise.all(APIS.map(comeBack));
  });

  test("that says nothing for two minutes is given up", { concurrency: true }, async (t) => {
    const house = await House.open(t, { world: new Hurried() });
    const { sessions } = house.stage;
    const all = APIS.flatMap((api) => [
      t.test(`${api}, silent before its headers and after them: the turn is done at last`, async () => {
        const key = keyOf(api, "twice");
        house.play(key, hangBefore(), hang(), reply({ text: "There you are." }));
        assert.equal((await sessions.ask(key, "please begin")).text, "There you are.");
        assert.equal(answersIn(await house.stage.entries(key)).length, 1);
        await house.goesOn(key);
      }),
      t.test(`${api}, silent for ever: the turn says so, and the session goes on`, async () => {
        const key = keyOf(api, "always");
        house.play(key, ...Array.from({ length: 40 }, (_, at) => (at % 2 ? hang() : hangBefore())));
        const { outcome, reason } = await sessions.ask(key, "please begin");
        assert.deepEqual(
          [outcome, reason],
          ["failed", `${api} said nothing for 120 s (it was asked 4 times)`],
        );
        assertTold(await house.stage.entries(key), "failed", reason ?? "");
        await house.goesOn(key);
      }),
    ]);
    await Promise.all(all);
    for (const api of APIS) assert.equal(await house.coolsForMs(api), 0);
  });
});
