// A gateway that is asked for something and never closes: whoever started it kills it.
//
//   kill-life.ts <home> <message>

import { openWithPrograms } from "./kill.ts";

const [home = "", message = ""] = process.argv.slice(2);
process.once("disconnect", () => process.exit(3)); // Nobody is there any more who would.
const sessions = await openWithPrograms(home);
await sessions.send("agent:main:main", message);
