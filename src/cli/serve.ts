// The daemon itself, and the pipe between a program that speaks MCP and the daemon: serve, mcp.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { Fault } from "../base/fault.ts";
import { passes, type Where } from "./client.ts";
import { textOf, type Command } from "./command.ts";
import { json } from "./output.ts";
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
  more: "--json prints one document when it is ready: url, pid, home, version. SIGTERM or Ctrl-C drains and stops; the second time it stops at once. Nothing acknowledged is lost either way.",
  signals: "self",
  run: async ({ options, env, screen, home }) => {
    // What is loaded now stays. Room for the young that grew for it would never shrink: some 20 MB of an idle process.
    setFlagsFromString("--semi-space-growth-factor=1");
    const { serve: begin } = await import("../daemon.ts");
    let isReady = false;
    const say = (text: string): void => {
      if (isReady) {
        if (!screen.json) screen.out(text); // that it has stopped
        return;
      }
      isReady = true;
      setFlagsFromString("--semi-space-growth-factor=2"); // as it was
      giveBack();
      if (screen.json) json(screen, { ...aboutIn(home), home });
      else screen.out(text);
    };
    return await begin({
      home: textOf(options, "home"),
      config: textOf(options, "config"),
      port: portIn(textOf(options, "port")),
      env: { ...env },
      version: version(),
      say,
      isTold: screen.isTty && !screen.json,
    });
  },
};

/** What the daemon has written down of itself by now. */
function aboutIn(home: string): object {
  return JSON.parse(readFileSync(join(home, "gateway.json"), "utf8")) as object;
}

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
  run: async ({ find }) => {
    const mustHaveToken = ({ url, token }: Where): Where => {
      if (token !== null) return { url, token };
      const words = `no token for ${url.origin} was found: set SESSIOND_TOKEN, or say --token-file`;
      throw new Fault("unauthorized", words);
    };
    // A daemon may be started after the client that will use it: each message says then what is missing.
    await find().then(mustHaveToken, (error: unknown) => {
      if (!passes(error)) throw error;
    });
    const { pipe } = await import("./mcp.ts");
    await pipe(async () => mustHaveToken(await find()), process);
    return 0;
  },
};
