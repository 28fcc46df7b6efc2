// Measure 14: what the gateway costs. The daemon is a process of its own, built, with the rehearsal model at zero latency;
// this process is its client, on the same two cores.
//
//   a message    POST …/messages, acknowledged when it is durable, beside a commit of the same letter to a store of this
//                process. The sessions are paused, so that no turn runs beside it. Then 64 connections at once: to sessions
//                that are in a turn whose model takes its time, as real ones do; and to sessions whose model needs no time, so
//                that every message is answered by a turn of its own meanwhile, which is most of the load.
//   a list       the first page of 100 out of 100,000 sessions, beside the same page from the store
//   a start      to the first answer of /healthz, with one session and with 100,000, and memory when nothing happens
//   a turn       POST …/ask, one after the other, then 50 sessions at once
//   followers    1,000 WebSockets that follow a session each, in which nothing happens
//
// OpenClaw took 16 to 43 s to be healthy and 1.1 GB, and 485 to 825 ms for a turn; measured elsewhere, not in the table.

import { WebSocket } from "ws";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { RealWorld } from "../src/base/world.ts";
import { directKey, parseAgent, type SessionKey } from "../src/routing/key.ts";
import type { LocalStore } from "../src/store/local/local.ts";
import type { Change } from "../src/store/change.ts";
import { Connection, Daemon } from "./daemon.ts";
import {
  interleaved,
  mebibytes,
  median,
  ms,
  perSecond,
  quantile,
  ratioFigure,
  timed,
  type Figure,
} from "./measure.ts";
import type { Run } from "./run.ts";

/** Below what one mailbox takes. */
const LETTERS_EACH = 500;
const MESSAGE = JSON.stringify({ message: "how are you?" });

export async function gateway(run: Run): Promise<Figure[]> {
  const [idle, ...starts] = await starting(run);
  const daemon = await Daemon.start(run.scratch.home("gateway"));
  try {
    return [
      ...(await oneMessage(run, daemon)),
      ...(await manyMessages(run, daemon)),
      ...(await turns(run, daemon)),
      ...(await manyTurns(run, daemon)),
      ...(await followers(run)),
      ...(await list(run)),
      ...(idle ? [idle] : []),
      ...starts,
    ];
  } finally {
    await daemon.stop();
  }
}

function peer(n: number): SessionKey {
  return directKey({ agent: parseAgent("main"), channel: null, account: null, peer: `peer-${n}` });
}

async function oneMessage(run: Run, daemon: Daemon): Promise<Figure[]> {
  const connection = await Connection.open(daemon.port, daemon.token);
  const store = await run.scratch.open(run.scratch.home("gateway-store"));
  const world = new RealWorld();
  const rounds = run.sized(5_000);
  for (let n = 0; n * LETTERS_EACH < rounds + LETTERS_EACH; n += 1) {
    await connection.request("POST", `/v1/sessions/${peer(n)}/messages`, MESSAGE);
    await connection.request("POST", `/v1/sessions/${peer(n)}/stop`, "{}");
    await store.commit([opened(peer(n), world)]);
  }
  await sleep(200);
  const times: [number[], number[]] = [[], []];
  await interleaved(rounds, [
    async (round) => {
      const path = `/v1/sessions/${peer(Math.floor(round / LETTERS_EACH))}/messages`;
      times[0].push(await timed(() => connection.request("POST", path, MESSAGE)));
    },
    async (round) => {
      times[1].push(await timed(() => posted(store, peer(Math.floor(round / LETTERS_EACH)), world)));
    },
  ]);
  connection.close();
  await run.scratch.close(store);
  const beside = "a commit of the same letter to a store of this process";
  const what = "a message over HTTP, acknowledged when it is durable";
  return [
    ratioFigure({
      what,
      ours: ms(median(times[0]), "p50"),
      base: ms(median(times[1]), "p50"),
      beside,
      most: 2,
    }),
    ratioFigure({
      what,
      ours: ms(quantile(times[0], 0.99), "p99"),
      base: ms(quantile(times[1], 0.99), "p99"),
      beside,
    }),
  ];
}

function opened(key: SessionKey, world: RealWorld): Change {
  const birth = { transcript: world.newId(), cwd: "/", parent: null, settings: {}, copy: null };
  return { do: "open", key, ...birth, ifExists: "keep" };
}

function posted(store: LocalStore, key: SessionKey, world: RealWorld): Promise<unknown> {
  const letter = {
    id: `ext:send:owner:${encodeURIComponent(key)}:${world.newId()}`,
    from: { kind: "external_user", channel: null, peer: null },
    class: "interactive",
    mode: null,
    content: [{ type: "text", text: "how are you?" }],
    replyTo: null,
    origin: null,
  } as const;
  return store.commit([{ do: "post", to: [key], letter }]);
}

const CONNECTIONS = 64;

/** Each connection has a session of its own and sends the next message when the last one is acknowledged. */
async function manyMessages(run: Run, daemon: Daemon): Promise<Figure[]> {
  const connections = await opens(daemon, CONNECTIONS);
  const each = run.sized(400);
  const send = async (first: number): Promise<number> => {
    const fromMs = performance.now();
    await Promise.all(
      connections.map(async (connection, n) => {
        for (let sent = 0; sent < each; sent += 1)
          await connection.request("POST", `/v1/sessions/${peer(first + n)}/messages`, MESSAGE);
      }),
    );
    return (CONNECTIONS * each) / ((performance.now() - fromMs) / 1_000);
  };
  const slow = JSON.stringify({ message: "!slow 3600000" });
  for (const [n, connection] of connections.entries())
    await connection.request("POST", `/v1/sessions/${peer(1_000 + n)}/messages`, slow);
  await daemon.metric(LOOP); // from here on
  const busy = await send(1_000);
  const delayMs = (await daemon.metric(LOOP)) * 1_000;
  for (const [n, connection] of connections.entries())
    await connection.request("POST", `/v1/sessions/${peer(1_000 + n)}/kill`, "{}");
  const answering = await send(1_500);
  for (const connection of connections) connection.close();
  const wanted = { beside: "what was wanted", base: perSecond(2_000) };
  return [
    {
      what: "64 connections: messages acknowledged, to sessions in a turn",
      ours: perSecond(busy),
      ...wanted,
      wanted: { words: "≥ 2,000/s", met: busy >= 2_000 },
    },
    {
      what: "64 connections: event loop of the daemon meanwhile",
      ours: ms(delayMs, "p99"),
      beside: "what was wanted",
      base: ms(50),
      wanted: { words: "≤ 50 ms", met: delayMs <= 50 },
    },
    {
      what: "64 connections: messages acknowledged, each answered by a turn at once",
      ours: perSecond(answering),
      ...wanted,
      wanted: null,
    },
  ];
}

const LOOP = "sessiond_nodejs_eventloop_lag_p99_seconds";

function opens(daemon: Daemon, count: number): Promise<Connection[]> {
  return Promise.all(Array.from({ length: count }, () => Connection.open(daemon.port, daemon.token)));
}

async function turns(run: Run, daemon: Daemon): Promise<Figure[]> {
  const connection = await Connection.open(daemon.port, daemon.token);
  const times: number[] = [];
  for (let n = 0; n < run.sized(1_000); n += 1)
    times.push(
      await timed(() => connection.request("POST", `/v1/sessions/${peer(2_000 + (n % 40))}/ask`, MESSAGE)),
    );
  connection.close();
  const p50 = median(times);
  return [
    {
      what: "one turn through HTTP, rehearsal at zero latency",
      ours: ms(p50, "p50"),
      beside: "what was wanted",
      base: ms(15),
      wanted: { words: "≤ 15 ms", met: p50 <= 15 },
    },
  ];
}

const SESSIONS = 50;

async function manyTurns(run: Run, daemon: Daemon): Promise<Figure[]> {
  const connections = await opens(daemon, SESSIONS);
  const each = run.sized(200);
  const fromMs = performance.now();
  await Promise.all(
    connections.map(async (connection, n) => {
      for (let turn = 0; turn < each; turn += 1)
        await connection.request("POST", `/v1/sessions/${peer(3_000 + n)}/ask`, MESSAGE);
    }),
  );
  const rate = (SESSIONS * each) / ((performance.now() - fromMs) / 1_000);
  for (const connection of connections) connection.close();
  return [
    {
      what: "50 sessions at once: turns through HTTP",
      ours: perSecond(rate),
      beside: "what was wanted",
      base: perSecond(300),
      wanted: { words: "≥ 300/s", met: rate >= 300 },
    },
  ];
}

const FOLLOWERS = 1_000;

async function followers(run: Run): Promise<Figure[]> {
  const daemon = await Daemon.start(run.scratch.home("gateway-followers"));
  const sockets: WebSocket[] = [];
  try {
    const beforeBytes = daemon.memory;
    for (let n = 0; n < FOLLOWERS; n += 1) sockets.push(await follower(daemon));
    await sleep(2_000);
    const all = daemon.memory;
    return [
      {
        what: "1,000 idle WebSocket subscribers: memory of the daemon in all",
        ours: mebibytes(all, "resident"),
        beside: "the same daemon before they came",
        base: mebibytes(beforeBytes, "resident"),
        wanted: { words: "≤ 150 MB", met: all <= 150e6 },
      },
    ];
  } finally {
    for (const socket of sockets) socket.terminate();
    await daemon.stop();
  }
}

async function follower({ port, token }: Daemon): Promise<WebSocket> {
  const socket = new WebSocket(`ws://127.0.0.1:${port}/ws`, {
    headers: { authorization: `Bearer ${token}` },
  });
  await once(socket, "open");
  const params = { stream: "follow", input: { sessionKey: "agent:main:main" } };
  socket.send(JSON.stringify({ jsonrpc: "2.0", id: 1, method: "subscribe", params }));
  await once(socket, "message");
  return socket;
}

async function list(run: Run): Promise<Figure[]> {
  const large = await run.filled.many(run.sized(100_000));
  const rounds = run.sized(300);
  const store = await run.scratch.open(large.home);
  const own: number[] = [];
  for (let n = 0; n < rounds; n += 1) own.push(await timed(() => store.sessions({ limit: 100 })));
  await run.scratch.close(store);
  const daemon = await Daemon.start(large.home);
  const connection = await Connection.open(daemon.port, daemon.token);
  const ours: number[] = [];
  for (let n = 0; n < rounds; n += 1)
    ours.push(await timed(() => connection.request("GET", "/v1/sessions?limit=100", "")));
  connection.close();
  await daemon.stop();
  return [
    ratioFigure({
      what: `first page of 100 out of ${large.count.toLocaleString("en-US")} through HTTP`,
      ours: ms(median(ours), "p50"),
      base: ms(median(own), "p50"),
      beside: "the same page from the store, just before",
      most: 3,
    }),
  ];
}

/** Idle memory, then starts with one session and with many. */
async function starting(run: Run): Promise<Figure[]> {
  const large = await run.filled.many(run.sized(100_000));
  const home = run.scratch.home("gateway-start");
  const times: [number[], number[]] = [[], []];
  let idleBytes = 0;
  await interleaved(run.atLeast(5, 15), [
    async () => void times[0].push(await startOf(large.home)),
    async () => void times[1].push(await startOf(home)),
  ]);
  const daemon = await Daemon.start(large.home);
  await sleep(5_000);
  idleBytes = daemon.memory;
  await daemon.stop();
  const [many, one] = [median(times[0]), median(times[1])];
  return [
    {
      what: "memory of a daemon in which nothing happens, 100,000 sessions on disk",
      ours: mebibytes(idleBytes, "resident"),
      beside: "what was wanted",
      base: mebibytes(150e6),
      wanted: { words: "≤ 150 MB", met: idleBytes <= 150e6 },
    },
    {
      what: "start of the daemon to healthy, 100,000 sessions on disk",
      ours: ms(many, "p50"),
      beside: "with one session",
      base: ms(one, "p50"),
      wanted: { words: "≤ 1 s", met: many <= 1_000 },
    },
  ];
}

async function startOf(home: string): Promise<number> {
  const daemon = await Daemon.start(home);
  await daemon.stop();
  return daemon.startMs;
}
