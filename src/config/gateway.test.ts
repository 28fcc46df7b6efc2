import assert from "node:assert/strict";
import { test } from "node:test";
import { Fault } from "../base/fault.ts";
import type { Config } from "./config.ts";
import { readConfig } from "./load.ts";
import { secretsIn } from "./outside.ts";

const SECRET = "a secret of both sides";

function read(input: object, env: Record<string, string> = {}): Config {
  return readConfig(input, { homeDir: "/users/ann", cwd: "/tmp", env });
}

function wordsOf(input: object): string {
  try {
    read(input);
  } catch (error) {
    assert.ok(error instanceof Fault && error.code === "bad_input");
    return error.message;
  }
  throw new Error("it was taken");
}

test("a webhook has its secret from the environment, speaks to whom it is told, and may have no address", () => {
  const { webhooks } = read(
    {
      webhooks: {
        crm: { secret: "${CRM}" },
        bot: { secret: SECRET, agent: "coder", url: "http://localhost:9/in" },
      },
    },
    { CRM: "a secret of the crm's" },
  );
  assert.deepEqual(
    { ...webhooks.get("crm"), secret: webhooks.get("crm")?.secret.reveal() },
    { name: "crm", secret: "a secret of the crm's", url: null, agent: null },
  );
  assert.deepEqual(
    [webhooks.get("bot")?.agent, webhooks.get("bot")?.url],
    ["coder", "http://localhost:9/in"],
  );
});

test("the secret of a webhook is none of a transcript's, and is not told when it is wrong", () => {
  const config = read({ webhooks: { crm: { secret: SECRET } } });
  assert.ok(secretsIn(config).some((secret) => secret.reveal() === SECRET));
  const words = wordsOf({ webhooks: { crm: { secret: "too short" } } });
  assert.match(words, /webhooks\.crm\.secret is not a text of at least 16/);
  assert.ok(!words.includes("too short"));
});

test("two webhooks have two secrets: what is signed for one is not let in at the other", () => {
  const [a, b] = [{ secret: SECRET }, { secret: SECRET }];
  const words = wordsOf({ webhooks: { a, b } });
  assert.equal(words, "config: webhooks.a and webhooks.b have the same secret; give each its own");
});

test("a webhook takes no name that means something else", () => {
  for (const name of ["session", "report", "timer", "web", "Crm", "a b", ""])
    assert.match(wordsOf({ webhooks: { [name]: { secret: SECRET } } }), /is not a name of a-z/, name);
});

test("where the gateway listens is looked at as it is read", () => {
  assert.match(
    wordsOf({ gateway: { port: 70_000 } }),
    /gateway\.port is a whole number from 0 to 65535, not 70000/,
  );
  assert.match(wordsOf({ gateway: { host: "a b" } }), /gateway\.host is a name or an address/);
  assert.match(
    wordsOf({ gateway: { origins: ["https://a.example/path"] } }),
    /gateway\.origins\[0\] is an origin/,
  );
  assert.match(wordsOf({ gateway: { prot: 1 } }), /did you mean port/);
});

test('the log goes to a file of the home, to another, or with "-" to standard error', () => {
  assert.equal(read({ home: "/srv/a" }).log.file, "/srv/a/logs/sessiond.jsonl");
  assert.equal(read({ log: { file: "~/log.jsonl" } }).log.file, "/users/ann/log.jsonl");
  assert.equal(read({ log: { file: "-" } }).log.file, null);
});
