import { once } from "node:events";
import { createServer } from "node:net";
import { Fault } from "../base/fault.ts";

/**
 * Looked at before anything is opened: turns go on as soon as there is a store, and a daemon that cannot be reached should
 * not ask models at every start. Fault port_taken; who takes it in the moment after is found out by listening.
 */
export async function mustBeFree(host: string, port: number): Promise<void> {
  const server = createServer();
  try {
    server.listen(port, withoutBrackets(host));
    await once(server, "listening");
  } catch (error) {
    throw listenFault(error as NodeJS.ErrnoException, host, port);
  }
  server.close();
  await once(server, "close");
}

/** As Node takes an address. */
export function withoutBrackets(host: string): string {
  return host.replaceAll(/[[\]]/g, "");
}

export function listenFault(error: NodeJS.ErrnoException, host: string, port: number): unknown {
  switch (error.code) {
    case "EADDRINUSE":
      return new Fault("port_taken", `port ${port} of ${host} is taken by another program`, { cause: error });
    case "EACCES":
      return new Fault("forbidden", `this user may not listen on port ${port}; take one above 1023`, {
        cause: error,
      });
    case "EADDRNOTAVAIL":
    case "ENOTFOUND":
      return new Fault("bad_input", `gateway.host: ${host} is no address of this machine`, { cause: error });
    default:
      return error;
  }
}
