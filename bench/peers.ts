// Peers: other programs that keep conversations, measured in the same run where they are installed.
//
// They live in bench/peers with a package.json of their own, so that nobody who uses sessiond installs them. A peer
// is loaded only in a process started for it: what it does to its process is no part of our figures.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

export const NOT_INSTALLED = "not installed (npm install --prefix bench/peers)";

/** What we call of pi's session file, and nothing else of it. */
export interface PiSession {
  appendMessage(message: unknown): string;
  buildSessionContext(): { readonly messages: readonly unknown[] };
  getSessionFile(): string | undefined;
}

export interface Pi {
  readonly SessionManager: {
    open(path: string): PiSession;
    create(cwd: string, directory: string): PiSession;
  };
}

interface Installed {
  readonly version: string;
  readonly entry: string;
}

/** Null: it is not installed. */
export function installedPi(): Installed | null {
  const peers = process.env["SESSIOND_BENCH_PEERS"] ?? fileURLToPath(new URL("peers", import.meta.url));
  const directory = join(peers, "node_modules", "@earendil-works", "pi-coding-agent");
  try {
    const text = readFileSync(join(directory, "package.json"), "utf8");
    const about = JSON.parse(text) as { readonly version: string; readonly main: string };
    return { version: about.version, entry: join(directory, about.main) };
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return null;
    throw error;
  }
}

/** In a process of its own only. */
export async function loadPi(): Promise<Pi> {
  const installed = installedPi();
  if (installed === null) throw new Error(`pi is ${NOT_INSTALLED}`);
  return (await import(installed.entry)) as Pi;
}
