// The part of the configuration that is about the daemon: where it listens, whom it lets in, what it logs.

import { z } from "zod";
import { KEPT_CHANNELS } from "../routing/route.ts";
import * as defaults from "./defaults.ts";
import { address, list, name, names, object, oneOf, path, secret, text, whole } from "./shapes.ts";

const host = text("a name or an address, without a port", /^[A-Za-z0-9._:[\]-]+$/);

export const gateway = object({
  host: host.describe("Where it listens. Beyond this machine only with `remote`.").optional(),
  port: whole(0, 65_535).describe("The port it listens on; 0: any that is free.").optional(),
  remote: z
    .boolean({ error: "true or false" })
    .describe("True: it may listen where other machines reach it. Whoever has a token can then use it.")
    .optional(),
  hosts: list(host)
    .describe("Names that it is reached by, besides its address and localhost; as a proxy calls it.")
    .optional(),
  origins: list(
    text(
      'an origin as "https://example.org", without a path',
      /^https?:\/\/[^\s/@?#]+$/,
      defaults.PATH_CHARS_MAX,
    ),
  )
    .describe("Origins of other pages that may call it from a browser.")
    .optional(),
  requestsPerSecond: whole(1, defaults.REQUESTS_PER_SECOND_MAX)
    .describe("How many requests one token may make in a second.")
    .optional(),
  drainSeconds: whole(0, defaults.DRAIN_SECONDS_MAX)
    .describe("How long it waits for turns that run when it is told to stop.")
    .optional(),
});

/** What goes to sessions, and the web chat. */
const TAKEN = [...KEPT_CHANNELS.keys(), "web"];

/** A channel's name is part of session keys. */
const webhookName = text(
  `a name of a-z, 0-9, "_" and "-", at most 64 characters, not ${TAKEN.map((each) => `"${each}"`).join(" or ")}`,
  new RegExp(`^(?!(?:${TAKEN.join("|")})$)[a-z0-9][a-z0-9_-]{0,63}$`),
);

const webhook = object({
  secret: secret.describe("What both sides sign with (HMAC-SHA256)."),
  url: address
    .describe("Where answers are sent. Without it, they are refused, and seen in the outbox.")
    .optional(),
  agent: name
    .describe(
      "The agent that is spoken to, and no other; without it, the one that a message names, else main.",
    )
    .optional(),
});

export const webhooks = names(webhookName, webhook);

export const log = object({
  level: oneOf("trace", "debug", "info", "warn", "error", "fatal", "silent")
    .describe("The least important messages that are still logged.")
    .optional(),
  file: path
    .describe('Where the daemon logs; "-" is standard error. Without it, logs/sessiond.jsonl in the home.')
    .optional(),
  fileBytes: whole(defaults.LOG_BYTES_MIN, defaults.LOG_BYTES_MAX)
    .describe("How large the file may become before another is begun.")
    .optional(),
  files: whole(1, defaults.LOG_FILES_MAX).describe("How many of them are kept.").optional(),
});

export type GatewayInput = z.input<typeof gateway>;
