import { STRETCH, squash } from "./logistic.ts";

/** Statistics stand in a table of so many slots; contexts share slots where their hashes fall together. */
const SLOT_BITS = 20;
/** A slot's probability moves by a 1.5th, 2.5th, 3.5th… of the distance, at last by this one's. */
const MOST_SEEN = 127;
/** Sources of one prediction, at most. */
const MOST_SOURCES = 8;
/** How often a source has been right is told in so many steps. */
const TRUST_STEPS = 4;
const WEIGHTS_PER_SET = MOST_SOURCES * TRUST_STEPS;
/** Of the first weights, by trust, of 65536, where there are four sources. */
const FIRST_WEIGHTS = [6554, 22938, 26214, 29491];

const START = 0x2545f491;

/** Mixes up to five 32-bit numbers into one. */
export function hash(
  first: number,
  second?: number,
  third?: number,
  fourth?: number,
  fifth?: number,
): number {
  let mixed = mix(START, first);
  if (second !== undefined) mixed = mix(mixed, second);
  if (third !== undefined) mixed = mix(mixed, third);
  if (fourth !== undefined) mixed = mix(mixed, fourth);
  if (fifth !== undefined) mixed = mix(mixed, fifth);
  return mixed;
}

function mix(mixed: number, number: number): number {
  const product = Math.imul(mixed ^ number, 0x2c1b3c6d);
  return Math.imul(product ^ (product >>> 15), 0x297a2d39);
}

/**
 * Predicts bits from what followed in the same contexts before: each context has a probability, and the weights by which
 * these are put together are learned too. All arithmetic is of integers, so that readers and writers agree everywhere.
 */
export class BitModel {
  /** Of 65536, by slot. */
  private readonly probability: Uint16Array;
  private readonly seen: Uint8Array;
  private readonly weights: Int32Array;
  private readonly contexts = new Int32Array(MOST_SOURCES);
  private contextCount = 0;
  private readonly slots = new Int32Array(MOST_SOURCES);
  private readonly forms = new Int32Array(MOST_SOURCES);
  private readonly places = new Int32Array(MOST_SOURCES);
  private sourceCount = 0;
  private predicted = 2048;

  /** @param sets number of sets of weights */
  constructor(sets: number) {
    this.probability = new Uint16Array(1 << SLOT_BITS).fill(1 << 15);
    this.seen = new Uint8Array(1 << SLOT_BITS);
    this.weights = Int32Array.from(
      { length: sets * WEIGHTS_PER_SET },
      (_, place) => FIRST_WEIGHTS[place % TRUST_STEPS]!,
    );
  }

  /** Forgets all, and knows what another model with as many sets knows. */
  becomeLike(other: BitModel): void {
    this.probability.set(other.probability);
    this.seen.set(other.seen);
    this.weights.set(other.weights);
  }

  /** Gives a set of weights other first values: those of four sources, times `factor`. */
  scaleWeights(set: number, factor: number): void {
    const first = set * WEIGHTS_PER_SET;
    for (let place = first; place < first + WEIGHTS_PER_SET; place++) {
      this.weights[place] = Math.floor(FIRST_WEIGHTS[place % TRUST_STEPS]! * factor);
    }
  }

  /** Sets the contexts of the next predictions. */
  enter(contexts: readonly number[]): void {
    for (let index = 0; index < contexts.length; index++) this.contexts[index] = contexts[index]!;
    this.contextCount = contexts.length;
  }

  /**
   * @param set of weights
   * @param node what is known of the symbol already
   * @param form another source's prediction, in logistic form; 0 for none
   * @param trust how far that is to be trusted, below 4
   * @returns the probability that the next bit is 1, of 4096
   */
  predict(set: number, node: number, form: number, trust: number): number {
    const { probability, seen, weights, contexts, contextCount, slots, forms, places } = this;
    let sum = 0;
    let place = set * WEIGHTS_PER_SET;
    for (let index = 0; index < contextCount; index++, place += TRUST_STEPS) {
      const slot = mix(contexts[index]!, node) >>> (32 - SLOT_BITS);
      const count = seen[slot]!;
      const stretched = count === 0 ? 0 : STRETCH[probability[slot]! >> 4]!;
      const at = place + (count < 2 ? count : count < 4 ? 2 : 3);
      slots[index] = slot;
      forms[index] = stretched;
      places[index] = at;
      sum += weights[at]! * stretched;
    }
    this.sourceCount = contextCount;
    if (form !== 0) {
      forms[contextCount] = form;
      places[contextCount] = place + trust;
      sum += weights[place + trust]! * form;
      this.sourceCount++;
    }
    this.predicted = squash(Math.floor(sum / 65536));
    return this.predicted;
  }

  /** Learns from the bit that was predicted last. */
  update(bit: number): void {
    const { probability, seen, weights, contextCount, slots, forms, places, sourceCount } = this;
    const error = (bit << 12) - this.predicted;
    for (let index = 0; index < sourceCount; index++) {
      weights[places[index]!]! += (forms[index]! * error + 512) >> 10;
    }
    const aim = bit === 1 ? 65535 : 0;
    for (let index = 0; index < contextCount; index++) {
      const slot = slots[index]!;
      const count = seen[slot]!;
      const known = probability[slot]!;
      probability[slot] = known + Math.trunc((2 * (aim - known)) / (2 * count + 3));
      if (count < MOST_SEEN) seen[slot] = count + 1;
    }
  }
}
