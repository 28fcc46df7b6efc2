// How many messages of this tab no daemon has yet: who signs out is asked about them.

import { signal } from "@preact/signals";

export const unsent = signal(0);
