// npm start: builds what has changed since the last time, and runs the daemon as it is installed: what is built starts in
// a third of the time, and takes less memory, than the source.

import { spawnSync } from "node:child_process";
import { readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { enableCompileCache } from "node:module";
import { join } from "node:path";

const root = join(import.meta.dirname, "..");
const stamp = join(root, "dist", ".built");

function changedMs(path) {
  return statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0;
}

function isBuilt() {
  const builtMs = changedMs(stamp);
  const source = readdirSync(join(root, "src"), { recursive: true }).map((name) => join(root, "src", name));
  const others = ["package.json", "tsconfig.json", "tsconfig.build.json"].map((name) => join(root, name));
  return [...source, ...others].every((path) => changedMs(path) < builtMs);
}

if (!isBuilt()) {
  process.stderr.write("building …\n");
  rmSync(join(root, "dist"), { recursive: true, force: true });
  const tsc = join(root, "node_modules", "typescript", "bin", "tsc");
  const { status } = spawnSync(process.execPath, [tsc, "-p", join(root, "tsconfig.build.json")], {
    stdio: "inherit",
  });
  if (status !== 0) process.exit(status ?? 1);
  writeFileSync(stamp, "");
}

enableCompileCache();
process.argv = [process.argv[0], process.argv[1], "serve", ...process.argv.slice(2)];
await import(new URL("../dist/cli/main.js", import.meta.url).href);
