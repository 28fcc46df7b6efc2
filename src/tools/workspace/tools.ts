import { RealWorld, type World } from "../../base/world.ts";
import type { Tool } from "../tool.ts";
import { edit } from "./edit.ts";
import { list } from "./list.ts";
import { read } from "./read.ts";
import { searchWith } from "./search.ts";
import { write } from "./write.ts";

/** What an agent can do with the files of its workspace, and with no others. The world ends searches that take too long. */
export function workspaceTools(world: World = new RealWorld()): readonly Tool[] {
  return [read, write, edit, list, searchWith(world)];
}
