// Which agents there are: each has a heartbeat, whether it beats or not.

import { call } from "../wire/call.ts";
import { useAsked, type Asked } from "./asking.ts";

export function useAgents(): Asked<readonly string[]> {
  return useAsked(async (signal) => {
    const { heartbeats } = await call("heartbeats", {}, signal);
    return heartbeats.map(({ agent }) => agent);
  }, []);
}
