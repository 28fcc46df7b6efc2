/** Why a turn stops before its end. It is the reason of the turn's abort signal, or found at a safe point. */
export type Stop =
  | { readonly kind: "aborted"; readonly why: string } //      a person wants it to stop; or a letter interrupts
  | { readonly kind: "killed"; readonly why: string } //       and its session ends
  | { readonly kind: "timeout"; readonly why: string }
  | { readonly kind: "limit"; readonly why: string }
  | { readonly kind: "yielded"; readonly why: string } //      it goes on when its children have reported
  | { readonly kind: "paused"; readonly why: string } //       it goes on when that is taken back
  | { readonly kind: "leaving"; readonly why: string }; //     this process lets go of it: whoever has it next goes on

/** Thrown where a stop is noticed, so that straight-line code stays straight. */
export class Stopped extends Error {
  readonly stop: Stop;

  constructor(stop: Stop) {
    super(stop.why);
    this.stop = stop;
  }
}
