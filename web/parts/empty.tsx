// What stands where nothing is yet, or where something went wrong: what it means, and what to do next.

import type { ComponentChildren } from "preact";
import type { Fault } from "../../src/base/fault.ts";
import { clean } from "../../src/base/harmless.ts";
import { Button } from "./button.tsx";
import { Icon } from "./icons.tsx";

export function Empty({
  title,
  children,
}: {
  readonly title: string;
  readonly children?: ComponentChildren;
}) {
  return (
    <div class="empty">
      <p class="lead">{clean(title)}</p>
      {children !== undefined && (
        <div class="hint">{typeof children === "string" ? clean(children) : children}</div>
      )}
    </div>
  );
}

/** The words of the daemon, with what it says is to be done. */
export function Trouble({ fault, again }: { readonly fault: Fault; readonly again?: () => void }) {
  return (
    <div class="trouble" role="alert">
      <Icon name="warn" />
      <div>
        <p>{clean(fault.message)}</p>
        <p class="hint">{clean(fault.todo)}</p>
      </div>
      {again !== undefined && <Button onClick={again}>Try again</Button>}
    </div>
  );
}

/** Nothing blinks: it says so only when it takes long (the style waits for that). */
export function Loading({ what }: { readonly what: string }) {
  return (
    <p class="loading" role="status">
      Loading {clean(what)} …
    </p>
  );
}
