// The daemon itself, and the pipe between a program that speaks MCP and the daemon: serve, mcp.

import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { Fault } from "../base/fault.ts";
import { textOf, type Command } from "./command.ts";
import { version } from "./version.ts";

export const serve: Command = {
  name: "serve",
  summary: "start the daemon and stay with it",
  arguments: [],
  options: [
    {
      flags: "--config <file>",
      about: "its configuration ($SESSIOND_CONFIG, or config.json5 in its home)",
      completes: "file",
    },
    { flags: "--port <port>", about: "where it listens ($SESSIOND_PORT, or 7717); 0: any that is free" },
  ],
  more: "SIGTERM or Ctrl-C drains and stops; the second time it stops at once. Nothing acknowledged is lost either way.",
  signals: "self",
  run: async ({ options, env, screen }) => {
    // What is loaded now stays. Room for the young that grew for it would never shrink: some 20 MB of an idle process.
    setFlagsFromString("--semi-space-growth-factor=1");
    const { serve: begin } = await import("../daemon.ts");
    const ready = (text: string): void => {
      setFlagsFromString("--semi-space-growth-factor=2"); // as it was
      giveBack();
      if (!screen.json) screen.out(text);
    };
    return await begin({
      home: textOf(options, "home"),
      config: textOf(options, "config"),
      port: portIn(textOf(options, "port")),
      env: { ...env },
      version: version(),
      say: ready,
    });
  },
};

/** What was only needed to start is given back to the machine, before anybody waits for anything. */
function giveBack(): void {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as (options: object) => void;
  collect({ type: "major", execution: "sync", flavor: "last-resort" });
}

function portIn(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  if (/^\d{1,5}$/.test(text) && Number(text) <= 65_535) return Number(text);
  throw new Fault("bad_input", `--port is a number up to 65535, not ${JSON.stringify(text)}`);
}

export const mcp: Command = {
  name: "mcp",
  summary: "sessions as MCP tools, over standard input and output",
  arguments: [],
  options: [],
  more: 'In the configuration of an MCP client: {"command": "sessiond", "args": ["mcp"]}',
  signals: "self",
  run: async ({ client: find }) => {
    const { where } = await find();
    if (where.token === null)
      throw new Fault(
        "unauthorized",
        `no token for ${where.url.origin} was found: set SESSIOND_TOKEN, or say --token-file`,
      );
    const { pipe } = await import("./mcp.ts");
    await pipe(where.url, where.token, process);
    return 0;
  },
};
