// Numbers of upkeep: what was done since the start, and how things stood at the last look.

import { Counter, Gauge, type Registry } from "prom-client";
import type { Upkeep } from "../upkeep/rounds.ts";

const KINDS = ["transcripts", "archives", "blobs"] as const;

/** Each is read anew whenever somebody asks. */
export function upkeepIn(registry: Registry, upkeep: Upkeep): void {
  const counter = (name: string, help: string, look: () => number): void => {
    const made: Counter = new Counter({
      name: `sessiond_upkeep_${name}_total`,
      help,
      registers: [],
      collect: () => {
        made.reset();
        made.inc(look());
      },
    });
    registry.registerMetric(made);
  };
  counter("rounds", "Rounds of upkeep, in either mode.", () => upkeep.standing.rounds);
  const done = () => upkeep.standing.done;
  counter("archived_sessions", "Sessions that upkeep has archived.", () => done().archived);
  counter("purged_archives", "Archives that upkeep has erased.", () => done().purged);
  counter("rotated_sessions", "Sessions that were asked to go on in a new file.", () => done().rotated);
  counter("packed_bytes", "Bytes of transcripts, before upkeep has packed them.", () => done().packedBytes);
  counter("collected_blobs", "Blobs that nobody named, and that are gone.", () => done().collected);
  counter("skipped", "Steps that were left, because something had changed.", () => done().skipped);
  counter("failed", "Steps that could not be done; the log says why.", () => done().failed);
  const over: Gauge = new Gauge({
    name: "sessiond_upkeep_over_budget_bytes",
    help: "Bytes above upkeep.diskMiB that nothing may free.",
    registers: [],
    collect: () => over.set(upkeep.standing.over),
  });
  registry.registerMetric(over);
  const disk: Gauge<"kind"> = new Gauge({
    name: "sessiond_disk_bytes",
    help: "Bytes on the disk at the last look of upkeep, by what they are.",
    labelNames: ["kind"],
    registers: [],
    collect: () => {
      const { use } = upkeep.standing;
      if (use !== null) for (const kind of KINDS) disk.set({ kind }, use[kind]);
    },
  });
  registry.registerMetric(disk);
}
