import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { Fault } from "../base/fault.ts";
import type { Config, Provider } from "./config.ts";
import { readConfig } from "./load.ts";
import { secretsIn } from "./outside.ts";

const ENV = {
  ANTHROPIC_API_KEY: "sk-ant-1",
  GEMINI_API_KEY: "",
  GOOGLE_GENERATIVE_AI_API_KEY: "g-2",
  WIKI: "w-3",
};

function read(input: unknown, env: Record<string, string> = ENV): Config {
  return readConfig(input, { homeDir: "/users/ann", cwd: "/srv", env });
}

function provider(input: unknown, id: string, env?: Record<string, string>): Provider {
  const found = read(input, env).models.providers.get(id);
  assert.ok(found);
  return found;
}

function refused(input: unknown, why: RegExp): string {
  try {
    read(input);
  } catch (error) {
    assert.ok(error instanceof Fault);
    assert.equal(error.code, "bad_input");
    assert.match(error.message, why);
    return error.message;
  }
  assert.fail("it was taken");
}

describe("providers", () => {
  test("three are known without a word, with the key that is in the environment", () => {
    const { providers } = read({}).models;
    assert.deepEqual([...providers.keys()], ["anthropic", "openai", "google"]);
    assert.equal(providers.get("anthropic")?.apiKey?.reveal(), "sk-ant-1");
    assert.equal(providers.get("openai")?.apiKey, null);
    assert.equal(providers.get("google")?.apiKey?.reveal(), "g-2"); // an empty variable is none
    assert.deepEqual(providers.get("openai")?.keyNames, ["OPENAI_API_KEY"]);
  });

  test("any other speaks like OpenAI, and its key is looked for under its name", () => {
    const input = { models: { providers: { "open-router": { baseUrl: "https://example.org/v1" } } } };
    const found = provider(input, "open-router", { OPEN_ROUTER_API_KEY: "or-4" });
    assert.equal(found.api, "openai-compatible");
    assert.equal(found.apiKey?.reveal(), "or-4");
    refused({ models: { providers: { ollama: {} } } }, /models\.providers\.ollama\.baseUrl is missing/);
    refused({ models: { providers: { rehearsal: { baseUrl: "http://x" } } } }, /kept for the rehearsal/);
  });

  test("what is written down wins over the environment, and may name a variable", () => {
    const found = provider(
      { models: { providers: { anthropic: { apiKey: "${WIKI}", headers: { "x-team": "a-${WIKI}-b" } } } } },
      "anthropic",
    );
    assert.equal(found.apiKey?.reveal(), "w-3");
    assert.equal(found.headers["x-team"]?.reveal(), "a-w-3-b");
    refused(
      { models: { providers: { openai: { apiKey: "${NOT_THERE}" } } } },
      /models\.providers\.openai\.apiKey names NOT_THERE, which is not in the environment/,
    );
  });

  test("what a variable holds is secret by itself too, whatever is written around it", () => {
    const headers = {
      authorization: "Bearer ${LONG}",
      "x-both": "${LONG}/${WIKI}",
      "x-plain": "Token literal-key",
    };
    const input = { models: { providers: { anthropic: { headers } } } };
    const found = provider(input, "anthropic", { ...ENV, LONG: "long-value" });
    assert.deepEqual(found.headers["authorization"]?.texts(), ["Bearer long-value", "long-value"]);
    assert.deepEqual(found.headers["x-both"]?.texts(), ["long-value/w-3", "long-value", "w-3"]);
    assert.deepEqual(found.headers["x-plain"]?.texts(), ["Token literal-key", "literal-key"]);
  });

  test("what is known of a model: prices of the cache are those of input unless they are told", () => {
    const models = {
      one: { prices: { input: 3, output: 15, cacheRead: 0.3 } },
      constructor: { windowTokens: 5 },
    };
    const found = provider({ models: { providers: { anthropic: { models } } } }, "anthropic");
    assert.deepEqual(found.models["one"], {
      windowTokens: null,
      outputTokensMax: null,
      images: null,
      prices: { input: 3, output: 15, cacheRead: 0.3, cacheWrite: 3 },
    });
    assert.equal(found.models["constructor"]?.windowTokens, 5);
    assert.equal(found.models["toString"], undefined);
  });

  test("a wrong key is not repeated in the error", () => {
    for (const given of [
      { models: { providers: { openai: { apiKey: ["sk-leaked"] } } } },
      { models: { providers: { openai: { apiKey: "sk-leaked\n" } } } },
      { models: { providers: { openai: { headers: { authorization: { bearer: "sk-leaked" } } } } } },
      { mcpServers: { x: { command: "x", env: { TOKEN: ["sk-leaked"] } } } },
    ])
      assert.ok(!refused(given, /is not/).includes("leaked"));
  });
});

describe("servers of tools", () => {
  test("a program, or an address", () => {
    const { mcp } = read({
      mcpServers: {
        files: { command: "npx", args: ["-y", "files"], env: { TOKEN: "t-${WIKI}" } },
        own: { type: "stdio", command: "./serve.sh", cwd: "~/work" },
        not: { command: "npx", disabled: true },
        wiki: { url: "http://127.0.0.1:8080/mcp", headers: { authorization: "Bearer ${WIKI}" } },
      },
    });
    assert.deepEqual([...mcp.keys()], ["files", "own", "wiki"]);
    const files = mcp.get("files");
    assert.ok(files?.kind === "stdio");
    assert.deepEqual([files.command, files.args, files.cwd], ["npx", ["-y", "files"], "/srv"]);
    assert.equal(files.env["TOKEN"]?.reveal(), "t-w-3");
    const own = mcp.get("own");
    assert.ok(own?.kind === "stdio");
    assert.deepEqual([own.command, own.cwd], ["/srv/serve.sh", "/users/ann/work"]);
    const wiki = mcp.get("wiki");
    assert.ok(wiki?.kind === "http");
    assert.equal(wiki.headers["authorization"]?.reveal(), "Bearer w-3");
  });

  test("refused: neither, both, and what does not belong to it", () => {
    refused({ mcpServers: { x: {} } }, /mcpServers\.x has either a command or a url/);
    refused({ mcpServers: { x: { command: "x", url: "http://x" } } }, /either a command or a url/);
    refused({ mcpServers: { x: { url: "http://x", args: [] } } }, /no args, env or cwd/);
    refused({ mcpServers: { x: { command: "x", headers: { a: "b" } } } }, /no headers/);
    refused({ mcpServers: { x: { url: "ftp://x" } } }, /begins with http/);
    refused({ mcpServers: { a__b: { url: "http://x" } } }, /a server's name/);
  });
});

test("what must not be written down: keys, and what came from the environment; not words like any other", () => {
  const config = read({
    models: {
      providers: {
        openai: { apiKey: "sk-2", headers: { accept: "application/json", "x-key": "k ${WIKI}" } },
      },
    },
    mcpServers: {
      files: { command: "npx", env: { NODE_ENV: "production", TOKEN: "${WIKI}" } },
      wiki: { url: "http://x", headers: { authorization: "Bearer ${WIKI}" } },
    },
  });
  const texts = secretsIn(config).map((secret) => secret.reveal());
  assert.deepEqual(new Set(texts), new Set(["sk-ant-1", "sk-2", "g-2", "w-3"]));
});
