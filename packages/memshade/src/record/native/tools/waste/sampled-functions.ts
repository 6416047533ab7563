import { decode, INSTRUCTION_POINTER, Instruction } from "../../../../code/x64/decode/index.ts";
import type { Code } from "../../rewrite/code.ts";

/**
 * Functions of the C library that store what a caller wants stored: which line of a program is meant, only the caller says. Variants that
 * check the size of the target (`__memcpy_chk`) and those that a processor needs are found beside them.
 */
const NAMES = [
  ...["memcpy", "memmove", "mempcpy", "memccpy", "memset", "bcopy", "bzero", "explicit_bzero"],
  ...["strcpy", "stpcpy", "strncpy", "stpncpy", "strcat", "strncat", "strlcpy", "strlcat"],
  ...["wmemcpy", "wmemmove", "wmempcpy", "wmemset"],
  ...["wcscpy", "wcpcpy", "wcsncpy", "wcpncpy", "wcscat", "wcsncat", "wcslcpy", "wcslcat"],
];

/** `lea` of a 64-bit address. */
const LEA = 0x8d;

/** The functions of the C library whose blocks are sampled by their callers always; none of other files. */
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

  /** Whether an instruction is one of theirs. */
  has(i: number): boolean {
    return this.#functions.size > 0 && this.#functions.has(this.#code.functionAround(this.#code.offsets[i]));
  }

  /** The function at an offset; where it chooses one by the processor, those that it may choose. */
  #add(offset: number): void {
    const code = this.#code;
    const own = code.functionAt(offset);
    if (own < 0) return;
    const chosen = this.#addressesIn(own);
    for (const one of chosen.length > 0 ? chosen : [own]) this.#functions.add(one);
  }

  /** Functions whose addresses one takes. */
  #addressesIn(own: number): number[] {
    const { bytes, functions, offsets, opcodes, lengths } = this.#code;
    const instruction = new Instruction();
    const found: number[] = [];
    for (let i = functions[own].first; i < functions[own].last; i++) {
      if (opcodes[i] !== LEA) continue;
      decode(bytes, offsets[i], instruction);
      if (instruction.base !== INSTRUCTION_POINTER) continue;
      const one = this.#code.functionAt(offsets[i] + lengths[i] + instruction.displacement);
      if (one >= 0) found.push(one);
    }
    return found;
  }
}
