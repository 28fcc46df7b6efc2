import { oneLine } from "../../../src/base/harmless.ts";

/** Words of the daemon on one line. It says times for machines; people have a clock on the wall. */
export function worded(text: string): string {
  return oneLine(text).replaceAll(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z/g, (iso) => {
    const at = new Date(iso);
    return Number.isNaN(at.getTime()) ? iso : at.toLocaleTimeString();
  });
}
