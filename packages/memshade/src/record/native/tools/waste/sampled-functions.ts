import { decode, INSTRUCTION_POINTER, Instruction } from "../../../../code/x64/decode/index.ts";
import type { Code } from "../../rewrite/code.ts";

/**
 * Functions of the C library that store on behalf of a caller, so that only the caller identifies a line of the
 * program. Checked variants (`__memcpy_chk`) and variants for certain processors are found through them.
 */
const NAMES = [
  ...["memcpy", "memmove", "mempcpy", "memccpy", "memset", "bcopy", "bzero", "explicit_bzero"],
  ...["strcpy", "stpcpy", "strncpy", "stpncpy", "strcat", "strncat", "strlcpy", "strlcat"],
  ...["wmemcpy", "wmemmove", "wmempcpy", "wmemset"],
  ...["wcscpy", "wcpcpy", "wcsncpy", "wcpncpy", "wcscat", "wcsncat", "wcslcpy", "wcslcat"],
];

const LEA = 0x8d;

/** Functions of the C library whose blocks are always sampled by caller. The set is empty for all other files. */
export class SampledFunctions {
  readonly #code: Code;
  readonly #functions = new Set<number>();

  constructor(code: Code) {
    this.#code = code;
    if (!code.isCLibrary) return;
    for (const name of NAMES)
      for (const symbol of [name, `__${name}_chk`]) {
        const address = code.symbols.get(symbol);
        if (address !== undefined) this.#add(address - code.base);
      }
  }

  has(i: number): boolean {
    return this.#functions.size > 0 && this.#functions.has(this.#code.functionAround(this.#code.offsets[i]));
  }

  /** Adds the function at an offset. If it selects an implementation by processor, adds all candidates instead. */
  #add(offset: number): void {
    const code = this.#code;
    const own = code.functionAt(offset);
    if (own < 0) return;
    const chosen = this.#addressesIn(own);
    for (const index of chosen.length > 0 ? chosen : [own]) this.#functions.add(index);
  }

  #addressesIn(own: number): number[] {
    const { bytes, functions, offsets, opcodes, lengths } = this.#code;
    const instruction = new Instruction();
    const found: number[] = [];
    for (let i = functions[own].first; i < functions[own].last; i++) {
      if (opcodes[i] !== LEA) continue;
      decode(bytes, offsets[i], instruction);
      if (instruction.base !== INSTRUCTION_POINTER) continue;
      const index = this.#code.functionAt(offsets[i] + lengths[i] + instruction.displacement);
      if (index >= 0) found.push(index);
    }
    return found;
  }
}
