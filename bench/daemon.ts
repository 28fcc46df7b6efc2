// A daemon in a process of its own, as `npm start` runs it once it is built, and a client that costs little itself: a
// connection that is kept, requests that are written as they are, answers that are read up to their length.

import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";

const BUILT = fileURLToPath(new URL("../dist/cli/main.js", import.meta.url));

export class Daemon {
  readonly home: string;
  readonly #process: ChildProcess;
  readonly port: number;
  readonly token: string;
  /** From its start to the first answer of /healthz. */
  readonly startMs: number;

  static async start(home: string, env: Readonly<Record<string, string>> = {}): Promise<Daemon> {
    if (!existsSync(BUILT)) throw new Error("there is no dist/: `npm run build` first");
    const fromMs = performance.now();
    const begun = spawn(process.execPath, [BUILT, "serve"], {
      env: { ...process.env, SESSIOND_HOME: home, SESSIOND_PORT: "0", ...env },
      stdio: ["ignore", "ignore", "inherit"],
    });
    const port = await portOf(begun, home);
    const token = readFileSync(join(home, "token"), "utf8").trim();
    const connection = await Connection.open(port, token);
    await connection.request("GET", "/healthz", "");
    const startMs = performance.now() - fromMs;
    connection.close();
    return new Daemon(begun, { home, port, token, startMs });
  }

  private constructor(begun: ChildProcess, of: Pick<Daemon, "home" | "port" | "token" | "startMs">) {
    this.#process = begun;
    this.home = of.home;
    this.port = of.port;
    this.token = of.token;
    this.startMs = of.startMs;
  }

  /** Resident memory, in bytes. */
  get memory(): number {
    const status = readFileSync(`/proc/${this.#process.pid}/status`, "utf8");
    return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1] ?? 0) * 1024;
  }

  /** CPU time of it and its threads so far, in milliseconds; the kernel counts hundredths of a second. */
  get cpuMs(): number {
    const stat = readFileSync(`/proc/${this.#process.pid}/stat`, "utf8");
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return (Number(fields[11]) + Number(fields[12])) * 10;
  }

  async metric(name: string): Promise<number> {
    const connection = await Connection.open(this.port, this.token);
    const text = await connection.request("GET", "/metrics", "");
    connection.close();
    return Number(new RegExp(`^${name} (\\S+)$`, "m").exec(text)?.[1] ?? Number.NaN);
  }

  async stop(): Promise<void> {
    if (this.#process.exitCode !== null) return;
    const ended = once(this.#process, "exit");
    this.#process.kill("SIGTERM");
    await ended;
  }
}

/** As soon as it has written where it listens. */
async function portOf(begun: ChildProcess, home: string): Promise<number> {
  const path = join(home, "gateway.json");
  for (;;) {
    if (begun.exitCode !== null) throw new Error(`the daemon ended with ${begun.exitCode}`);
    try {
      const { url, pid } = JSON.parse(readFileSync(path, "utf8")) as {
        readonly url: string;
        readonly pid: number;
      };
      if (pid === begun.pid) return Number(new URL(url).port);
    } catch {
      // not there yet
    }
    await sleep(2);
  }
}

/** One request at a time. */
export class Connection {
  readonly #socket: Socket;
  readonly #head: string;
  #heard: Buffer = Buffer.alloc(0);
  #answer: ((body: string) => void) | null = null;
  #fail: ((error: Error) => void) | null = null;

  static async open(port: number, token: string): Promise<Connection> {
    const socket = connect(port, "127.0.0.1");
    await once(socket, "connect");
    socket.setNoDelay(true);
    return new Connection(socket, `Host: 127.0.0.1:${port}\r\nAuthorization: Bearer ${token}\r\n`);
  }

  private constructor(socket: Socket, head: string) {
    this.#socket = socket;
    this.#head = head;
    socket.on("data", (bytes) => this.#hear(bytes));
    socket.on("close", () => this.#fail?.(new Error("the daemon closed the connection")));
    socket.on("error", (error) => this.#fail?.(error));
  }

  /** The body of an answer that says it went well. */
  request(method: string, path: string, body: string): Promise<string> {
    const { promise, resolve, reject } = Promise.withResolvers<string>();
    this.#answer = resolve;
    this.#fail = reject;
    const length = Buffer.byteLength(body);
    this.#socket.write(
      `${method} ${path} HTTP/1.1\r\n${this.#head}Content-Type: application/json\r\nContent-Length: ${length}\r\n\r\n${body}`,
    );
    return promise;
  }

  close(): void {
    this.#fail = null;
    this.#socket.destroy();
  }

  #hear(bytes: Buffer): void {
    this.#heard = this.#heard.length === 0 ? bytes : Buffer.concat([this.#heard, bytes]);
    const end = this.#heard.indexOf("\r\n\r\n");
    if (end < 0) return;
    const head = this.#heard.toString("latin1", 0, end);
    const body = bodyIn(this.#heard.subarray(end + 4), head);
    if (body === null) return;
    this.#heard = Buffer.alloc(0);
    if (!head.startsWith("HTTP/1.1 2"))
      this.#fail?.(new Error(`${head.split("\r\n")[0]}: ${body.slice(0, 300)}`));
    else this.#answer?.(body);
  }
}

/** Null: it is not all there yet. */
function bodyIn(rest: Buffer, head: string): string | null {
  const length = /\r\ncontent-length: (\d+)/i.exec(head)?.[1];
  if (length !== undefined) return rest.length < Number(length) ? null : rest.toString();
  if (!rest.subarray(-5).equals(Buffer.from("0\r\n\r\n"))) return null;
  return rest.toString(); // in pieces, with their lengths between them: who counts lines does not mind
}
