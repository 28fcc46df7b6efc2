// What is copied, and who is told when it is not.

import { tell } from "./toast.tsx";

/** Pages that are not served safely have no clipboard at all. True: it is there. */
export async function copied(text: string, done: string | null = "Copied."): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    if (done !== null) tell(done);
    return true;
  } catch {
    tell("The browser does not let this page copy. Select the text, and copy it by hand.", true);
    return false;
  }
}
