import { MessageChannel, receiveMessageOnPort, Worker, type MessagePort } from "node:worker_threads";
import { extname } from "node:path";
import { Fault, faultFrom, type FaultWords } from "../../base/fault.ts";

/** The number of the answer that nobody asked for: the thread is ready, or why it cannot begin. */
export const READY = 0;

/** Questions to a thread and their answers, by number. Answers of one thread come in the order it finished them. */
export class Thread<To, From> {
  readonly #worker: Worker;
  readonly #port: MessagePort;
  readonly #asked = new Map<number, { resolve: (answer: never) => void; reject: (fault: Fault) => void }>();
  #lastId = 0;
  #gone: Fault | null = null;

  /**
   * `died` is called once, when the thread ends without having been told to. `beside` is the file that the thread's own is beside,
   * by its URL; without it, this one.
   */
  constructor(
    name: "writer" | "reader" | "search" | "packer" | "notes",
    home: string,
    parts: { hear: (message: From) => void; died: (fault: Fault) => void; beside?: string },
  ) {
    const { port1, port2 } = new MessageChannel();
    this.#port = port1;
    // In whatever form it runs: .ts in development, .js when built.
    const script = new URL(`./${name}${extname(import.meta.url)}`, parts.beside ?? import.meta.url);
    this.#worker = new Worker(script, {
      name: `sessiond-${name}`,
      workerData: { port: port2, home },
      transferList: [port2],
      execArgv: [], // Options of the program, such as how its own text is to be read, are not for this file.
    });
    this.#worker.on("error", (error) =>
      this.#end(new Fault("bug", `the ${name} thread died: ${error.message}`), parts.died),
    );
    this.#worker.on("exit", () => {
      // It may have said why, and that may still be on its way: what ends first is not what was said first.
      for (let last = receiveMessageOnPort(port1); last; last = receiveMessageOnPort(port1))
        parts.hear(last.message as From);
      this.#end(new Fault("closed", `the ${name} thread has ended`), parts.died);
    });
    this.#port.on("message", parts.hear);
  }

  post(message: To): void {
    this.#port.postMessage(message);
  }

  /** `make` gets the number that the answer will carry. */
  ask<Answer>(make: (id: number) => To): Promise<Answer> {
    if (this.#gone) return Promise.reject(this.#gone);
    this.#lastId += 1;
    const id = this.#lastId;
    const { promise, resolve, reject } = Promise.withResolvers<Answer>();
    this.#asked.set(id, { resolve: resolve as (answer: never) => void, reject });
    this.post(make(id));
    return promise;
  }

  /** Waits for the thread's word that it is ready. */
  ready(): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<null>();
    this.#asked.set(READY, { resolve, reject });
    return promise.then(() => undefined);
  }

  settle(id: number, answer: unknown): void {
    const asked = this.#asked.get(id);
    this.#asked.delete(id);
    if (!isFaultWords(answer)) return asked?.resolve(answer as never);
    const fault = faultFrom(answer);
    if (id === READY) this.#gone = fault; // It ends for this reason, and has said so: that is no death.
    asked?.reject(fault);
  }

  /** Everybody who waits is told this instead. */
  fail(fault: Fault): void {
    this.#gone = fault;
    for (const asked of this.#asked.values()) asked.reject(fault);
    this.#asked.clear();
  }

  async stop(): Promise<void> {
    this.fail(this.#gone ?? new Fault("closed", "the store is closed"));
    this.#worker.removeAllListeners("exit");
    this.#port.close();
    await this.#worker.terminate();
  }

  #end(fault: Fault, died: (fault: Fault) => void): void {
    if (this.#gone) return;
    this.fail(fault);
    died(fault);
  }
}

export function isFaultWords(value: unknown): value is FaultWords {
  return typeof value === "object" && value !== null && "code" in value && "message" in value;
}
