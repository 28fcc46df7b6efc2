// Tokens
//
// Who may call from outside: the owner, whose token is a file of the home, and others by name. Of those others only
// hashes are kept, so whoever reads the file cannot be one of them.
//
//   Owns:      the files `token` and `tokens.json` of the home, readable by their owner alone.
//   Does not:  look at requests (auth.ts).
//
// Invariants
//   T1. A token is told once, when it is made, and is in no log, list or error. The owner's, which is a file, is also told to the person
//       who starts the daemon at a terminal, as a link to the page (daemon.ts): never to a pipe or a file.
//   T2. Comparing takes the same time whichever token it is, and however much of it is right.
//   T3. A token that was revoked ends what it had opened: streams and sockets.
//   T4. A crash leaves the file as it was before a change or after it. Of two first starts at once, both have the same token.

import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import { constants } from "node:fs";
import { link, open, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { makeDirectory } from "../base/directory.ts";
import { Fault } from "../base/fault.ts";
import type { World } from "../base/world.ts";
import { SCOPES, type Person, type Scope, type TokenRow } from "../calls/call.ts";
import { TOKENS_MAX } from "./limits.ts";

/** The name of the first. It is revoked by taking away its file. */
const OWNER = "owner";

/** Shorter ones, given in the environment, are guessed. */
const TOKEN_CHARS_MIN = 16;

/** Bytes of a file of tokens that are read: more is none of ours. */
const FILE_BYTES_MAX = 1024 * 1024;

interface Named extends TokenRow {
  readonly sha256: Buffer; // in the file, in hex
}

const file = z.array(
  z.strictObject({
    name: z.string(),
    scope: z.enum(SCOPES),
    madeAtMs: z.number(),
    sha256: z
      .string()
      .regex(/^[0-9a-f]{64}$/)
      .transform((hex) => Buffer.from(hex, "hex")),
  }),
);

export interface TokenParts {
  readonly home: string;
  readonly world: World;
  /** The owner's token, if the environment has one: then there is no file of it. */
  readonly given: string | undefined;
  /** False: one must be there already. What other machines reach is not opened with a token nobody has seen. */
  readonly mayMake: boolean;
}

export class Tokens {
  readonly #path: string;
  readonly #world: World;
  readonly #owner: Buffer;
  #whenRevoked: (name: string) => void = () => {};
  #named: readonly Named[];
  #last: Promise<unknown> = Promise.resolve();

  private constructor(parts: TokenParts, owner: string, named: readonly Named[]) {
    this.#path = join(parts.home, "tokens.json");
    this.#world = parts.world;
    this.#owner = hashOf(owner);
    this.#named = named;
  }

  static async open(parts: TokenParts): Promise<Tokens> {
    makeDirectory(parts.home);
    const owner = parts.given === undefined ? await ownerIn(parts) : strong(parts.given);
    return new Tokens(parts, owner, await namedIn(join(parts.home, "tokens.json")));
  }

  /** Whose it is; null: nobody's. */
  bearer(token: string): Person | null {
    const hash = hashOf(token);
    let found: Person | null = null;
    // T2: all of them are looked at.
    if (timingSafeEqual(hash, this.#owner)) found = { kind: "person", principal: OWNER, scope: "admin" };
    for (const { name, scope, sha256 } of this.#named)
      if (timingSafeEqual(hash, sha256)) found = { kind: "person", principal: name, scope };
    return found;
  }

  /** T3: who keeps connections is told whose are to be ended. */
  onRevoked(listener: (name: string) => void): void {
    this.#whenRevoked = listener;
  }

  async list(): Promise<readonly TokenRow[]> {
    return this.#named.map(({ name, scope, madeAtMs }) => ({ name, scope, madeAtMs }));
  }

  create(name: string, scope: Scope): Promise<TokenRow & { readonly token: string }> {
    return this.#one(async () => {
      if (name === OWNER || this.#named.some((each) => each.name === name))
        throw new Fault(
          "exists",
          `there is a token ${JSON.stringify(name)}; revoke it first, or choose another name`,
        );
      if (this.#named.length >= TOKENS_MAX)
        throw new Fault("overloaded", `there are ${TOKENS_MAX} tokens; revoke some that nobody uses`);
      const token = newToken();
      const row = { name, scope, madeAtMs: this.#world.nowMs() };
      await this.#keep([...this.#named, { ...row, sha256: hashOf(token) }]);
      return { ...row, token };
    });
  }

  revoke(name: string): Promise<boolean> {
    return this.#one(async () => {
      if (name === OWNER)
        throw new Fault(
          "forbidden",
          "the owner's token is the file `token` of the home: take it away and start again",
        );
      const rest = this.#named.filter((each) => each.name !== name);
      if (rest.length === this.#named.length) return false;
      await this.#keep(rest);
      this.#whenRevoked(name);
      return true;
    });
  }

  /** One change at a time, each on what the one before has left. */
  #one<Value>(work: () => Promise<Value>): Promise<Value> {
    const done = this.#last.then(work);
    this.#last = done.catch(() => {}); // Whoever asked for it hears why it failed.
    return done;
  }

  async #keep(named: readonly Named[]): Promise<void> {
    const rows = named.map(({ sha256, ...row }) => ({ ...row, sha256: sha256.toString("hex") }));
    await keepFile(this.#path, `${JSON.stringify(rows, null, 2)}\n`, rename);
    this.#named = named;
  }
}

/** The one in the home, or else a new one. */
async function ownerIn({ home, mayMake }: Pick<TokenParts, "home" | "mayMake">): Promise<string> {
  const path = join(home, "token");
  const there = await readPrivate(path);
  if (there !== null) return strong(there.trim());
  if (!mayMake)
    throw new Fault(
      "unauthorized",
      `gateway.remote is on and there is no token. Set SESSIOND_TOKEN, or start once without it: that makes ${path}`,
    );
  const token = newToken();
  try {
    await keepFile(path, `${token}\n`, link); // Unlike renaming, it does not take the place of one that is there.
    return token;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    return await ownerIn({ home, mayMake }); // Another start was faster.
  }
}

async function namedIn(path: string): Promise<readonly Named[]> {
  const text = await readPrivate(path);
  if (text === null) return [];
  try {
    return file.parse(JSON.parse(text));
  } catch (error) {
    // Without it nobody but the owner comes in: that is said, and not guessed around.
    throw new Fault("bad_input", `${path} is not a file of tokens; mend it or take it away`, {
      cause: error,
    });
  }
}

/** Null: it is not there. Others must not be able to read it: then it would be anybody's. */
async function readPrivate(path: string): Promise<string | null> {
  try {
    await using handle = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW);
    const { mode, size } = await handle.stat();
    if ((mode & 0o077) !== 0)
      throw new Fault(
        "forbidden",
        `${path} can be read by others; chmod 600 it, or take it away for a new one`,
      );
    if (size > FILE_BYTES_MAX)
      throw new Fault("bad_input", `${path} has ${size} bytes; is it a file of tokens?`);
    return await handle.readFile("utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
    throw error;
  }
}

/** T4. `place` puts the finished file where it belongs. */
async function keepFile(path: string, text: string, place: typeof rename): Promise<void> {
  const unfinished = `${path}.${randomBytes(6).toString("hex")}.new`; // nobody else's
  try {
    {
      await using handle = await open(unfinished, "wx", 0o600);
      await handle.writeFile(text);
      await handle.sync();
    }
    await place(unfinished, path);
  } finally {
    await rm(unfinished, { force: true });
  }
  await using folder = await open(join(path, ".."), constants.O_RDONLY);
  await folder.sync();
}

function strong(token: string): string {
  if (token.length < TOKEN_CHARS_MIN)
    throw new Fault(
      "bad_input",
      `the token has less than ${TOKEN_CHARS_MIN} characters: it would be guessed`,
    );
  return token;
}

function newToken(): string {
  return randomBytes(32).toString("base64url");
}

function hashOf(token: string): Buffer {
  return createHash("sha256").update(token).digest();
}
