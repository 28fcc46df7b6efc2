// Text that anybody may have written. It is only ever shown as text, and what turns a line around or cannot be seen is taken out.

import { ago } from "../../src/base/figures.ts";
import { clean, oneLine } from "../../src/base/harmless.ts";
import { since } from "../state/now.ts";
import { clock } from "./clock.ts";

export function Plain({ text }: { readonly text: string }) {
  return <>{clean(text)}</>;
}

/** Of a title: one line; empty where there is none. */
export function Title({ text }: { readonly text: string }) {
  return <>{oneLine(text)}</>;
}

/** How long ago; the exact time is there for who points at it. */
export function Ago({ at }: { readonly at: string }) {
  return (
    <time dateTime={at} title={clock(at, "whole")}>
      {ago(since(at))}
    </time>
  );
}

/** The end of a key, as people say it: what tells a session from its siblings. */
export function shortKey(key: string): string {
  const parts = key.split(":");
  if (parts[0] !== "agent" || parts.length < 3) return key;
  const [, agent = "", ...rest] = parts;
  const [kind = "", id = ""] = rest.slice(-2);
  if (rest.length === 1) return agent === "main" ? (rest[0] ?? key) : `${agent}:${rest[0]}`;
  if (kind === "run") return `run:${id.slice(-6)}`; // Runs of a job begin alike, with the time.
  return kind === "subagent" ? `sub:${id.slice(0, 8)}` : rest.slice(-2).join(":");
}
