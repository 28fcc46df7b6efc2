import { readFileSync } from "node:fs";

/** As package.json has it, which stands at the same place beside src/ and beside dist/. */
export function version(): string {
  const text = readFileSync(new URL("../../package.json", import.meta.url), "utf8");
  return (JSON.parse(text) as { readonly version: string }).version;
}
