// A process that appends messages through pi's own session class, in its own format, whenever it is told to. It
// answers a number with that many times. The first message is an assistant's, because pi writes nothing before one.
//
//   append-pi.ts <directory>

import { textAt } from "./load.ts";
import { loadPi } from "./peers.ts";

const { SessionManager } = await loadPi();
const [, , directory = ""] = process.argv;
const session = SessionManager.create(directory, directory);
const usage = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, totalTokens: 0, cost: { total: 0 } };
session.appendMessage({
  role: "assistant",
  content: [{ type: "text", text: "Hello." }],
  api: "rehearsal",
  provider: "rehearsal",
  model: "rehearsal",
  usage,
  stopReason: "stop",
  timestamp: Date.now(),
});

let appended = 0;
process.on("message", (count: number) => {
  const times: number[] = [];
  for (let n = 0; n < count; n += 1) {
    appended += 1;
    const text = textAt(appended);
    const before = performance.now();
    session.appendMessage({ role: "user", content: [{ type: "text", text }], timestamp: Date.now() });
    times.push(performance.now() - before);
  }
  process.send?.(times);
});
process.send?.([]);
