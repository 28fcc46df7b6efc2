// The one table at the end. It is Markdown with its columns padded, so that what a terminal shows can be pasted
// into RESULTS.md as it is.

import { execFileSync } from "node:child_process";
import { statfsSync } from "node:fs";
import { cpus, release, totalmem, type } from "node:os";
import { ratioOf, type Amount, type Figure } from "./measure.ts";

const HEAD = ["what", "ours", "beside it, from the same run", "ratio", "wanted", "verdict"] as const;

export function tableOf(figures: readonly Figure[]): string {
  const rows = [HEAD, ...figures.map(cellsOf)];
  const widths = HEAD.map((_, at) => Math.max(...rows.map((row) => [...(row[at] ?? "")].length)));
  const lines = rows.map((row) => `| ${row.map((cell, at) => padded(cell, widths[at] ?? 0)).join(" | ")} |`);
  const rule = `|${widths.map((width) => "-".repeat(width + 2)).join("|")}|`;
  return `${[lines[0], rule, ...lines.slice(1)].join("\n")}\n`;
}

/** How many were met of those that were wanted, and which were not. */
export function summaryOf(figures: readonly Figure[]): string {
  const wanted = figures.filter((figure) => figure.wanted !== null);
  const missed = wanted.filter((figure) => figure.wanted?.met === false);
  const names = missed.length > 0 ? `; missed: ${missed.map((figure) => figure.what).join("; ")}` : "";
  return `${wanted.length - missed.length} of ${wanted.length} met${names}\n`;
}

/** Everything that a reader of the numbers has to know about where they come from. */
export function captionOf(run: { directory: string; quick: boolean; load: number }): string {
  const cores = cpus();
  const machine = [
    `${cores.length} cores (${cores[0]?.model ?? "unknown"})`,
    `${(totalmem() / 2 ** 30).toFixed(0)} GiB`,
    `${filesystemOf(run.directory)}`,
    `${type()} ${release()}`,
    `Node ${process.versions.node}`,
  ].join(", ");
  const sizes = run.quick ? "QUICK: every size divided by ten, fewer repetitions" : "full sizes";
  const commit = commitOf();
  const when = new Date().toISOString().slice(0, 10);
  return `${when}, commit ${commit}, ${sizes}. ${machine}. Load average when it began: ${run.load.toFixed(2)}.\n`;
}

function shown(amount: Amount | null): string {
  if (amount === null) return "–";
  const of = amount.of === "" ? "" : ` ${amount.of}`;
  if (amount.unit === "/s") return `${Math.round(amount.value).toLocaleString("en-US")}/s${of}`;
  const large = Math.floor(Math.log10(Math.max(0.01, Math.abs(amount.value)))); // -2 … : three digits tell enough
  return `${amount.value.toFixed(Math.max(0, Math.min(3, 2 - large)))} ${amount.unit}${of}`;
}

function cellsOf(figure: Figure): readonly string[] {
  const ratio = ratioOf(figure);
  const verdict = figure.wanted === null ? "reported" : figure.wanted.met ? "met" : "MISSED";
  return [
    figure.what,
    shown(figure.ours),
    figure.base === null ? figure.beside : `${shown(figure.base)}: ${figure.beside}`,
    ratio === null ? "–" : `${ratio.toFixed(ratio < 0.1 ? 3 : 2)} ×`,
    figure.wanted?.words ?? "–",
    verdict,
  ];
}

function padded(cell: string, width: number): string {
  return cell + " ".repeat(width - [...cell].length);
}

/** By the magic number that statfs reports; the ones people are likely to have. */
const FILESYSTEMS = new Map([
  [0xef53, "ext4"],
  [0x58465342, "XFS"],
  [0x9123683e, "Btrfs"],
  [0x2fc12fc1, "ZFS"],
  [0x01021994, "tmpfs (memory: syncs cost nothing, so no figure about durability means anything)"],
  [0x794c7630, "overlay"],
]);

function filesystemOf(directory: string): string {
  const magic = statfsSync(directory).type >>> 0;
  return FILESYSTEMS.get(magic) ?? `filesystem 0x${magic.toString(16)}`;
}

function commitOf(): string {
  try {
    const cwd = new URL("..", import.meta.url);
    return execFileSync("git", ["describe", "--always", "--dirty"], {
      cwd,
      encoding: "utf8",
      stdio: "pipe",
    }).trim();
  } catch {
    return "unknown"; // a copy without its repository can be measured too
  }
}
