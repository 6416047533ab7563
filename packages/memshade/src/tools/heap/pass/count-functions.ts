import type { AppendedFunctions } from "../../../rewrite/write/appended-functions.ts";
import { BodyBuilder } from "../../../rewrite/write/body-builder.ts";
import { I32 } from "../../../wasm/index.ts";

const HAS_MEMORY_INDEX = 0x40;

/** One small function per counter word, for places where a counter in line is not worth its bytes. */
export class CountFunctions {
  readonly #appended: AppendedFunctions;
  readonly #shadowMemory: number;
  readonly #made = new Map<number, number>();

  constructor(appended: AppendedFunctions, shadowMemory: number) {
    this.#appended = appended;
    this.#shadowMemory = shadowMemory;
  }

  /** Index of the function (address) → () that adds `word` to the address's counter. */
  get(word: number): number {
    const known = this.#made.get(word);
    if (known !== undefined) return known;
    const index = this.#appended.add(this.#appended.typeIndex([I32], []), () => {
      const body = new BodyBuilder();
      body.op("local.get", 0).i32(1).op("i32.shr_u").i32(-4).op("i32.and").op("local.tee", 0);
      body.op("local.get", 0).op("i32.load", 2 | HAS_MEMORY_INDEX, this.#shadowMemory, 0);
      body.i32(word & ~1).op("i32.add");
      if (word & 1) body.i32(1).op("i32.or");
      return body.op("i32.store", 2 | HAS_MEMORY_INDEX, this.#shadowMemory, 0).finish();
    });
    this.#made.set(word, index);
    return index;
  }
}
