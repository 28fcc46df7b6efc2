// Who leaves a place where something is not saved: another place of the page takes nothing, because what was typed is kept as a draft
// of this tab, and that is said; the tab itself does, when it is closed, and the browser asks before.

import { useEffect } from "preact/hooks";
import { oneLine } from "../../src/base/harmless.ts";
import { warn } from "./toast.tsx";

/** `what`: what is not saved; null: nothing is. `stays`: whether an address is still the same place. */
export function useLeaving(what: string | null, stays: (address: string) => boolean): void {
  useEffect(() => {
    if (what === null) return;
    const unload = (event: BeforeUnloadEvent): void => event.preventDefault();
    const leave = ({ hashChange, destination }: NavigateEvent): void => {
      if (hashChange && !stays(destination.url))
        warn(`${oneLine(what)} is not saved: what you typed is kept as a draft, until this tab is closed`);
    };
    addEventListener("beforeunload", unload);
    const { navigation } = window as { readonly navigation?: Navigation };
    navigation?.addEventListener("navigate", leave);
    return () => {
      removeEventListener("beforeunload", unload);
      navigation?.removeEventListener("navigate", leave);
    };
  }, [what]);
}
