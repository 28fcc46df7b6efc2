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
  const sources = ["src", "web"].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true }).map((name) => join(root, folder, name)),
  );
  const others = ["package.json", "tsconfig.json", "tsconfig.build.json"].map((name) => join(root, name));
  return [...sources, ...others].every((path) => changedMs(path) < builtMs);
}

/** A program of an installed package; what it says is shown, and if it fails nothing is started. */
function run(program, ...words) {
  const path = join(root, "node_modules", program);
  const { status } = spawnSync(process.execPath, [path, ...words], { stdio: "inherit" });
  if (status !== 0) process.exit(status ?? 1);
}

if (!isBuilt()) {
  process.stderr.write("building …\n");
  rmSync(join(root, "dist"), { recursive: true, force: true });
  run("typescript/bin/tsc", "-p", join(root, "tsconfig.build.json"));
  run("vite/bin/vite.js", "build", join(root, "web"), "--logLevel", "warn");
  writeFileSync(stamp, "");
}

enableCompileCache();
process.argv = [process.argv[0], process.argv[1], "serve", ...process.argv.slice(2)];
await import(new URL("../dist/cli/main.js", import.meta.url).href);
