// Writing a whole file of the workspace.

import { z } from "zod";
import { Fault } from "../../base/fault.ts";
import { inTurn, replaceFile } from "../../sandbox/place.ts";
import { PATH_CHARS_MAX, within } from "../../sandbox/within.ts";
import { tool } from "../tool.ts";

/** Bytes of a file that is written in one call: more than a model says in one answer. */
const WRITTEN_BYTES_MAX = 1024 * 1024;

export const write = tool({
  name: "write",
  description:
    "Write a file of your workspace: creates it (and its folders), or replaces all of it. To change a part, use edit.",
  input: z.strictObject({
    path: z.string().min(1).max(PATH_CHARS_MAX).describe("Relative to the workspace."),
    content: z.string().max(WRITTEN_BYTES_MAX).describe("The whole content."),
  }),
  replay: "never", // Somebody may have changed the file meanwhile; written again, that would be lost.
  run: ({ path, content }, { agent, cause, signal }) => {
    const bytes = Buffer.from(content, "utf8");
    if (bytes.length > WRITTEN_BYTES_MAX)
      throw new Fault("bad_input", `the content has ${bytes.length} bytes; at most ${WRITTEN_BYTES_MAX}`);
    return within({ workspace: agent.workspace, path }, { make: true }, (place) =>
      inTurn(place, async () => {
        const done = await replaceFile(place, { bytes, cause, signal, known: null });
        return `${done} ${place.shown}, ${bytes.length} bytes`;
      }),
    );
  },
});
