// The shapes of what is followed, as the daemon's table of streams has them.

import type { z } from "zod";
import type { Output } from "../../src/calls/door.ts";
import type { StreamName, Streams } from "../../src/calls/streams.ts";
import type { Entry, Gap } from "../../src/transcript/entry.ts";

export type StreamEvent<Name extends StreamName> = z.output<Streams[Name]["output"]>;

/** A session as lists show it. */
export type Row = Output<"list">["sessions"][number];
export type Status = Output<"status">;
export type Overview = Output<"overview">;

/** Entries as `entries` gives them: nobody has looked at what is inside of them. */
export type Line = Entry | Gap;
