// The control page, as it was built (web/ → dist/web): a document and its few files, out of memory. Nobody needs a token to get
// them: there is nothing in them but the page, and whatever it shows it asks for with a token.
//
// What it shows was written by anybody, models among them. The page makes text of it and never markup; and if it ever failed to,
// the policy below would still run no script but ours, send nothing anywhere else, and be framed by nobody.

import { readdir, readFile } from "node:fs/promises";
import { extname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import { Hono, type Context } from "hono";
import { Fault } from "../base/fault.ts";
import type { LetIn } from "./gate.ts";

/** Beside the source and beside what is built of it, it is at the same place. */
const BUILT = fileURLToPath(new URL("../../dist/web/", import.meta.url));

const TYPES: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
};

const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data: blob:", // pictures of transcripts: they come inside of them
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join("; ");

const HEADERS: Readonly<Record<string, string>> = {
  "content-security-policy": POLICY,
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "permissions-policy": "camera=(), microphone=(), geolocation=()",
  "referrer-policy": "no-referrer",
  "x-frame-options": "DENY",
};

interface Held {
  readonly type: string;
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly packed: Uint8Array<ArrayBuffer>;
  /** Its name says what is in it, so it never changes. */
  readonly isForever: boolean;
}

type Files = ReadonlyMap<string, Held>;

const DOCUMENT = "/index.html";

/**
 * To be mounted at /. Files are read when somebody first asks, and kept: so a page is whole, also while it is built anew. What is not
 * whole is not kept: whoever asks in the middle of a build is told to come again.
 */
export function pageDoor(version: string, folder = BUILT): Hono<LetIn> {
  const app = new Hono<LetIn>();
  let kept: Files | null = null;
  const files = async (): Promise<Files | null> => {
    if (kept !== null) return kept;
    const found = await filesIn(folder);
    return isWhole(found) ? (kept = found) : null;
  };
  app.get("/", async (context) => {
    const page = (await files())?.get(DOCUMENT);
    if (page !== undefined) return handedOut(context, page);
    const words = `sessiond ${version}. The page is not built: npm run build. What can be asked: /openapi.json\n`;
    return context.text(words);
  });
  for (const path of ["/favicon.svg", "/assets/:name"])
    app.get(path, async (context) => {
      const file = (await files())?.get(context.req.path);
      if (file === undefined) throw new Fault("not_found", "the page has no such file; load it again from /");
      return handedOut(context, file);
    });
  return app;
}

function handedOut(context: Context<LetIn>, { type, bytes, packed, isForever }: Held): Response {
  const isPacked = takesGzip(context.req.header("accept-encoding") ?? "");
  return context.body(isPacked ? packed : bytes, 200, {
    ...HEADERS,
    "content-type": type,
    "cache-control": isForever ? "public, max-age=31536000, immutable" : "no-cache",
    vary: "accept-encoding",
    ...(isPacked ? { "content-encoding": "gzip" } : {}),
  });
}

/** Whether every file is there that the document, or one of them, names. A build writes them one after the other. */
function isWhole(files: Files): boolean {
  return (
    files.has(DOCUMENT) && [...files.values()].every((file) => namedIn(file).every((path) => files.has(path)))
  );
}

function namedIn({ type, bytes }: Held): readonly string[] {
  const text = new TextDecoder().decode(bytes);
  if (type === TYPES[".html"])
    return [...text.matchAll(/(?:src|href)="(\/[^"]+)"/g)].map(([, path = ""]) => path);
  const names = type === TYPES[".js"] ? text.matchAll(/["'`]\.\/([\w.-]+\.(?:js|css))["'`]/g) : [];
  return [...names].map(([, name = ""]) => `/assets/${name}`);
}

/** `gzip;q=0` says that it is not taken. */
function takesGzip(said: string): boolean {
  return said.split(",").some((each) => /^\s*gzip\s*(?:;\s*q=(?!0(?:\.0*)?\s*$).*)?$/.test(each));
}

/** None, where nothing was built. */
async function filesIn(folder: string): Promise<Files> {
  const names = await readdir(folder, { recursive: true }).catch(unlessGone);
  const known = (names ?? []).filter((name) => Object.hasOwn(TYPES, extname(name)));
  const all = await Promise.all(known.map(async (name) => [`/${name}`, await held(folder, name)] as const));
  return new Map(all.flatMap(([name, file]) => (file === null ? [] : [[name, file] as const])));
}

/** A build takes away what was there before. */
function unlessGone(error: NodeJS.ErrnoException): null {
  if (error.code === "ENOENT") return null;
  throw error;
}

/** Null: it has gone meanwhile. */
async function held(folder: string, name: string): Promise<Held | null> {
  const read = await readFile(join(folder, name)).catch(unlessGone);
  if (read === null) return null;
  const bytes = new Uint8Array(read);
  return {
    type: TYPES[extname(name)] ?? "",
    bytes,
    packed: new Uint8Array(await promisify(gzip)(bytes, { level: 9 })),
    isForever: name.startsWith("assets/"),
  };
}
