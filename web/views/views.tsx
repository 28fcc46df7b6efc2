import type { ComponentType } from "preact";
import type { View } from "../state/place.ts";
import { Memory } from "./memory/memory.tsx";
import { Overview } from "./overview/overview.tsx";
import { Processes } from "./processes/processes.tsx";
import { Schedule } from "./schedule/schedule.tsx";
import { Search } from "./search/search.tsx";
import { Session } from "./session/session.tsx";
import { Settings } from "./settings/settings.tsx";
import { Upkeep } from "./upkeep/upkeep.tsx";

export const views: Readonly<Record<View, ComponentType>> = {
  processes: Processes,
  overview: Overview,
  schedule: Schedule,
  search: Search,
  memory: Memory,
  upkeep: Upkeep,
  settings: Settings,
  session: Session,
};
