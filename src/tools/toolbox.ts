import type { Agent, ToolPolicy } from "../config/config.ts";
import type { McpServers } from "./mcp/tools.ts";
import { allowed, type Tool } from "./tool.ts";

export interface ToolboxParts {
  /** Those that every agent has, unless its policy says otherwise. */
  readonly tools: readonly Tool[];
  /** Those that run programs: an agent has them only when its policy says so. */
  readonly exec: readonly Tool[];
  readonly mcp: Pick<McpServers, "names" | "tools">;
}

/** Which tools an agent has. */
export class Toolbox {
  readonly #parts: ToolboxParts;

  constructor(parts: ToolboxParts) {
    this.#parts = parts;
  }

  /** Servers of tools are started here, if the agent may use any of theirs. One that does not start leaves its tools out. */
  async of({ tools: policy }: Agent): Promise<readonly Tool[]> {
    const { tools, exec, mcp } = this.#parts;
    const own = [...tools, ...(policy.exec ? exec : [])];
    const servers = mcp.names.filter((name) => mayUse(policy, name));
    const theirs = servers.length === 0 ? [] : await mcp.tools(servers);
    return allowed([...own, ...theirs], policy);
  }
}

/** Whether a policy lets anything of a server through: one that it does not is never started. */
function mayUse({ allow, deny }: ToolPolicy, server: string): boolean {
  const prefix = `${server}__`;
  const isWhole = (each: string): boolean => each.endsWith("*") && prefix.startsWith(each.slice(0, -1));
  if (deny.some(isWhole)) return false;
  return allow === null || allow.some((each) => isWhole(each) || each.startsWith(prefix));
}
