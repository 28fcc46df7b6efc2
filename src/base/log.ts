import { pino, type DestinationStream, type Logger } from "pino";

export type Log = Logger;

/** Field names whose values never reach a log, at the top or one level down. */
const SECRETS = [
  "token",
  "apiKey",
  "authorization",
  "password",
  "secret",
  "*.token",
  "*.apiKey",
  "*.authorization",
  "*.password",
  "*.secret",
];

/** One JSON object a line. `to` is standard error unless someone wants it elsewhere: standard output is for answers. */
export function openLog(level: string, to: DestinationStream = pino.destination(2)): Log {
  return pino({ level, base: null, redact: SECRETS, timestamp: pino.stdTimeFunctions.isoTime }, to);
}
