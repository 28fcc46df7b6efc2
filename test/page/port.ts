// A port for a daemon that is to come back where it was.

import { once } from "node:events";
import { createServer, type AddressInfo } from "node:net";

export async function freePort(): Promise<string> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return String(port);
}
