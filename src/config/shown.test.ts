import assert from "node:assert/strict";
import { test } from "node:test";
import { readConfig } from "./load.ts";
import type { ConfigInput } from "./schema.ts";
import { shownConfig } from "./shown.ts";

const SECRETS = {
  key: "heron-of-the-lake",
  header: "walks at dawn",
  headerPart: "among the reeds",
  hook: "a-webhook-signs-with-this-text-here",
  mcpEnv: "stork-on-the-roof",
  mcpHeader: "swift in the sky",
  urlQuery: "crane-by-the-sea",
  argument: "wren-in-the-hedge",
  inPassword: "tern-on-the-wind",
  inOne: "finch-in-the-oak",
  envKey: "sk-from-the-environment",
};

const INPUT: ConfigInput = {
  home: "/simulated",
  models: {
    providers: {
      ollama: {
        baseUrl: "http://localhost:1/v1",
        apiKey: SECRETS.key,
        headers: { "x-team": SECRETS.header, "x-part": "${PART}" },
        models: { qwen3: { windowTokens: 1_000 } },
      },
    },
    aliases: { local: "ollama/qwen3" },
  },
  mcpServers: {
    files: {
      command: "files",
      args: [
        "--api-key",
        SECRETS.argument,
        `--token=${SECRETS.inOne}`,
        "--root",
        "/srv",
        SECRETS.mcpEnv,
        `postgres://ann:${SECRETS.inPassword}@db`,
      ],
      env: { FILES_TOKEN: "${STORK}" },
    },
    web: {
      url: `http://localhost:2/mcp?token=${SECRETS.urlQuery}`,
      headers: { Authorization: `Bearer ${SECRETS.mcpHeader}` },
    },
  },
  webhooks: { ci: { secret: SECRETS.hook } },
};

test("all that is configured is shown as plain JSON, and no secret, wherever it is written", () => {
  const env = {
    PART: SECRETS.headerPart,
    STORK: SECRETS.mcpEnv,
    ANTHROPIC_API_KEY: SECRETS.envKey,
  };
  const config = readConfig(INPUT, { homeDir: "/simulated", cwd: "/simulated", env });
  const shown = shownConfig(config);
  assert.deepEqual(JSON.parse(JSON.stringify(shown)), shown, "nothing of it is lost as JSON");
  const text = JSON.stringify(shown);
  for (const [where, secret] of Object.entries(SECRETS)) assert.ok(!text.includes(secret), where);

  const { models, mcp, webhooks, agents, gateway } = shown as unknown as {
    readonly models: { readonly providers: Record<string, object>; readonly aliases: object };
    readonly mcp: Record<string, object>;
    readonly webhooks: Record<string, object>;
    readonly agents: Record<string, { readonly model: string }>;
    readonly gateway: object;
  };
  assert.deepEqual(models.providers["ollama"], {
    id: "ollama",
    api: "openai-compatible",
    baseUrl: "http://localhost:1/v1",
    apiKey: "[secret]",
    keyNames: ["OLLAMA_API_KEY"],
    headers: { "x-team": "[secret]", "x-part": "[secret]" },
    concurrency: null,
    models: { qwen3: { windowTokens: 1_000, outputTokensMax: null, images: null, prices: null } },
  });
  assert.deepEqual(mcp["files"], {
    kind: "stdio",
    name: "files",
    command: "files",
    args: [
      "--api-key",
      "[secret]",
      "--token=[secret]",
      "--root",
      "/srv",
      "[secret]",
      "postgres://[secret]@db",
    ],
    env: { FILES_TOKEN: "[secret]" },
    cwd: "/simulated",
  });
  assert.deepEqual(webhooks["ci"], { name: "ci", secret: "[secret]", url: null, agent: null });
  assert.deepEqual([models.aliases, agents["main"]?.model], [{ local: "ollama/qwen3" }, "rehearsal/default"]);
  assert.deepEqual(gateway, config.gateway, "what is no secret is shown as it is");
});

const HERON = "heron";

function shownOf(input: ConfigInput): Readonly<Record<string, unknown>> {
  return shownConfig(readConfig(input, { homeDir: "/simulated", cwd: "/simulated", env: {} }));
}

for (const [args, shown] of [
  [["--key=heron"], ["--key=[secret]"]],
  [["--auth=heron"], ["--auth=[secret]"]],
  [["--pass=heron"], ["--pass=[secret]"]],
  [
    ["-pass", HERON],
    ["-pass", "[secret]"],
  ],
  [
    ["--apikey", HERON],
    ["--apikey", "[secret]"],
  ],
  [["--apiKey=heron and more"], ["--apiKey=[secret]"]],
  [
    ["--accessToken", HERON],
    ["--accessToken", "[secret]"],
  ],
  [
    ["--credentials", HERON, "--root"],
    ["--credentials", "[secret]", "--root"],
  ],
  [["--token-file=heron"], ["--token-file=[secret]"]],
  [
    ["--header", "Authorization: heron"],
    ["--header", "[secret]"],
  ],
  [["--header=X-Team: heron"], ["--header=[secret]"]],
  [
    ["-H", "Authorization: heron"],
    ["-H", "Authorization: [secret]"],
  ],
  [
    ["-H", "x-api-key:heron"],
    ["-H", "x-api-key:[secret]"],
  ],
  [
    ["-e", "DB_PASSWORD=heron"],
    ["-e", "DB_PASSWORD=[secret]"],
  ],
  [["http://x/?key=heron"], ["http://x/?key=[secret]"]],
  [["http://x/a?auth=heron&b=heron#heron"], ["http://x/a?auth=[secret]&b=[secret]#[secret]"]],
  [["http://x?heron"], ["http://x?[secret]"]],
  [["postgres://heron@db/talks"], ["postgres://[secret]@db/talks"]],
  [["--db=postgres://ann:heron@db"], ["--db=postgres://[secret]@db"]],
  [
    ["--root", "/srv", "key", "--port=1", "https://x/a/b"],
    ["--root", "/srv", "key", "--port=1", "https://x/a/b"],
  ],
] as const)
  test(`the arguments ${args.join(" ")} are shown as ${shown.join(" ")}`, () => {
    const { mcp } = shownOf({ mcpServers: { files: { command: "files", args: [...args] } } });
    assert.deepEqual((mcp as Record<string, { readonly args: unknown }>)["files"]?.args, shown);
  });

for (const [url, shown] of [
  ["https://shop.example/api/answers", "https://shop.example/api/answers"],
  ["https://shop.example", "https://shop.example"],
  ["https://shop.example/hooks/heron-7", "https://shop.example/[secret]"],
  ["https://shop.example/services/T01/B02/heron", "https://shop.example/[secret]"],
] as const)
  test(`the address ${url}, which may be what lets one in, is shown as ${shown}`, () => {
    const { mcp, webhooks } = shownOf({
      mcpServers: { web: { url } },
      webhooks: { ci: { secret: SECRETS.hook, url } },
    });
    for (const named of [mcp, webhooks] as readonly Record<string, { readonly url: unknown }>[])
      assert.deepEqual(Object.values(named)[0]?.url, shown);
  });

test("an address with a password in it is refused, and not repeated", () => {
  const wrong = `http://ann:${HERON}@localhost/v1`;
  for (const input of [
    { models: { providers: { ollama: { baseUrl: wrong } } } },
    { mcpServers: { web: { url: wrong } } },
    { mcpServers: { files: { command: "x", args: wrong } } },
    { webhooks: { ci: { secret: SECRETS.hook, url: wrong } } },
  ] as unknown as readonly ConfigInput[])
    assert.throws(
      () => shownOf(input),
      (error: Error) => !error.message.includes(HERON) && error.message.includes("config: "),
      JSON.stringify(input),
    );
});
