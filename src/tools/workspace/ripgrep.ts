// Asks ripgrep where something is, when it is installed. It is fast and knows .gitignore; what it says is only line numbers
// to us, and looking.ts reads them.

import { isAbsolute } from "node:path";
import { createInterface } from "node:readline";
import type { SessionKey } from "../../routing/key.ts";
import { findProgram } from "../../sandbox/launch.ts";
import { look, shownIn } from "../../sandbox/place.ts";
import type { Processes, Running } from "../../sandbox/processes.ts";
import { within, withinFolder } from "../../sandbox/within.ts";
import { SKIPPED } from "./lines.ts";
import type { Where } from "./looking.ts";

export interface Asked {
  readonly session: SessionKey; // whose process it is
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
export async function whereByRipgrep(
  processes: Processes,
  asked: Asked,
  signal: AbortSignal,
): Promise<readonly Where[] | null> {
  const { workspace, path } = asked;
  return within({ workspace, path }, { make: false }, async (place) => {
    const run = async (start: Start): Promise<readonly Where[] | null> => {
      const running = await started(processes, asked, start);
      return running && (await linesFrom(running, { ...start, limit: asked.limit, signal }));
    };
    if ((await look(place))?.isFile())
      return run(startIn(place.folder.path, `./${place.name}`, (each) => shownIn(place.folder, each)));
    return withinFolder({ workspace, path }, (folder) =>
      run(startIn(folder.path, "./", (each) => shownIn(folder, each))),
    );
  });
}

/** A program of our own has handles of its own: it is started in ours, whatever happens to the path. */
function startIn(path: string, target: string, shown: Start["shown"]): Start {
  return { cwd: path.replace("/proc/self/", `/proc/${process.pid}/`), target, shown };
}

/** Null: it is not there, or could not be started. */
async function started(processes: Processes, asked: Asked, { cwd, target }: Start): Promise<Running | null> {
  // A folder of PATH that is not absolute would be one of the workspace.
  const PATH = (process.env["PATH"] ?? "").split(":").filter(isAbsolute).join(":");
  const program = await findProgram("rg", PATH, "/");
  if (program === null) return null;
  const command = [program, ...argumentsOf(asked, target)];
  return await processes.start({ command, cwd, env: { PATH }, session: asked.session }).catch(() => null);
}

/** Nothing of it is left afterwards. */
async function linesFrom(
  running: Running,
  { shown, limit, signal }: Start & { readonly limit: number; readonly signal: AbortSignal },
): Promise<readonly Where[] | null> {
  const { stdin, stdout, stderr, ended } = running;
  const stop = (): void => void running.kill().catch(() => {}); // Told below, where it is waited for.
  signal.addEventListener("abort", stop, { once: true });
  if (signal.aborted) stop();
  stdin.end();
  stderr.resume();
  // Whoever is left behind may keep the output open for ever.
  const over = ended.then(async (how) => {
    if (how.left > 0) await running.kill();
    return how;
  });
  over.catch(() => {}); // Told below, where it is waited for.
  const found = new Map<string, number[]>();
  let matches = 0;
  try {
    for await (const line of createInterface({ input: stdout, crlfDelay: Infinity })) {
      const [, path, number] = /^(?:\.\/)?([^\0]+)\0(\d+):/.exec(line) ?? [];
      if (path === undefined || number === undefined) continue;
      if (matches > limit) break;
      matches += 1;
      const lines = found.get(path) ?? [];
      lines.push(Number(number));
      found.set(path, lines);
    }
  } finally {
    signal.removeEventListener("abort", stop);
    stdout.destroy();
  }
  const isCut = matches > limit || signal.aborted;
  if (isCut) await running.kill();
  const { exitCode } = await over;
  if (matches === 0 && exitCode !== 1) return null; // 1: nothing matches. Else it did not like something.
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
