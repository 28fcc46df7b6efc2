// A fork: a new session that begins with what another one knows, and is opened.

import { ask } from "../parts/dialog.tsx";
import { tell, tried } from "../parts/toast.tsx";
import { go } from "../state/place.ts";
import { rowNow } from "../state/rows.ts";
import { call } from "../wire/call.ts";
import type { Row } from "../wire/events.ts";
import { forkName, nameOf } from "./named.ts";

/** Without an entry, which has a number and a name: from the newest. It says of whom it is one, until somebody calls it otherwise. */
export async function forked(sessionKey: string, seq?: number, name = "that message"): Promise<void> {
  const row = rowNow(sessionKey);
  const done = await tried(
    call("fork", {
      sessionKey,
      ...(seq === undefined ? {} : { seq }),
      ...(row === null ? {} : { label: forkName(row) }),
    }),
  );
  if (done === null) return;
  const where = seq === undefined ? "" : `: it knows what that knew at ${name}`;
  tell(`This is a fork of ${row === null ? done.from : nameOf(row)}${where}.`);
  go("session", done.sessionKey);
}

/** By a key alone nothing is made. */
export async function askFork(row: Row): Promise<void> {
  const { sessionKey } = row;
  await ask({
    title: `Fork ${nameOf(row)}`,
    text: "A new session begins with what this one knows now, and goes its own way. This one is not changed.",
    fields: [
      {
        name: "label",
        label: "What it is called",
        value: forkName(row),
        hint: "Empty: a name is made up.",
      },
    ],
    verb: "Fork",
    run: async ({ label = "" }) => {
      const words = label.trim();
      const done = await call("fork", { sessionKey, ...(words === "" ? {} : { label: words }) });
      go("session", done.sessionKey);
    },
  });
}
