import { count } from "../../src/base/figures.ts";

/** As `many` has it, for what may be very many: 1 turn, 12 turns, 18.4k turns. */
export function counted(n: number, what: string, more = `${what}s`): string {
  return `${count(n)} ${n === 1 ? what : more}`;
}
