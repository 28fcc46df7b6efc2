import type { Store } from "../store/store.ts";
import type { Body, Message } from "../transcript/entry.ts";
import { runCalls, UNKNOWN, type CallParts } from "./toolcalls.ts";
import type { ToolCall, Unsettled } from "./where.ts";

const INTERRUPTED = `The process stopped while this ran. ${UNKNOWN}`;

/**
 * Calls that were running, or waited to run, when the process died. A tool that may be run again is; of any other the
 * model is told that nobody knows. A call that has a result is not among them: it never runs again.
 */
export async function settleLeft(
  parts: CallParts,
  { seq, calls }: Unsettled,
  store: Pick<Store, "readBlob">,
): Promise<void> {
  const isSafe = ({ name }: ToolCall): boolean =>
    parts.tools.find((tool) => tool.name === name)?.replay === "safe";
  const again: ToolCall[] = [];
  for (const call of calls) {
    if (isSafe(call)) again.push(await wholeCall(call, store));
    else await parts.held.commit({ entries: [interrupted(call, parts.world.nowMs())] });
  }
  await runCalls(parts, seq, again);
}

/** What is written down of a call that nobody will run again. */
export function interrupted({ id, name }: ToolCall, nowMs: number): Body {
  const message: Message = {
    role: "toolResult",
    toolCallId: id,
    toolName: name,
    content: [{ type: "text", text: INTERRUPTED }],
    isError: true,
    timestamp: nowMs,
  };
  return { type: "message", message };
}

/** Long arguments are in a blob, and only head and tail of them in the entry. */
async function wholeCall(call: ToolCall, store: Pick<Store, "readBlob">): Promise<ToolCall> {
  if (call.blob === undefined) return call;
  const bytes = await store.readBlob(call.blob.sha256, { from: 0, bytes: call.blob.bytes });
  if (bytes === null) return call; // The tool will refuse what is left of them.
  const { blob: _blob, ...rest } = call;
  return { ...rest, arguments: JSON.parse(Buffer.from(bytes).toString("utf8")) as ToolCall["arguments"] };
}
