// A real browser on a real daemon. Whatever is started here is ended after the test, also when it fails; and a page that makes an
// error, asks for anything elsewhere or breaks the policy that it is served with fails its test.

import assert from "node:assert/strict";
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { fileURLToPath } from "node:url";
import { chromium, type Browser, type Page } from "playwright-core";
import { afterwards } from "../fixtures/home.ts";
import type { Daemon } from "../gateway/daemon.ts";

const CACHE = fileURLToPath(new URL("../../node_modules/.cache/chromium", import.meta.url));
const BUILT = fileURLToPath(new URL("../../dist/web/index.html", import.meta.url));

/** As root there is no sandbox; and a browser talks to many, if it is not told that it may not. */
const FLAGS = [
  ...["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"],
  ...[
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--font-render-hinting=none",
  ],
];

/** Unpacked once for everybody: whole, or not there. Several test files may come at the same time. */
async function program(): Promise<string> {
  const path = join(CACHE, "chromium");
  if (existsSync(path)) return path;
  mkdirSync(join(CACHE, ".."), { recursive: true });
  const unpacking = mkdtempSync(`${CACHE}-`);
  const before = process.env["TMPDIR"];
  process.env["TMPDIR"] = unpacking; // It unpacks where temporary files are.
  try {
    const { default: packed } = await import("@sparticuz/chromium");
    await packed.executablePath();
    renameSync(unpacking, CACHE);
  } catch (error) {
    if (!existsSync(path)) throw error; // Somebody else was faster.
  } finally {
    if (before === undefined) delete process.env["TMPDIR"];
    else process.env["TMPDIR"] = before;
    rmSync(unpacking, { recursive: true, force: true });
  }
  return path;
}

export interface Visit {
  readonly width?: number;
  readonly height?: number;
  readonly dark?: boolean;
  /** Where it goes first, such as #/overview; without it, where the page begins. */
  readonly at?: string;
  /** False: without a token. */
  readonly isSignedIn?: boolean;
}

/** Whoever starts it closes it. */
export async function started(): Promise<Browser> {
  assert.ok(existsSync(BUILT), "the page is not built: npm run page");
  return await chromium.launch({ executablePath: await program(), args: FLAGS });
}

export async function launch(test: TestContext): Promise<Browser> {
  const browser = await started();
  afterwards(test, () => browser.close());
  return browser;
}

/** Opens the page of a daemon as its owner does: by the link that has the token. */
export async function visit(
  test: TestContext,
  daemon: Pick<Daemon, "url" | "token">,
  wishes: Visit = {},
): Promise<Page> {
  return await visitIn(await launch(test), test, daemon, wishes);
}

export async function visitIn(
  browser: Browser,
  test: TestContext,
  daemon: Pick<Daemon, "url" | "token">,
  { width = 1280, height = 800, dark = false, at = "", isSignedIn = true }: Visit = {},
): Promise<Page> {
  const context = await browser.newContext({
    viewport: { width, height },
    colorScheme: dark ? "dark" : "light",
    locale: "en-GB", // Without it, it may be a name that no standard knows (en-US@posix).
    reducedMotion: "reduce",
  });
  const page = await context.newPage();
  const wrongs: string[] = [];
  page.on("pageerror", (error) => wrongs.push(`it threw: ${error.stack ?? error.message}`));
  page.on("console", (message) => {
    // A connection that fails is a line of the console, whatever the page does about it.
    if (
      message.type() === "error" &&
      !/ERR_CONNECTION|WebSocket|Failed to load resource/.test(message.text())
    )
      wrongs.push(`it said: ${message.text()}`);
  });
  page.on("request", (request) => {
    const { origin, protocol } = new URL(request.url());
    if (origin !== new URL(daemon.url).origin && !/^(?:data|blob):$/.test(protocol))
      wrongs.push(`it asked elsewhere: ${request.url()}`);
  });
  afterwards(test, async () => {
    await context.close();
    assert.deepEqual(wrongs, [], "the page is quiet");
  });
  const place = isSignedIn ? `#t=${daemon.token}${at === "" ? "" : `&${at.slice(1)}`}` : at;
  await page.goto(`${daemon.url}/${place}`);
  return page;
}
