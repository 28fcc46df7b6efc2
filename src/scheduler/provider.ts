/** The first pause of a provider that said no and not for how long; doubled each time in a row, up to the longest. */
const PAUSE_MS = 1_000;
const PAUSE_MS_MAX = 60_000;

/** Doublings from the first pause to beyond the longest. Counting on would only make a number that nobody can read. */
const DOUBLINGS_MAX = 6;

/**
 * The shortest and longest pause that a provider is granted when it names one. Shorter ones would be a loop; with a longer
 * one, people had better hear that it is out of order, and trying is how that is found out.
 */
const NAMED_PAUSE_MS_MIN = 100;
const NAMED_PAUSE_MS_MAX = 10 * 60_000;

/** The part of a pause that chance may add, so that gateways which were refused together do not come back together. */
const JITTER = 0.25;

/**
 * One provider: how many calls it takes at once, and the pauses it asked for. Pure: the time is an argument.
 *
 * After a pause it is *tried*: one call at a time, until one is answered, or begins to be. One that comes back without an
 * answer (it failed otherwise, or was given up) proves nothing, and neither do calls that were on their way before the
 * pause; those are not waited for. A refusal counts once for each pause: those
 * that come in while it lasts, or from such older calls, make it longer at most, and never double the next one.
 */
export class Provider {
  readonly name: string;
  readonly limit: number | null; // null: as many as there are slots
  #inFlight = 0;
  #pausedUntilMs = 0; //            0: never asked for a pause
  #refusals = 0; //                 in a row; 0: it is not being tried
  #round = 0; //                    goes up with each pause; a call belongs to the round it was granted in
  #inFlightOfRound = 0;

  constructor(name: string, limit: number | null) {
    this.name = name;
    this.limit = limit;
  }

  get inFlight(): number {
    return this.#inFlight;
  }

  /** One call at a time, until one shows that it works again. */
  get isTried(): boolean {
    return this.#refusals > 0;
  }

  /** One more call may be sent now. */
  isOpen(nowMs: number): boolean {
    if (this.isFull || this.coolsForMs(nowMs) > 0) return false;
    return !this.isTried || this.#inFlightOfRound === 0;
  }

  get isFull(): boolean {
    return this.limit !== null && this.#inFlight >= this.limit;
  }

  /** 0: it can be asked. More than any pause can be means that the clock was set back; then nobody knows, and it is asked. */
  coolsForMs(nowMs: number): number {
    const leftMs = this.#pausedUntilMs - nowMs;
    return leftMs > 0 && leftMs <= NAMED_PAUSE_MS_MAX * (1 + JITTER) + 1 ? leftMs : 0;
  }

  /** The round that the call belongs to, for `back`. */
  out(): number {
    this.#inFlight += 1;
    this.#inFlightOfRound += 1;
    return this.#round;
  }

  /** A call is being answered: that ends the trial, unless the call is from before the pause. */
  works(round: number): void {
    if (round === this.#round) this.#refusals = 0;
  }

  /** The call is over. */
  back(round: number): void {
    this.#inFlight -= 1;
    if (round === this.#round) this.#inFlightOfRound -= 1;
  }

  /** It has too much to do. `chance` is in [0, 1); a null `retryAfterMs`: it did not say for how long. */
  refused(retryAfterMs: number | null, nowMs: number, chance: number): void {
    const isOfOlderCall = this.coolsForMs(nowMs) > 0 || (this.isTried && this.#inFlightOfRound === 0);
    if (!isOfOlderCall) {
      this.#refusals = Math.min(this.#refusals + 1, DOUBLINGS_MAX + 1);
      this.#round += 1;
      this.#inFlightOfRound = 0;
    } else if (retryAfterMs === null && this.coolsForMs(nowMs) > 0) return; // it has its pause already
    const pauseMs = Math.ceil(this.#pauseMs(retryAfterMs) * (1 + JITTER * chance));
    this.#pausedUntilMs = nowMs + Math.max(pauseMs, this.coolsForMs(nowMs));
  }

  #pauseMs(retryAfterMs: number | null): number {
    if (retryAfterMs === null || Number.isNaN(retryAfterMs))
      return Math.min(PAUSE_MS * 2 ** (this.#refusals - 1), PAUSE_MS_MAX);
    return Math.min(Math.max(retryAfterMs, NAMED_PAUSE_MS_MIN), NAMED_PAUSE_MS_MAX);
  }
}
