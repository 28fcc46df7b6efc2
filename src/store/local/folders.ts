/** The folders that blobs are in, by the first two digits of their names. */
export const FOLDERS: readonly string[] = Array.from({ length: 256 }, (_, n) =>
  n.toString(16).padStart(2, "0"),
);
