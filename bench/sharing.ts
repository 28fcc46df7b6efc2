// Measure 11: what sharing costs. A grant among ten thousand who wait, beside one among a hundred: it must not matter how many
// they are. And a program that does nothing, recorded and watched over as tools run it, beside the same program started by
// Node alone.

import { spawn } from "node:child_process";
import { join } from "node:path";
import { openLog } from "../src/base/log.ts";
import { RealWorld } from "../src/base/world.ts";
import { cronKey, DEFAULT_AGENT } from "../src/routing/key.ts";
import { Processes } from "../src/sandbox/processes.ts";
import { Slots, type Slot } from "../src/scheduler/slots.ts";
import { CLASSES } from "../src/mail/urgency.ts";
import { interleaved, median, ms, quantile, ratioFigure, timed, type Figure } from "./measure.ts";
import type { Run } from "./run.ts";

const FEW = 100;
const MANY = 10_000;
const SLOTS = 32;
const world = new RealWorld();

export async function sharing(run: Run): Promise<Figure[]> {
  run.say("sharing: grants");
  const [few, many] = [await Crowd.of(FEW), await Crowd.of(MANY)];
  const costs: [number[], number[]] = [[], []];
  await interleaved(run.atLeast(20, 200), [
    async () => void costs[0].push(await timed(() => few.goRound())),
    async () => void costs[1].push(await timed(() => many.goRound())),
  ]);
  run.say("sharing: programs");
  const programs = await programsOf(run);
  return [
    ratioFigure({
      what: `a grant while ${MANY.toLocaleString("en")} roots wait`,
      ours: ms(median(costs[1]) / ROUND, "p50"),
      base: ms(median(costs[0]) / ROUND, "p50"),
      beside: `while ${FEW} wait`,
      most: 4,
    }),
    ratioFigure({
      what: "a program that does nothing, recorded and looked after",
      ours: ms(median(programs.ours), "p50"),
      base: ms(median(programs.raw), "p50"),
      beside: "the same started by Node alone",
    }),
    ratioFigure({
      what: "a program that does nothing, recorded and looked after",
      ours: ms(quantile(programs.ours, 0.99), "p99"),
      base: ms(quantile(programs.raw, 0.99), "p99"),
      beside: "the same started by Node alone",
    }),
  ];
}

/** Grants in one round. */
const ROUND = 100;

/** Roots of all classes that always want a slot. */
class Crowd {
  readonly #slots = new Slots(world, { slots: SLOTS, reserve: 4, share: 16, providers: new Map() });
  readonly #granted: { readonly slot: Slot; readonly at: number }[] = [];
  readonly #wake: (() => void)[] = [];

  static async of(roots: number): Promise<Crowd> {
    const crowd = new Crowd();
    for (let at = 0; at < roots; at += 1) crowd.#ask(at);
    await crowd.goRound();
    return crowd;
  }

  /** One slot is given back, whoever is next gets it, and who had it asks again: so many times. */
  async goRound(): Promise<void> {
    for (let n = 0; n < ROUND; n += 1) {
      while (this.#granted.length === 0) await new Promise<void>((wake) => this.#wake.push(wake));
      const { slot, at } = this.#granted.shift() ?? { slot: null, at: 0 };
      slot?.giveBack(1_000 + ((at * 7_919) % 1_000));
      this.#ask(at);
    }
  }

  #ask(at: number): void {
    const key = cronKey(DEFAULT_AGENT, `root-${at}`);
    const asking = {
      key,
      root: key,
      class: CLASSES[at % 4] ?? "background",
      nice: 0,
      provider: `p${at % 5}`,
    };
    void this.#slots.take(asking, new AbortController().signal).then((slot) => {
      this.#granted.push({ slot, at });
      this.#wake.shift()?.();
    });
  }
}

async function programsOf(run: Run): Promise<{ readonly ours: number[]; readonly raw: number[] }> {
  const home = run.scratch.home("sharing");
  const log = openLog("silent");
  const processes = new Processes({ folder: join(home, "processes"), world, log });
  const ours: number[] = [];
  const raw: number[] = [];
  const env = { PATH: process.env["PATH"] ?? "" };
  await interleaved(run.atLeast(20, 200), [
    async () => {
      const work = async (): Promise<void> => {
        const running = await processes.start({ command: ["sh", "-c", ":"], cwd: "/", env, session: null });
        running.stdout.resume();
        running.stderr.resume();
        await running.ended;
      };
      ours.push(await timed(work));
    },
    async () => {
      const work = (): Promise<void> =>
        new Promise((done, fail) => {
          const child = spawn("sh", ["-c", ":"], { cwd: "/", env, stdio: ["pipe", "pipe", "pipe"] });
          child.stdout.resume();
          child.stderr.resume();
          child.once("close", () => done()).once("error", fail);
        });
      raw.push(await timed(work));
    },
  ]);
  await run.scratch.remove(home);
  return { ours, raw };
}
