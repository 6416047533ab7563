import { AARCH64_REGISTERS, X86_64_REGISTERS } from "../../formats/perf-data/index.ts";
import { Registers, type UnwindTarget } from "../../unwind/index.ts";

/** Which words of a sample are which registers, for one set of recorded registers. */
export class SampleRegisters {
  /** DWARF number of each word; −1 for registers that unwinding has no use for. */
  readonly #numbers: readonly number[];
  readonly #registers: Registers;

  constructor(target: UnwindTarget, [low, high]: readonly [number, number]) {
    this.#registers = new Registers(target);
    const all = target.architecture === "aarch64" ? AARCH64_REGISTERS : X86_64_REGISTERS;
    const numbers: number[] = [];
    for (let bit = 0; bit < 64; bit++) {
      if (((bit < 32 ? low >>> bit : high >>> (bit - 32)) & 1) === 1) numbers.push(all[bit] ?? -1);
    }
    this.#numbers = numbers;
  }

  /** Offset of a register among those of a sample; −1 if it was not recorded. */
  offsetOf(register: number): number {
    const index = this.#numbers.indexOf(register);
    return index < 0 ? -1 : 8 * index;
  }

  /** A register of a sample as an address; NaN if it was not recorded, or cannot be one. */
  address(words: DataView, register: number): number {
    const index = this.#numbers.indexOf(register);
    if (index < 0) return Number.NaN;
    const high = words.getUint32(8 * index + 4, true);
    return high < 2 ** 21 ? high * 2 ** 32 + words.getUint32(8 * index, true) : Number.NaN;
  }

  /** The registers of a sample. The next call overwrites them. */
  read(words: DataView): Registers {
    const registers = this.#registers;
    const numbers = this.#numbers;
    registers.known.fill(0);
    for (let index = 0; index < numbers.length; index++) {
      const number = numbers[index]!;
      if (number < 0) continue;
      registers.setHalves(number, words.getUint32(8 * index, true), words.getUint32(8 * index + 4, true));
    }
    return registers;
  }
}
