import { stat, statfs } from "node:fs/promises";

/** What there is room for, and what waits. Null: it cannot be known. */
export interface Disk {
  readonly disk: { readonly freeBytes: number; readonly totalBytes: number } | null;
  readonly journal: { readonly bytes: number } | null;
}

/** Of the file system that a folder is on, and of a file. Neither is opened. */
export async function lookAtDisk({
  folder,
  journal,
}: {
  readonly folder: string;
  readonly journal: string;
}): Promise<Disk> {
  const [system, file] = await Promise.all([
    statfs(folder).catch(() => null),
    stat(journal).catch(() => null),
  ]);
  return {
    // What only root may use is not free.
    disk: system && { freeBytes: system.bavail * system.bsize, totalBytes: system.blocks * system.bsize },
    journal: file && { bytes: file.size },
  };
}
