import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import * as fc from "fast-check";
import json5 from "json5";
import { Fault } from "../base/fault.ts";
import { DEFAULT_AGENT, parseAgent } from "../routing/key.ts";
import type { Agent } from "./config.ts";
import * as defaults from "./defaults.ts";
import { loadConfig, readConfig } from "./load.ts";

const FROM = { homeDir: "/users/ann", cwd: "/srv", env: {} };
const PAGE = readFileSync(new URL("../../docs/config.md", import.meta.url), "utf8");

const folder = mkdtempSync(join(tmpdir(), "config-"));
after(() => rmSync(folder, { recursive: true }));

function agent(input: unknown, id: string): Agent {
  const found = readConfig(input, FROM).agents.get(parseAgent(id));
  assert.ok(found);
  return found;
}

/** The lines of the one Fault. */
function refused(input: unknown): string[] {
  try {
    readConfig(input, FROM);
  } catch (fault) {
    assert.ok(fault instanceof Fault);
    assert.equal(fault.code, "bad_input");
    return fault.message.split("\n");
  }
  return assert.fail("it was accepted");
}

function written(name: string, text: string | Uint8Array): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
}

describe("what is not given", () => {
  test("without a config there is one agent, main, and every value is there", () => {
    const config = readConfig(undefined, FROM);
    assert.deepEqual([...config.agents.keys()], [DEFAULT_AGENT]);
    assert.deepEqual(config.agents.get(DEFAULT_AGENT), {
      id: "main",
      model: "rehearsal/default",
      failover: [],
      workspace: "/users/ann/.sessiond/agents/main/workspace",
      thinking: "off",
      verbose: "off",
      queueMode: null,
      tools: { allow: null, deny: [], exec: false, visibility: "tree", within: [] },
      limits: { stepsPerTurn: 200, turnSeconds: 3600, toolSeconds: 600, tokens: null, cost: null },
      subagents: { depth: 3, children: 256, agents: [], model: null, thinking: null },
      context: { sizeTokens: null, reserveTokens: null, summaryModel: null, flush: true },
      heartbeat: { everyMinutes: 30, hours: null, model: null, to: "main" },
    });
    assert.equal(config.home, "/users/ann/.sessiond");
    assert.deepEqual({ ...config.models.aliases }, {});
    assert.deepEqual(
      { ...config.session, identityLinks: { ...config.session.identityLinks } },
      {
        dmScope: "per-channel-peer",
        identityLinks: {},
        threads: "empty",
        sendPolicy: { default: "allow", rules: [] },
        reset: { usual: { mode: "none" }, byType: new Map(), byChannel: new Map() },
        collectMs: 1000,
      },
    );
    assert.deepEqual(config.scheduler, { slots: 32, reserve: 4, share: 16, processes: 16 });
    const file = "/users/ann/.sessiond/logs/sessiond.jsonl";
    assert.deepEqual(config.log, { level: "info", file, fileBytes: 10_485_760, files: 5 });
    const gateway = { host: "127.0.0.1", port: 7717, remote: false, hosts: [], origins: [] };
    assert.deepEqual(config.gateway, { ...gateway, requestsPerSecond: 10_000, drainSeconds: 10 });
    assert.equal(config.webhooks.size, 0);
  });

  test("a value of undefined is one that is not given", () => {
    const input = { home: undefined, agents: { defaults: { model: "a/b" }, main: { model: undefined } } };
    assert.equal(agent(input, "main").model, "a/b");
    assert.equal(readConfig(input, FROM).home, "/users/ann/.sessiond");
  });

  test("agents.defaults is beneath every agent, main too, and is no agent itself", () => {
    const input = { agents: { defaults: { model: "a/b", verbose: "on" }, coder: { verbose: "full" } } };
    assert.deepEqual([...readConfig(input, FROM).agents.keys()], ["main", "coder"]);
    assert.equal(agent(input, "main").verbose, "on");
    assert.deepEqual([agent(input, "coder").model, agent(input, "coder").verbose], ["a/b", "full"]);
  });

  test("tools and limits are merged key by key, and a list replaces the list beneath", () => {
    const input = {
      agents: {
        defaults: { limits: { stepsPerTurn: 7, turnSeconds: 8 }, tools: { allow: ["a"], deny: ["b", "c"] } },
        coder: { limits: { turnSeconds: 9 }, tools: { deny: ["d"], exec: false, visibility: "all" } },
      },
    };
    const { limits, tools } = agent(input, "coder");
    assert.deepEqual(limits, { stepsPerTurn: 7, turnSeconds: 9, toolSeconds: 600, tokens: null, cost: null });
    assert.deepEqual(tools, { allow: ["a"], deny: ["d"], exec: false, visibility: "all", within: [] });
  });

  test("a property that a rule does not match on is null", () => {
    const rules = [{ action: "deny", match: { keyPrefix: "agent:main:telegram" } }];
    assert.deepEqual(readConfig({ session: { sendPolicy: { rules } } }, FROM).session.sendPolicy.rules, [
      { action: "deny", channel: null, chatType: null, keyPrefix: "agent:main:telegram" },
    ]);
  });

  test("paths become absolute: ~/ from the user's home, others from where it was started", () => {
    for (const [path, whole] of [
      ["~/state", "/users/ann/state"],
      ["~", "/users/ann"],
      ["state", "/srv/state"],
      ["../state/", "/state"],
      ["/var/state", "/var/state"],
    ]) {
      assert.equal(readConfig({ home: path }, FROM).home, whole);
      assert.equal(agent({ agents: { coder: { workspace: path } } }, "coder").workspace, whole);
    }
    assert.equal(agent({ home: "state" }, "main").workspace, "/srv/state/agents/main/workspace");
  });
});

describe("what is wrong", () => {
  test("each problem is told with its place, what belongs there and what was found", () => {
    const rule = { match: { chatType: "dm", keyPrefix: "main" } };
    for (const [input, ...lines] of [
      [null, "it is an object, not null"],
      [[], "it is an object, not a list"],
      ["x", 'it is an object, not "x"'],
      [{ agents: [] }, "agents is an object, not a list"],
      [{ agents: { main: null } }, "agents.main is an object, not null"],
      [{ home: 5 }, `home is ${aPath}, not 5`],
      [{ home: "" }, `home is ${aPath}, not ""`],
      [{ home: "~bob/x" }, `home is ${aPath}, not "~bob/x"`],
      [{ home: "a\0b" }, `home is ${aPath}, not "a\\u0000b"`],
      [{ log: { level: 30 } }, "log.level is one of trace, debug, info, warn, error, fatal, silent, not 30"],
      [
        { session: { dmScope: "peer" } },
        'session.dmScope is one of main, per-peer, per-channel-peer, per-account-channel-peer, not "peer"',
      ],
      [{ scheduler: { slots: 0 } }, "scheduler.slots is a whole number from 1 to 1000, not 0"],
      [{ scheduler: { slots: 1.5 } }, "scheduler.slots is a whole number from 1 to 1000, not 1.5"],
      [{ scheduler: { slots: 1e300 } }, "scheduler.slots is a whole number from 1 to 1000, not 1e+300"],
      [{ scheduler: { slots: Number.NaN } }, "scheduler.slots is a whole number from 1 to 1000, not NaN"],
      [{ session: { collectMs: 60_001 } }, "session.collectMs is a whole number from 0 to 60000, not 60001"],
      [
        { models: { aliases: { fast: "haiku" } } },
        'models.aliases.fast is a model as "provider/model", not "haiku"',
      ],
      [{ models: { aliases: { "a b": 1 } } }, 'models.aliases["a b"] is a model as "provider/model", not 1'],
      [
        { session: { sendPolicy: { rules: [rule] } } },
        "session.sendPolicy.rules[0].action is missing; it is one of allow, deny",
        'session.sendPolicy.rules[0].match.chatType is one of direct, group, channel, room, not "dm"',
        'session.sendPolicy.rules[0].match.keyPrefix is the beginning of a session key: it begins with "agent:" and does not end with ":", not "main"',
      ],
    ] as const)
      assert.deepEqual(
        refused(input),
        lines.map((line) => `config: ${line}`),
      );
  });

  const aPath = 'a path of at most 4096 characters ("~/" is your home; "~name" is not known)';

  test("a misspelt key is answered with the one that was meant, any other with those there are", () => {
    const keys =
      "model, failover, workspace, thinking, verbose, queueMode, tools, limits, subagents, context, heartbeat";
    for (const [key, instead] of [
      ["thinkng", "did you mean thinking?"],
      ["Thinking", "did you mean thinking?"],
      ["queue_mode", "did you mean queueMode?"],
      ["moedl", "did you mean model?"],
      ["modles", "did you mean model?"],
      ["toolss", "did you mean tools?"],
      ["temperature", `there are ${keys}`],
      ["", `there are ${keys}`],
      ["constructor", `there are ${keys}`],
    ]) {
      const place = key === "" ? '[""]' : `.${key}`;
      const line = `config: agents.coder${place} is not a key here; ${instead}`;
      assert.deepEqual(refused({ agents: { coder: { [key as string]: 1 } } }), [line]);
    }
    assert.deepEqual(refused({ foo: 1 }), [
      "config: foo is not a key here; there are home, agents, models, mcpServers, session, scheduler, gateway, webhooks, log, timezone, upkeep",
    ]);
  });

  test("an agent's id is one that a session key can have", () => {
    for (const id of ["Coder", "", "a b", "../x", "_a", "x".repeat(65)]) {
      assert.throws(() => parseAgent(id));
      const [line = "", ...others] = refused({ agents: { [id]: {} } });
      assert.ok(line.startsWith(`config: agents: ${JSON.stringify(id)} is not an agent id (`), line);
      assert.deepEqual(others, []);
    }
    fc.assert(
      fc.property(
        fc.string({ unit: fc.constantFrom("a", "Z", "0", "_", "-", ".", "\n"), maxLength: 66 }),
        (id) => {
          assert.equal(
            succeeds(() => readConfig({ agents: { [id]: {} } }, FROM)),
            succeeds(() => parseAgent(id)),
          );
        },
      ),
    );
  });

  test("an address belongs to one person, and looks like <channel>:<peer>", () => {
    const links = { alice: ["telegram:1", "x:a:b", "telegram:1"], bob: ["telegram:1"] };
    assert.deepEqual(refused({ session: { identityLinks: links } }), [
      `config: session.identityLinks.bob[0] is "telegram:1", which belongs to "alice" and cannot be "bob"'s too`,
    ]);
    for (const address of ["telegram", ":1", "telegram:", ""])
      assert.deepEqual(refused({ session: { identityLinks: { alice: [address] } } }), [
        `config: session.identityLinks.alice[0] is an address as "<channel>:<peer>", not ${JSON.stringify(address)}`,
      ]);
  });

  test("all problems are told at once, ten of them, and how many more there are", () => {
    const allow = Array.from({ length: 30 }, () => 5);
    const lines = refused({ agents: { main: { tools: { allow } } }, hoem: "x" });
    assert.equal(lines.length, defaults.PROBLEMS_SHOWN_MAX + 1);
    assert.equal(lines.at(-1), "and 21 more");
    assert.equal(refused({ log: { level: "x", x: 1 }, home: 1 }).length, 3);
  });
});

describe("hostile input", () => {
  test("__proto__ is refused wherever it stands, and changes nothing", () => {
    for (const text of [
      '{"__proto__": {"home": "x"}}',
      '{"agents": {"__proto__": {}}}',
      '{"agents": {"main": {"__proto__": {"model": "x"}}}}',
      '{"models": {"aliases": {"__proto__": "a/b"}}}',
      '{"session": {"identityLinks": {"__proto__": ["a:b"]}}}',
      '{"session": {"sendPolicy": {"rules": [{"action": "deny", "match": {"__proto__": {}}}]}}}',
    ]) {
      assert.match(refused(JSON.parse(text)).join("\n"), /__proto__/, text);
      assert.match(refused(json5.parse(text)).join("\n"), /__proto__/, text);
    }
    assert.equal("model" in {}, false);
  });

  test("a name that every object knows is found only if it was written", () => {
    const config = readConfig(
      { models: { aliases: { toString: "a/b" } }, agents: { constructor: {} } },
      FROM,
    );
    assert.equal(config.models.aliases["toString"], "a/b");
    assert.equal(config.models.aliases["constructor"], undefined);
    assert.equal(config.session.identityLinks["valueOf"], undefined);
    assert.equal(config.agents.get(parseAgent("constructor"))?.model, "rehearsal/default");
  });

  test("ten megabytes in any place make a short message", () => {
    const long = "x".repeat(10_000_000);
    for (const input of [
      long,
      { home: long },
      { [long]: 1 },
      { agents: { [long]: {} } },
      { agents: { main: { [long]: long, model: long, thinking: long } } },
      { models: { aliases: { [long]: "a/b", a: long } } },
      { session: { identityLinks: { a: [`t:${long}`] }, sendPolicy: { rules: [{ action: long }] } } },
    ]) {
      const message = refused(input).join("\n");
      assert.ok(message.length < 1_500, `${message.length} characters`);
    }
    assert.match(refused({ home: long }).join(), /not one of 10000000$/);
    const names = Array.from({ length: 100_000 }, () => "a");
    assert.match(
      refused({ agents: { main: { tools: { allow: names } } } }).join(),
      /at most 1000, not one of 100000$/,
    );
  });

  test("depth costs nothing", () => {
    const deep = json5.parse<unknown>("[".repeat(100_000) + "]".repeat(100_000));
    for (const input of [deep, { agents: deep }, { agents: { main: { model: deep } } }, { x: deep }])
      refused(input);
  });

  test("whatever JSON comes in, the answer is a config or a Fault", () => {
    const words = ["home", "agents", "models", "aliases", "session", "identityLinks"];
    const more = [
      "sendPolicy",
      "rules",
      "match",
      "tools",
      "allow",
      "limits",
      "defaults",
      "main",
      "__proto__",
      "a:b",
    ];
    const { tree } = fc.letrec<{ tree: unknown }>((tie) => ({
      tree: fc.oneof(
        { maxDepth: 7 },
        fc.jsonValue({ maxDepth: 2 }),
        fc.constantFrom("main", "allow", "a:b", "a/b", 1, 1e9, "agent:x"),
        fc.array(tie("tree"), { maxLength: 3 }),
        fc
          .array(fc.tuple(fc.constantFrom(...words, ...more), tie("tree")), { maxLength: 4 })
          .map((pairs) => Object.fromEntries(pairs)),
      ),
    }));
    fc.assert(
      fc.property(fc.oneof(tree, fc.jsonValue(), fc.anything()), (input) => {
        try {
          const { agents, home } = readConfig(input, FROM);
          assert.ok(agents.has(DEFAULT_AGENT) && home.startsWith("/"));
        } catch (fault) {
          if (!(fault instanceof Fault)) throw fault;
          assert.equal(fault.code, "bad_input");
        }
      }),
      { numRuns: 3_000 },
    );
  });
});

describe("the file", () => {
  test("it is JSON5, with comments, and with a byte order mark if an editor wrote one", async () => {
    const path = written(
      "good.json5",
      "\uFEFF// mine\n{ home: '/x', /* later */ log: { level: 'warn', }, }\n",
    );
    assert.deepEqual(await loadConfig(path), { home: "/x", log: { level: "warn" } });
  });

  test("one that does not exist is not_found, with its path", async () => {
    const path = join(folder, "none.json5");
    await assert.rejects(loadConfig(path), { code: "not_found", message: `there is no config file ${path}` });
  });

  test("one that is not JSON5 is bad_input, with path, line and column", async () => {
    const path = written("bad.json5", "{\n  home: oops,\n}\n");
    const message = `${path}: line 2, column 9: invalid character 'o'`;
    await assert.rejects(loadConfig(path), { code: "bad_input", message });
    await assert.rejects(loadConfig(written("empty.json5", "")), /line 1, column 1: invalid end of input/);
  });

  test("one of 1 MiB is read, one above is bad_input, and so is one that is not text", async () => {
    const full = `{}${" ".repeat(defaults.CONFIG_BYTES_MAX - 2)}`;
    assert.deepEqual(await loadConfig(written("full.json5", full)), {});
    await assert.rejects(loadConfig(written("large.json5", `${full} `)), { code: "bad_input" });
    await assert.rejects(
      loadConfig(written("latin.json5", Buffer.from("{a: 'é'}", "latin1"))),
      /is not UTF-8 text/,
    );
    await assert.rejects(loadConfig(folder), { code: "bad_input" });
  });
});

test("the example of docs/config.md is a config, and its comments are true", () => {
  const example = json5.parse<unknown>(/^```json5\n(.*?)^```$/ms.exec(PAGE)?.[1] ?? "");
  const { limits, model } = agent(example, "coder");
  assert.deepEqual(limits, {
    stepsPerTurn: 100,
    turnSeconds: 7200,
    toolSeconds: 600,
    tokens: null,
    cost: null,
  });
  assert.equal(model, "strong");
  assert.equal(agent(example, "main").model, "fast");
});

test("the errors of docs/config.md are letter by letter those that are told", () => {
  const wrong = {
    agents: { coder: { limits: { stepsPerTurn: 0 }, thinkng: "low" } },
    session: { dmScope: "peer" },
  };
  assert.ok(PAGE.includes(`\n${refused(wrong).join("\n")}\n`));
});

function succeeds(what: () => unknown): boolean {
  try {
    what();
    return true;
  } catch (fault) {
    assert.ok(fault instanceof Fault);
    return false;
  }
}
