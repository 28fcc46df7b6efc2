// Asks ripgrep where something is, when it is installed. It is fast and knows .gitignore; what it says is only line numbers
// to us, and looking.ts reads them.

import { spawn } from "node:child_process";
import { isAbsolute } from "node:path";
import { createInterface } from "node:readline";
import { look, shownIn } from "../../sandbox/place.ts";
import { within, withinFolder } from "../../sandbox/within.ts";
import { SKIPPED } from "./lines.ts";
import type { Where } from "./looking.ts";

export interface Asked {
  readonly workspace: string;
  readonly path: string;
  readonly pattern: string;
  readonly glob: string | null;
  readonly ignoreCase: boolean;
  readonly literal: boolean;
  readonly limit: number; // matches
}

/** Where it runs, and what it searches there. `shown`: what comes before its paths, from the workspace on. */
interface Start {
  readonly cwd: string;
  readonly target: string;
  readonly shown: (path: string) => string;
}

/** Null: it is not there, or cannot do this; then we look ourselves. One match more than asked for is told, if there is. */
export async function whereByRipgrep(asked: Asked, signal: AbortSignal): Promise<readonly Where[] | null> {
  const { workspace, path } = asked;
  return within({ workspace, path }, { make: false }, async (place) => {
    if ((await look(place))?.isFile())
      return run(
        asked,
        startIn(place.folder.path, `./${place.name}`, (each) => shownIn(place.folder, each)),
        signal,
      );
    return withinFolder({ workspace, path }, (folder) =>
      run(
        asked,
        startIn(folder.path, "./", (each) => shownIn(folder, each)),
        signal,
      ),
    );
  });
}

/** A program of our own has handles of its own: it is started in ours, whatever happens to the path. */
function startIn(path: string, target: string, shown: Start["shown"]): Start {
  return { cwd: path.replace("/proc/self/", `/proc/${process.pid}/`), target, shown };
}

async function run(
  asked: Asked,
  { cwd, target, shown }: Start,
  signal: AbortSignal,
): Promise<readonly Where[] | null> {
  // A folder of PATH that is not absolute would be one of the workspace.
  const PATH = (process.env["PATH"] ?? "").split(":").filter(isAbsolute).join(":");
  const child = spawn("rg", argumentsOf(asked, target), {
    cwd,
    env: { PATH },
    stdio: ["ignore", "pipe", "ignore"],
    signal,
    killSignal: "SIGKILL",
  });
  const { promise: ended, resolve } = Promise.withResolvers<number | null>();
  child.once("error", () => resolve(null)); // It is not installed, or was ended by the signal.
  child.once("close", resolve);
  const found = new Map<string, number[]>();
  let matches = 0;
  for await (const line of createInterface({ input: child.stdout, crlfDelay: Infinity })) {
    const [, path, number] = /^(?:\.\/)?([^\0]+)\0(\d+):/.exec(line) ?? [];
    if (path === undefined || number === undefined) continue;
    if (matches > asked.limit) break;
    matches += 1;
    const lines = found.get(path) ?? [];
    lines.push(Number(number));
    found.set(path, lines);
  }
  child.kill("SIGKILL");
  const code = await ended;
  if (matches === 0 && code !== 1) return null; // 1: nothing matches. Else it did not like something.
  return [...found].map(([path, lines]) => ({ path: shown(path), lines }));
}

function argumentsOf({ pattern, glob, ignoreCase, literal }: Asked, target: string): string[] {
  return [
    "--no-config",
    "--no-follow",
    "--no-messages",
    "--no-ignore-parent", // Those are files outside.
    "--no-ignore-global",
    "--hidden",
    "--crlf", // The end of a line is the same wherever the file was written.
    ...["--null", "--line-number", "--with-filename", "--no-heading", "--color=never", "--sort=path"],
    "--max-columns=1", // The text is not wanted.
    ...(ignoreCase ? ["--ignore-case"] : []),
    ...(literal ? ["--fixed-strings"] : []),
    ...(glob === null ? [] : [`--glob=${glob}`]),
    ...SKIPPED.map((name) => `--glob=!${name}`),
    ...["-e", pattern, "--", target],
  ];
}
