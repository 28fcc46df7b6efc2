// Text that anybody may have written. It is only ever shown as text, and what turns a line around or cannot be seen is taken out.

import { ago } from "../../src/base/figures.ts";
import { clean, oneLine } from "../../src/base/harmless.ts";
import { since } from "../state/now.ts";
import { clock } from "./clock.ts";

export { shortKey } from "./key.ts";

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
