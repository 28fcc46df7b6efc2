// The page as it is handed out: to whom, with which policy, how heavy. What it does is in test/page.

import assert from "node:assert/strict";
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { request } from "node:http";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { pageDoor } from "../../src/gateway/page.ts";
import { scratch } from "../fixtures/home.ts";
import { Daemon } from "./daemon.ts";

const BUILT = fileURLToPath(new URL("../../dist/web", import.meta.url));
const WEIGHT_BYTES_MAX = 200_000;

test("anybody on this machine gets the page, with a policy that runs nothing but its own files", async (t) => {
  const daemon = await Daemon.start(t);
  const page = await daemon.fetch("/", { token: null });
  assert.equal(page.status, 200);
  assert.equal(page.headers.get("content-type"), "text/html; charset=utf-8");
  const told = Object.fromEntries(
    [
      "content-security-policy",
      "cross-origin-opener-policy",
      "cross-origin-resource-policy",
      "referrer-policy",
      "x-frame-options",
    ].map((name) => [name, page.headers.get(name)]),
  );
  assert.deepEqual(told, {
    "content-security-policy":
      "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; base-uri 'none'; " +
      "form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-frame-options": "DENY",
  });
  const html = await page.text();
  assert.doesNotMatch(
    html,
    /<script(?![^>]*\bsrc=)|<style|\son\w+=|https?:/,
    "nothing is inline, nothing is elsewhere",
  );
  for (const [, file = ""] of html.matchAll(/(?:src|href)="(\/[^"]+)"/g)) {
    const { status, headers } = await daemon.fetch(file, { token: null });
    assert.equal(status, 200, file);
    assert.equal(headers.get("x-content-type-options"), "nosniff");
    if (file.startsWith("/assets/")) assert.match(headers.get("cache-control") ?? "", /immutable/);
  }
});

test("what is packed and what is not is the same", async (t) => {
  const daemon = await Daemon.start(t);
  const plain = await (
    await daemon.fetch("/", { token: null, headers: { "accept-encoding": "identity" } })
  ).text();
  const packed = await daemon.fetch("/", { token: null, headers: { "accept-encoding": "gzip" } });
  assert.equal(packed.headers.get("content-encoding"), "gzip");
  assert.equal(await packed.text(), plain);
  const refused = await daemon.fetch("/", { token: null, headers: { "accept-encoding": "gzip;q=0, br" } });
  assert.equal(refused.headers.get("content-encoding"), null);
});

test("it hands out its own files only, and only to who calls it by its name", async (t) => {
  const daemon = await Daemon.start(t);
  for (const path of ["/assets/none.js", "/assets/..%2findex.html", "/assets/..%2f..%2f..%2fpackage.json"])
    assert.equal(await statusOf(daemon.url, path), 404, path);
  assert.equal(await statusOf(daemon.url, "/", { host: "evil.example" }), 403);
  assert.equal(
    (await daemon.fetch("/v1/sessions", { token: null })).status,
    401,
    "what it shows needs a token",
  );
});

test("where it was not built, or only half of it, it says how to; once it is whole it stays, whatever is built over it", async (t) => {
  const folder = scratch(t);
  const door = pageDoor("1.2.3", folder);
  const asked = async (path = "/") => await (await door.request(path)).text();
  const write = (name: string, text: string) => writeFileSync(join(folder, name), text);
  mkdirSync(join(folder, "assets"));
  assert.match(await asked(), /not built: npm run build/);
  write("assets/a.js", 'import("./b.js")');
  assert.match(await asked(), /not built/, "no document");
  write("index.html", '<script src="/assets/a.js"></script>');
  assert.match(await asked(), /not built/, "a file is missing that a file names");
  write("assets/b.js", "1");
  assert.match(await asked(), /^<script/);
  for (const name of ["index.html", "assets/a.js", "assets/b.js"]) rmSync(join(folder, name));
  assert.match(await asked(), /^<script/);
  assert.equal(await asked("/assets/b.js"), "1");
});

test("all of it together is light", () => {
  const files = readdirSync(BUILT, { recursive: true, withFileTypes: true }).filter((each) => each.isFile());
  const bytes = files.map(
    ({ parentPath, name }) => gzipSync(readFileSync(join(parentPath, name)), { level: 9 }).length,
  );
  const sum = bytes.reduce((all, each) => all + each, 0);
  assert.ok(sum <= WEIGHT_BYTES_MAX, `${sum} bytes`);
});

/** As it is written: `fetch` would tidy up the path first. */
async function statusOf(url: string, path: string, headers: Record<string, string> = {}): Promise<number> {
  const { hostname, port } = new URL(url);
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  request({ hostname, port, path, headers: { host: `${hostname}:${port}`, ...headers } }, (response) => {
    response.resume();
    resolve(response.statusCode ?? 0);
  })
    .on("error", reject)
    .end();
  return await promise;
}
