/** Node's engine before 24 has other tiers. */
const FIRST_KNOWN_VERSION = 24;

/** How many answers a tier must serve to be worth the time that it compiles for. */
const TIERS = [
  { flag: "--maglev", answers: 500 },
  { flag: "--opt", answers: 150_000 },
];

/**
 * What functions of WebAssembly use up before they are compiled once more, by the engine's count of bytes executed: with
 * 13 million, its own choice, most of them were for the first large unit, in threads that take as much time as the answer.
 */
const WASM_BUDGET = 400_000_000;

/** The settings of the engine that are changed here. */
const USUAL = [
  "--maglev",
  "--opt",
  "--semi-space-growth-factor=2",
  "--parallel-scavenge",
  "--no-wasm-lazy-validation",
  "--wasm-tiering-budget=13000000",
];

/**
 * Lets the engine's optimizing compilers start late: for one address the first would take a fifth of all processor time,
 * for a hundred thousand the second a fourth. Also keeps the young generation small, as little lives long, and
 * lets one thread collect it: to wake others takes longer. Of the WebAssembly only the functions that run are validated.
 */
export class CompilerTiers {
  readonly #set: ((flag: string) => void) | undefined;
  #answers = 0;
  #next = 0;

  constructor() {
    if (Number.parseInt(process.versions.node, 10) < FIRST_KNOWN_VERSION) return;
    this.#set = process.getBuiltinModule("node:v8").setFlagsFromString;
    this.#set("--no-maglev");
    this.#set("--no-opt");
    this.#set("--semi-space-growth-factor=1");
    this.#set("--no-parallel-scavenge");
    this.#set("--wasm-lazy-validation");
    this.#set(`--wasm-tiering-budget=${WASM_BUDGET}`);
  }

  /** Sets all back to what the engine starts with: it takes compiled code for its own only with the same settings. */
  restore(): void {
    for (const flag of USUAL) this.#set?.(flag);
  }

  /** To be told of addresses that are about to be looked up. */
  count(answers: number): void {
    this.#answers += answers;
    while (this.#next < TIERS.length && this.#answers >= TIERS[this.#next].answers)
      this.#set?.(TIERS[this.#next++].flag);
  }
}
