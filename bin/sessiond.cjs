#!/usr/bin/env node
"use strict";

// Starts the command line with a Node that can run it. It is written so that any Node from 18 on understands it: an old one
// hands over to the one that npm installed beside it, with the same standard streams, signals and exit code.

const { spawn } = require("node:child_process");
const { existsSync } = require("node:fs");
const { join } = require("node:path");
const { pathToFileURL } = require("node:url");

const NODE_MAJOR = 24;
const root = join(__dirname, "..");

// In a checkout the source is what counts; a package has only what was built.
const source = join(root, "src", "cli", "main.ts");
const main = existsSync(source) ? source : join(root, "dist", "cli", "main.js");

if (Number(process.versions.node.split(".")[0]) >= NODE_MAJOR) {
  // What is compiled once need not be compiled again by the next command.
  require("node:module").enableCompileCache?.();
  import(pathToFileURL(main).href).catch((error) => {
    process.stderr.write(`sessiond: ${error instanceof Error ? error.stack : error}\n`);
    process.exitCode = 70;
  });
} else {
  const node = newerNode();
  if (node === null) {
    process.stderr.write(
      `sessiond: Node ${NODE_MAJOR} or newer is needed; this is ${process.versions.node}.\n` +
        "  install a newer Node, or put one first in PATH\n",
    );
    process.exitCode = 78;
  } else handOver(node);
}

/** The one that npm installs along on Linux, in this package's folder or beside it; null: there is none. */
function newerNode() {
  const name = `node-${process.platform}-${process.arch}`;
  const places = [join(root, "node_modules", name), join(root, "..", name)];
  return places.map((place) => join(place, "bin", "node")).find((path) => existsSync(path)) ?? null;
}

function handOver(node) {
  const child = spawn(node, [__filename, ...process.argv.slice(2)], { stdio: "inherit" });
  // A terminal sends its signals to both; others are sent to this process alone, and are passed on. This one stays until
  // the other has ended.
  for (const signal of ["SIGTERM", "SIGHUP", "SIGUSR1", "SIGUSR2"])
    process.on(signal, () => child.kill(signal));
  for (const signal of ["SIGINT", "SIGQUIT"])
    process.on(signal, () => {
      if (!process.stdin.isTTY) child.kill(signal);
    });
  child.on("error", (error) => {
    process.stderr.write(`sessiond: ${node} cannot be started: ${error.message}\n`);
    process.exitCode = 78;
  });
  child.on("exit", (code, signal) => {
    if (signal === null) process.exit(code ?? 1);
    process.removeAllListeners(signal);
    process.kill(process.pid, signal); // so that who waits sees the same end
  });
}
