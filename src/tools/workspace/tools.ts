import type { World } from "../../base/world.ts";
import type { Processes } from "../../sandbox/processes.ts";
import type { Tool } from "../tool.ts";
import { editWith } from "./edit.ts";
import { list } from "./list.ts";
import { read } from "./read.ts";
import { searchWith } from "./search.ts";
import { write } from "./write.ts";

/**
 * What an agent can do with the files of its workspace, and with no others. The world ends searches that take too long, and
 * lets others go first between the pieces of an edit; ripgrep is a process like any other.
 */
export function workspaceTools(world: World, processes: Processes): readonly Tool[] {
  return [read, write, editWith(world), list, searchWith(world, processes)];
}
