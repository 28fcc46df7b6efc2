// The library's public face. What is not named here is nobody's to rely on.

export { z } from "zod";
export { open, type Parts } from "./main.ts";
export type { Sessions } from "./calls/library.ts";
export { calls, type CallName } from "./calls/table.ts";
export type { Input, Output } from "./calls/door.ts";
export { configSchema, loadConfig } from "./config/load.ts";
export type { ConfigInput } from "./config/schema.ts";
export type { Event } from "./events/bus.ts";
export { CutOff } from "./events/follow.ts";
export { Refused, type Deliver } from "./mail/outbox.ts";
export type { Channel } from "./channels/channel.ts";
export { answerSignatureOf, signatureOf } from "./channels/signature.ts";
export type { Answer, Delta, Model, Request, Thinking, ToolForm } from "./models/model.ts";
export { tool, type Calling, type Result, type Tool } from "./tools/tool.ts";
export type { Envelope, Origin } from "./routing/route.ts";
export { Fault, type FaultCode } from "./base/fault.ts";
export { openLog, type Log } from "./base/log.ts";
export { RealWorld, SimulatedWorld, type World } from "./base/world.ts";
export type { Class, Letter, Mail, Mode, Outgoing, Route } from "./mail/letter.ts";
export {
  acpKey,
  agentOf,
  channelKey,
  cronKey,
  cronRunKey,
  DEFAULT_AGENT,
  describeKey,
  directKey,
  groupKey,
  heartbeatKey,
  hookKey,
  isAcp,
  isCronRun,
  isSubagent,
  isThreaded,
  mainKey,
  namedKey,
  parseAgent,
  parseKey,
  roomKey,
  subagentKey,
  threadKey,
  topicKey,
  type AgentId,
  type KeyKind,
  type KeyParts,
  type SessionKey,
} from "./routing/key.ts";
export type { Provenance } from "./routing/provenance.ts";
export type { Outcome, RunState, Session, Settings, Signal, Tail, Usage } from "./sessions/session.ts";
export { LocalStore, type LocalParts } from "./store/local/local.ts";
export { MemoryStore } from "./store/memory.ts";
export type { Change, Posted, Receipt } from "./store/change.ts";
export type {
  Changed,
  Claim,
  Hits,
  Page,
  PageOf,
  Range,
  SearchQuery,
  SessionQuery,
  Store,
} from "./store/store.ts";
export type { Timer } from "./timers/timer.ts";
export {
  textOf,
  type BlobName,
  type Block,
  type Body,
  type Draft,
  type Entry,
  type Gap,
  type Header,
  type Message,
} from "./transcript/entry.ts";
export { spillMessage, type PutBlob } from "./transcript/spill.ts";
