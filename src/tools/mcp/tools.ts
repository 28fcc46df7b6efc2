// Tools from servers
//
// Servers of tools (MCP) that the configuration names, and their tools as ours. A server is a stranger: what it says is
// bounded and looked at, and whatever becomes of it is the trouble of the calls to it, not of sessions.

import type { StandardSchemaV1 } from "@standard-schema/spec";
import type { Log } from "../../base/log.ts";
import type { World } from "../../base/world.ts";
import type { McpServer } from "../../config/config.ts";
import type { Processes } from "../../sandbox/processes.ts";
import { tool, type Tool } from "../tool.ts";
import { named, type Listed } from "./listed.ts";
import { resultOf } from "./results.ts";
import { Server, type Status } from "./server.ts";

export interface McpParts {
  readonly world: World;
  readonly log: Log;
  readonly processes: Pick<Processes, "start">;
  readonly servers: ReadonlyMap<string, McpServer>;
}

export class McpServers {
  readonly names: readonly string[];
  readonly #servers: readonly Server[];
  readonly #made = new WeakMap<Listed, { readonly name: string; readonly tool: Tool }>();

  constructor({ servers, ...parts }: McpParts) {
    this.#servers = [...servers.values()].map((server) => new Server({ ...parts, server }));
    this.names = this.#servers.map(({ name }) => name);
  }

  /**
   * The tools of these servers. Those of them that never ran are started, all at once. One that is down is shown
   * with the tools it had, so that prompts stay the same; one that was never heard of has none. Never rejects.
   */
  async tools(names: readonly string[]): Promise<readonly Tool[]> {
    const asked = this.#servers.filter(({ name }) => names.includes(name));
    if (asked.length === 0) return [];
    await Promise.all(asked.map((server) => server.ready()));
    // Names are given among all that are known: a tool is called the same for every agent.
    const known = this.#servers.flatMap((of) =>
      of.tools.map((each) => ({ server: of.name, of, tool: each })),
    );
    const shown = [...named(known)].filter(([, { of }]) => asked.includes(of));
    return shown.map(([name, each]) => this.#toolOf(name, each.of, each.tool));
  }

  status(): readonly Status[] {
    return this.#servers.map((server) => server.status());
  }

  /** Nothing of them runs afterwards, and nothing is started again. */
  async close(): Promise<void> {
    await Promise.all(this.#servers.map((server) => server.close()));
  }

  #toolOf(name: string, server: Server, at: Listed): Tool {
    const made = this.#made.get(at);
    if (made?.name === name) return made.tool;
    const fresh = toolOf(name, server, at);
    this.#made.set(at, { name, tool: fresh });
    return fresh;
  }
}

function toolOf(name: string, server: Server, { name: there, description, form, replay }: Listed): Tool {
  return tool({
    name,
    description,
    input: anyObject(),
    form,
    replay,
    run: async (given, { signal }) => resultOf(await server.call(there, given, signal)),
  });
}

/** The server checks what it is given. One for each tool: who keeps something by its schema keeps it for that tool. */
function anyObject(): StandardSchemaV1<Readonly<Record<string, unknown>>> {
  const validate = (value: unknown): StandardSchemaV1.Result<Readonly<Record<string, unknown>>> =>
    typeof value === "object" && value !== null && !Array.isArray(value)
      ? { value: value as Record<string, unknown> }
      : { issues: [{ message: "is an object" }] };
  return { "~standard": { version: 1, vendor: "sessiond", validate } };
}
