const ASKED_PER_STAGE = 256;
/** Stages that a site has room for, but for the one of what is asked out of turn. */
const LAST_STAGE = 14;

/** Which of many entries are asked for their callers: the first ones, then a part of them that becomes smaller, as in the module. */
export class WaitingSample {
  readonly #asksAll: boolean;
  #stage = 0;
  #asked = 0;
  #skip = 0;
  #random = 0x9e3779b9;

  constructor(asksAll: boolean) {
    this.#asksAll = asksAll;
  }

  /** Of 4 to the power of the stage one is asked. */
  next(): { stage: number; isAsked: boolean } {
    const stage = this.#stage;
    if (this.#asksAll) return { stage, isAsked: true };
    if (this.#skip > 0) {
      this.#skip--;
      return { stage, isAsked: false };
    }
    if (++this.#asked === ASKED_PER_STAGE && stage < LAST_STAGE) {
      this.#asked = 0;
      this.#stage++;
    }
    if (this.#stage > 0) this.#skip = this.#next() % (2 * 4 ** this.#stage - 1);
    return { stage, isAsked: true };
  }

  /** xorshift */
  #next(): number {
    let state = this.#random;
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    this.#random = state >>> 0;
    return this.#random;
  }
}
