import { Fault } from "../base/fault.ts";
import type { Agent, ToolPolicy } from "../config/config.ts";
import type { McpServers } from "./mcp/tools.ts";
import { allowed, formOf, type Tool } from "./tool.ts";

export interface ToolboxParts {
  /** Those that every agent has, unless its policy says otherwise. */
  readonly ours: readonly Tool[];
  /** Those that run programs: an agent has them only when its policy says so. */
  readonly exec: readonly Tool[];
  /** What a program brings along, for every agent too. */
  readonly given: readonly Tool[];
  readonly mcp: Pick<McpServers, "names" | "tools">;
}

/** Which tools an agent has. */
export class Toolbox {
  readonly #parts: ToolboxParts;
  readonly #names: ReadonlySet<string>; // of all but those of servers, which nobody knows before they were started

  /** bad_input: a given tool has a name that is taken, or that a server's tool may have, or cannot be shown to a model. */
  constructor(parts: ToolboxParts) {
    const { ours, exec, given, mcp } = parts;
    const taken = new Set([...ours, ...exec].map(({ name }) => name));
    for (const tool of given) {
      const server = mcp.names.find((name) => tool.name.startsWith(prefixOf(name)));
      if (taken.has(tool.name) || server !== undefined)
        throw new Fault("bad_input", `open: a tool of ${server ?? "sessiond"} is called ${tool.name} too`);
      mustHaveForm(tool);
    }
    this.#parts = parts;
    this.#names = new Set([...taken, ...given.map(({ name }) => name)]);
  }

  /** Servers of tools are started here, if the agent may use any of theirs. One that does not start leaves its tools out. */
  async of({ tools: policy }: Agent): Promise<readonly Tool[]> {
    const { ours, exec, given, mcp } = this.#parts;
    const own = [...ours, ...(policy.exec ? exec : []), ...given];
    const servers = mcp.names.filter((name) => mayUse(policy, name));
    const theirs = servers.length === 0 ? [] : await mcp.tools(servers);
    return allowed([...own, ...theirs], policy);
  }

  /** Names in a policy that no tool has, and no server's can have: most likely they are misspelt. */
  unknownIn({ allow, deny }: ToolPolicy): readonly string[] {
    const prefixes = this.#parts.mcp.names.map(prefixOf);
    const isKnown = (name: string): boolean => {
      if (prefixes.some((prefix) => name.startsWith(prefix))) return true;
      if (!name.endsWith("*")) return this.#names.has(name);
      const start = name.slice(0, -1);
      return [...prefixes, ...this.#names].some((each) => each.startsWith(start));
    };
    return [...(allow ?? []), ...deny].filter((name) => !isKnown(name));
  }
}

function prefixOf(server: string): string {
  return `${server}__`;
}

/** Whether a policy lets anything of a server through: one that it does not is never started. */
function mayUse({ within, ...own }: ToolPolicy, server: string): boolean {
  const prefix = prefixOf(server);
  const isWhole = (each: string): boolean => each.endsWith("*") && prefix.startsWith(each.slice(0, -1));
  return [own, ...within].every(({ allow, deny }) => {
    if (deny.some(isWhole)) return false;
    return allow === null || allow.some((each) => isWhole(each) || each.startsWith(prefix));
  });
}

/** What a model cannot be shown is found now, and not in the middle of a turn. */
function mustHaveForm(tool: Tool): void {
  try {
    formOf(tool);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new Fault("bad_input", `open: the tool ${tool.name}: ${why}`, { cause: error });
  }
}
