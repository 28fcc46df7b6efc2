// Does pi read what sessiond writes? Transcripts are written through the store and the codec, opened with pi's
// own code, and compared. Prints a table; exits with 1 when anything differs.
//
// pi is not a dependency: `npm run pi` installs it beside the benchmarks and then runs this. It is loaded through
// its public entry, by path, because it is installed where a plain import does not look.

import { copyFileSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import type { Entry } from "../../src/transcript/entry.ts";
import { contextStart } from "../../src/transcript/fold.ts";
import { FileSource } from "../../src/transcript/lines.ts";
import { readForward } from "../../src/transcript/read.ts";
import { contextOf, messagesOf, readLikePi, type Fields } from "./like.ts";
import { writeScenes, type Scene } from "./scenes.ts";

/** The part of pi that is asked. The names are pi's. */
interface Pi {
  readonly SessionManager: {
    open(path: string): PiSession;
    listAll(folder: string): Promise<readonly PiListed[]>;
  };
}

interface PiListed {
  readonly path: string;
  readonly parentSessionPath?: string;
  readonly messageCount: number;
}

interface PiSession {
  getBranch(): readonly Fields[];
  buildSessionContext(): { readonly messages: readonly Fields[] };
  appendMessage(message: Fields): string;
}

/** One row of the table: what was asked, and what is wrong. */
interface Verdict {
  readonly name: string;
  readonly entries: number;
  readonly messages: number;
  readonly wrong: readonly string[];
}

const PI = new URL("../../bench/peers/node_modules/@earendil-works/pi-coding-agent/", import.meta.url);

async function main(): Promise<number> {
  if (!existsSync(PI)) {
    say("pi is not installed here; `npm run pi` installs it and comes back");
    return 1;
  }
  const pi = (await import(new URL("dist/index.js", PI).href)) as Pi;
  const { version } = JSON.parse(readFileSync(new URL("package.json", PI), "utf8")) as { version: string };
  const home = mkdtempSync(join(tmpdir(), "sessiond-pi-"));
  try {
    const scenes = await writeScenes(home);
    const verdicts = [
      ...scenes.map((scene) => checkScene(pi, scene)),
      ...damagedScenes(home, scenes).map((path) => checkLike(pi, path)),
      ...["v1", "v2", "v3"].map((name) => checkOlder(pi, home, name)),
      await checkListed(pi, scenes),
    ];
    return tell(version, verdicts);
  } finally {
    rmSync(home, { recursive: true });
  }
}

/** A transcript of ours: pi sees the same path and the same context, changes nothing, and can go on with it. */
function checkScene(pi: Pi, { name, path, branch, context }: Scene): Verdict {
  const before = readFileSync(path);
  const session = pi.SessionManager.open(path);
  const { messages } = session.buildSessionContext();
  const expected = contextOf(context as unknown as Fields[]).flatMap(messagesOf);
  const wrong = [
    ...differs("path", session.getBranch(), branch),
    ...differs("context", messages, expected),
    ...differs("where the context starts", context[0]?.seq ?? 1, contextStart(branch)),
    ...(readFileSync(path).equals(before) ? [] : ["pi changed the file"]),
    ...likeDiffers(session, path),
    ...checkGoingOn(pi, path, branch),
  ];
  return { name, entries: branch.length, messages: messages.length, wrong };
}

/** pi adds a message to a copy. Its lines have no seq; our reader takes them with the numbers that come next. */
function checkGoingOn(pi: Pi, path: string, branch: readonly Entry[]): string[] {
  const copy = `${path}.copy`;
  copyFileSync(path, copy);
  const known = readAll(copy);
  const session = pi.SessionManager.open(copy);
  const id = session.appendMessage({ role: "user", content: "from pi", timestamp: 5 });
  session.appendMessage({ role: "user", content: "and again", timestamp: 6 });
  const now = readAll(copy);
  const [first, second] = now.entries.slice(-2);
  const last = known.entries.at(-1)?.seq ?? 0;
  return [
    ...differs("what pi added to", now.entries.slice(0, -2), known.entries),
    ...differs("gaps after pi added", now.gaps, known.gaps),
    ...differs("numbers of what pi added", [first?.seq, second?.seq], [last + 1, last + 2]),
    ...differs("ids of what pi added", [first?.id, second?.parentId], [id, id]),
    ...differs("parent of what pi added", first?.parentId, branch.at(-1)?.id ?? null),
    ...likeDiffers(session, copy),
  ];
}

/** Damage: what pi makes of it is pi's affair, but our re-telling must say the same. */
function checkLike(pi: Pi, path: string): Verdict {
  const session = pi.SessionManager.open(path);
  const name = path.slice(path.lastIndexOf("/") + 1);
  const { messages } = session.buildSessionContext();
  return {
    name,
    entries: session.getBranch().length,
    messages: messages.length,
    wrong: likeDiffers(session, path),
  };
}

/** An older file, lifted by us and migrated by pi (in a copy, which it rewrites): the same context. */
function checkOlder(pi: Pi, home: string, name: string): Verdict {
  const path = join(home, `${name}.jsonl`);
  copyFileSync(new URL(`../fixtures/${name}.jsonl`, import.meta.url), path);
  const { entries } = readAll(path);
  const byId = new Map(entries.map((entry) => [entry.id, entry]));
  const branch: Entry[] = [];
  for (let at = entries.at(-1); at; at = byId.get(at.parentId ?? "")) branch.unshift(at);
  const start = contextStart(branch);
  const context = branch.filter(({ seq }) => seq >= start) as unknown as Fields[];
  const session = pi.SessionManager.open(path);
  const { messages } = session.buildSessionContext();
  const wrong = [
    ...differs("path", session.getBranch().length, branch.length),
    ...differs("context", messages, contextOf(context).flatMap(messagesOf)),
    ...likeDiffers(session, path),
  ];
  return { name: `fixture ${name}`, entries: branch.length, messages: messages.length, wrong };
}

/**
 * A fork in pi's list. pi is told the bare name of the transcript that it came from, and does not look for it in the
 * fork's folder: so it lists the fork as a root. The day this differs, docs/formats/transcript.md has to say so.
 */
async function checkListed(pi: Pi, scenes: readonly Scene[]): Promise<Verdict> {
  const [fork, origin] = ["fork", "rewind"].map(
    (wanted) => scenes.find(({ name }) => name === wanted)?.path ?? "",
  );
  const folder = dirname(fork ?? "");
  const listed = await pi.SessionManager.listAll(folder);
  const found = listed.find(({ path }) => path === fork);
  const wrong = [
    ...differs("parent of a fork in pi's list", found?.parentSessionPath, basename(origin ?? "")),
    ...differs("the folder of that parent", dirname(origin ?? ""), folder),
    ...differs(
      "whether pi finds the parent",
      listed.some(({ path }) => path === found?.parentSessionPath),
      false,
    ),
  ];
  return { name: "fork, in a list", entries: listed.length, messages: found?.messageCount ?? 0, wrong };
}

function damagedScenes(home: string, scenes: readonly Scene[]): string[] {
  const source = scenes.find(({ name }) => name === "calls and results") ?? scenes[0];
  const lines = readFileSync(source?.path ?? "", "utf8")
    .trimEnd()
    .split("\n");
  const last = lines.length - 1;
  const spoilt: readonly (readonly [string, readonly string[]])[] = [
    ["damaged: blank line", [...lines.with(4, " ".repeat(40)), ""]],
    ["damaged: not JSON", [...lines.with(4, "garbage"), ""]],
    ["damaged: null", [...lines.with(4, "null"), ""]],
    ["damaged: odd JSON", [...lines.with(4, "[5]"), ""]],
    ["damaged: odd last line", [...lines.with(last, '"text"'), ""]],
    ["damaged: torn end", lines.with(last, lines[last]?.slice(0, 30) ?? "")],
    ["damaged: no last newline", lines],
  ];
  return spoilt.map(([name, made]) => {
    const path = join(home, name);
    writeFileSync(path, made.join("\n"));
    return path;
  });
}

function likeDiffers(session: PiSession, path: string): string[] {
  const like = readLikePi(path);
  return [
    ...differs("like.ts, path", like?.branch, session.getBranch()),
    ...differs("like.ts, context", like?.messages, session.buildSessionContext().messages),
  ];
}

function readAll(path: string): { readonly entries: Entry[]; readonly gaps: number } {
  const source = new FileSource(path);
  try {
    const items = [...readForward(source, 0)].map(({ item }) => item);
    const entries = items.filter((item) => item.type !== "session" && item.type !== "gap");
    return { entries, gaps: items.filter((item) => item.type === "gap").length };
  } finally {
    source.close();
  }
}

/** As JSON: a field that is undefined and a field that is not there are the same in a file. */
function differs(what: string, seen: unknown, expected: unknown): string[] {
  const [one, other] = [seen, expected].map((value): unknown => JSON.parse(JSON.stringify(value) ?? "null"));
  if (isDeepStrictEqual(one, other)) return [];
  return [
    `${what}: ${JSON.stringify(one).slice(0, 400)}\n    expected ${JSON.stringify(other).slice(0, 400)}`,
  ];
}

function tell(version: string, verdicts: readonly Verdict[]): number {
  say(`pi ${version}, ${process.version}`);
  say(`${"transcript".padEnd(32)}${"path".padStart(6)}${"context".padStart(9)}  verdict`);
  for (const { name, entries, messages, wrong } of verdicts) {
    const verdict = wrong.length === 0 ? "same" : `${wrong.length} differences`;
    say(`${name.padEnd(32)}${String(entries).padStart(6)}${String(messages).padStart(9)}  ${verdict}`);
    for (const each of wrong) say(`    ${each}`);
  }
  const failed = verdicts.filter(({ wrong }) => wrong.length > 0).length;
  say(failed === 0 ? "no differences" : `${failed} of ${verdicts.length} transcripts differ`);
  return failed === 0 ? 0 : 1;
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

process.exitCode = await main();
