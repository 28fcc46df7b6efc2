import { writeSync } from "node:fs";

/** One line of JSON to standard output, and it is out when this returns: the next moment this process may be killed. */
export function sayLine(said: unknown): void {
  const line = Buffer.from(`${JSON.stringify(said)}\n`);
  for (let done = 0; done < line.length;) {
    try {
      done += writeSync(1, line, done);
    } catch (error) {
      if (!(error instanceof Error && "code" in error && error.code === "EAGAIN")) throw error;
    }
  }
}
