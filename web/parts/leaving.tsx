// Who leaves a place where something is not saved is asked first: by the browser, when the page itself is left, and by the page, when
// another place of it is gone to. A browser that does not tell of the latter does not ask; so what was typed is kept, too.

import { useEffect } from "preact/hooks";
import { oneLine } from "../../src/base/harmless.ts";
import { ask } from "./dialog.tsx";

/** `what`: what is not saved; null: nothing is. `stays`: whether an address is still the same place. */
export function useLeaving(what: string | null, stays: (address: string) => boolean): void {
  useEffect(() => {
    if (what === null) return;
    let isLet = false;
    const unload = (event: BeforeUnloadEvent): void => event.preventDefault();
    const leave = (event: NavigateEvent): void => {
      const { url } = event.destination;
      if (isLet || !event.hashChange || !event.cancelable || stays(url)) return;
      event.preventDefault();
      const question = {
        title: "Leave without saving?",
        text: (
          <>
            What you typed into <code>{oneLine(what)}</code> is not saved. It is kept as a draft in this tab,
            until the tab is closed.
          </>
        ),
        verb: "Leave",
        run: async () => {},
      };
      void ask(question).then((isLeaving) => {
        if (!isLeaving) return;
        isLet = true;
        location.href = url;
      });
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
