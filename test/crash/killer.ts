// Killer: runs a workload and ends it without warning. Two kinds of victims: a life, which is killed while it
// works; and a start, which does nothing but open the home and close it, and is killed meanwhile.

import { spawn } from "node:child_process";
import type { World } from "../../src/base/world.ts";

export interface Death {
  readonly output: string;
  /** False: it was done before the time came. */
  readonly killed: boolean;
  /** Whether the home had been opened, recovery included. */
  readonly ready: boolean;
}

/** When it dies: so long after it said this. */
interface Doom {
  readonly after: "starting" | "ready";
  readonly ms: number;
}

const LIFE_MS_MAX = 400;

/** How much longer than the last one a start is given: more than enough, so that some come through and show how long. */
const SPARE = 1.3;

/** Of what a process complained about when it failed, so much is shown. */
const COMPLAINT_CHARS_MAX = 600;

export class Killer {
  readonly #workload: string;
  readonly #seed: number;
  readonly #dice: World;
  #startMs = 0; // of the last start that was seen to its end

  /** `workload` is a program that is told the home, the seed and the number of its run, and how much to do. */
  constructor(workload: string, seed: number, dice: World) {
    this.#workload = workload;
    this.#seed = seed;
    this.#dice = dice;
  }

  async life(home: string, run: number, lifeMsMax = LIFE_MS_MAX): Promise<Death> {
    const doom: Doom = { after: "ready", ms: this.#dice.random() * lifeMsMax };
    return await this.#run([home, String(this.#seed), String(run)], doom);
  }

  async start(home: string): Promise<Death> {
    const doom: Doom = { after: "starting", ms: this.#dice.random() * this.#startMs * SPARE };
    return await this.#run([home, String(this.#seed), "start", "0"], doom);
  }

  /** To its own end. `much` is how much it does, in the workload's own words. */
  async whole(home: string, run: number, much: string): Promise<Death> {
    return await this.#run([home, String(this.#seed), String(run), much], null);
  }

  /** A workload that outlives its parent can tell by the end of its standard input. */
  async #run(args: readonly string[], doom: Doom | null): Promise<Death> {
    const child = spawn(process.execPath, [this.#workload, ...args], { stdio: ["pipe", "pipe", "pipe"] });
    const heard: Partial<Record<Doom["after"], number>> = {};
    let [output, complaint] = ["", ""];
    let doomed: NodeJS.Timeout | undefined;
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      output += text;
      for (const word of ["starting", "ready"] as const) {
        if (heard[word] !== undefined || !output.includes(`{"${word}":true}\n`)) continue;
        heard[word] = performance.now();
        if (word === doom?.after) doomed = setTimeout(() => child.kill("SIGKILL"), doom.ms);
      }
    });
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      complaint = (complaint + text).slice(-COMPLAINT_CHARS_MAX);
    });
    const { promise, resolve } = Promise.withResolvers<void>();
    child.on("close", () => resolve());
    await promise;
    clearTimeout(doomed);
    const { starting, ready } = heard;
    if (starting !== undefined && ready !== undefined) this.#startMs = ready - starting;
    const killed = child.signalCode === "SIGKILL";
    if (!killed && child.exitCode !== 0)
      throw new Error(`the workload failed: ${output.slice(-300)}${complaint}`);
    return { output, killed, ready: ready !== undefined };
  }
}
