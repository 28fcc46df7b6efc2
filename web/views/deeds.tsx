// What can be done to a session, wherever it is shown. What destroys something asks first, and names what it destroys.

import type { Deed } from "../parts/menu.tsx";
import type { Row } from "../wire/events.ts";

export function deedsOf(_row: Row): readonly Deed[] {
  return [];
}
