// Measure 15, first half: what a session's input costs over all its calls when each is sent the full history, when old tool
// results are pruned, and when the old part is compacted too. Tokens without a cache; and as they are priced with one, where
// what stands in front and has not changed is read and the rest is written.

import { roomOf, type Room } from "../../src/context/room.ts";
import { millionTokens, percent, ratioFigure, type Figure } from "../measure.ts";
import { replay, type Cost, type Way } from "./replay.ts";
import { generatedOnes, realOne, type Told } from "./told.ts";

/** The window of the models that most of these sessions have. */
const WINDOW_TOKENS = 200_000;

/** On a real transcript: of what full history costs without a cache; with one; and read from it, of all input. */
const PLAIN_MOST = 0.35;
const CACHED_MOST = 1;
const READ_SHARE_LEAST = 0.85;

export function economy(): Figure[] {
  const real = realOne();
  const absent: Figure = {
    what: "input of the real transcript",
    ours: null,
    beside: "SESSIOND_TRANSCRIPTS names no folder with one",
    base: null,
    wanted: null,
  };
  const figures = real === null ? [absent] : figuresOf(real, true);
  return [...figures, ...generatedOnes().flatMap((told) => figuresOf(told, false))];
}

function figuresOf(told: Told, isReal: boolean): Figure[] {
  const cost = (way: Way): Cost => replay(told, way, roomFor(WINDOW_TOKENS, null));
  const [full, pruned, compacted] = [cost("full"), cost("pruned"), cost("compacted")];
  const what = `input of ${told.name}, ${full.calls} calls`;
  const ways = [
    { words: `pruned ${pruned.prunings} times`, cost: pruned, isLast: false },
    {
      words: `pruned ${compacted.prunings} and compacted ${compacted.compactions} times`,
      cost: compacted,
      isLast: true,
    },
  ] as const;
  const plain = ways.map(({ words, cost: { input }, isLast }) =>
    ratioFigure({
      what: `${what}: ${words}`,
      ours: millionTokens(input),
      beside: "full history",
      base: millionTokens(full.input),
      ...(isReal && isLast ? { most: PLAIN_MOST } : {}),
    }),
  );
  const cached = ways.map(({ words, cost: { priced }, isLast }) =>
    ratioFigure({
      what: `${what}: ${words}, priced with a cache`,
      ours: millionTokens(priced),
      beside: "full history, priced with a cache",
      base: millionTokens(full.priced),
      ...(isLast ? { most: CACHED_MOST } : {}),
    }),
  );
  const read = readShareOf(compacted);
  const wanted = { words: `≥ ${READ_SHARE_LEAST * 100} %`, met: read >= READ_SHARE_LEAST };
  const reading: Figure = {
    what: `${what}: read from the cache, pruned and compacted`,
    ours: percent(read),
    beside: "full history",
    base: percent(readShareOf(full)),
    wanted: isReal ? wanted : null,
  };
  return [...plain, ...cached, reading, ...(isReal ? elsewhere(told, full) : [])];
}

/** The same where somebody has set another size, and with another window. */
function elsewhere(told: Told, full: Cost): Figure[] {
  const sizes = [40_000, 80_000].map((size) => ({
    words: `with sizeTokens ${size.toLocaleString("en-US")}`,
    room: roomFor(WINDOW_TOKENS, size),
  }));
  const large = { words: "with a window of 1,000,000", room: roomFor(1_000_000, null) };
  return [...sizes, large].map(({ words, room }) => {
    const { input, prunings, compactions } = replay(told, "compacted", room);
    return ratioFigure({
      what: `input of ${told.name} ${words}: pruned ${prunings} and compacted ${compactions} times`,
      ours: millionTokens(input),
      beside: "full history",
      base: millionTokens(full.input),
    });
  });
}

function roomFor(windowTokens: number, sizeTokens: number | null): (frame: number) => Room {
  return (frame) => roomOf(windowTokens, { sizeTokens, reserveTokens: null }, frame);
}

/** The summariser's questions are input too, and nothing of them is read from a cache. */
function readShareOf({ read, input }: Cost): number {
  return read / input;
}
