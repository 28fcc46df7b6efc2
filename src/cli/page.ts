// `page`: the link that opens the control page, with the token in it.

import { Fault } from "../base/fault.ts";
import type { Command } from "./command.ts";
import { json } from "./output.ts";

export const page: Command = {
  name: "page",
  summary: "the link that opens the control page in a browser",
  arguments: [],
  options: [],
  more: `The link has the token behind its #, which a browser sends to nobody; the page takes it out of the address bar at once. Whoever
has the link may do what the token may: for somebody else make one of their own (sessiond token create), and say --token-file.`,
  run: async ({ client, find, screen, signal }) => {
    await (await client()).call("commands", {}, signal); // Somebody is there, and takes the token.
    const { url, token } = await find();
    if (token === null)
      throw new Fault(
        "unauthorized",
        `no token for ${url.origin} was found: set SESSIOND_TOKEN, or say --token-file`,
      );
    const link = `${url.origin}/#t=${encodeURIComponent(token)}`;
    if (screen.json) json(screen, { url: link });
    else screen.out(`${link}\n`);
    return 0;
  },
};
