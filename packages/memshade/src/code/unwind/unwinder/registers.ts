import type { UnwindTarget } from "../architecture.ts";

/**
 * High half from which on a value is no address: addresses have at most 53 bits here, more than any processor's
 * user space.
 */
const HIGH_LIMIT = 1 << 21;

/**
 * Values of a target's registers, by DWARF number, each known or unknown. A value has 64 bits in two halves, since
 * a register may hold anything. Only values used as addresses must be valid addresses.
 *
 * @example
 * ```ts
 * import assert from "node:assert";
 * import { Registers, unwindTarget } from "memshade/unwind";
 *
 * const target = unwindTarget("x86_64");
 * assert.ok(target);
 * const registers = Registers.of(target, { rip: 0x1139, rsp: 0x7ffe1000n });
 * assert.equal(registers.get(target.stackPointer), 0x7ffe1000n);
 * ```
 */
export class Registers {
  readonly target: UnwindTarget;
  readonly low: Uint32Array;
  readonly high: Uint32Array;
  readonly known: Uint8Array;

  constructor(target: UnwindTarget) {
    this.target = target;
    const count = target.pc + 1;
    this.low = new Uint32Array(count);
    this.high = new Uint32Array(count);
    this.known = new Uint8Array(count);
  }

  /** Creates registers from names, such as `{ rip: 0x1139, rsp: 0x7ffe1000n }`; unknown names are ignored. */
  static of(target: UnwindTarget, values: Readonly<Record<string, number | bigint>>): Registers {
    const registers = new Registers(target);
    for (const [name, value] of Object.entries(values)) {
      const number = target.registerNames.indexOf(name);
      if (number >= 0) registers.set(number, value);
    }
    return registers;
  }

  get(register: number): bigint | undefined {
    if (!this.known[register]) return undefined;
    return (BigInt(this.high[register]) << 32n) | BigInt(this.low[register]);
  }

  set(register: number, value: number | bigint): void {
    const bits = BigInt.asUintN(64, BigInt(value));
    this.setHalves(register, Number(bits & 0xffff_ffffn), Number(bits >> 32n));
  }

  setHalves(register: number, low: number, high: number): void {
    this.low[register] = low;
    this.high[register] = high;
    this.known[register] = 1;
  }

  setAddress(register: number, address: number): void {
    this.setHalves(register, address % 2 ** 32, address / 2 ** 32);
  }

  forget(register: number): void {
    this.known[register] = 0;
  }

  /** Returns the register as an address; NaN if it is unknown or too large for an address. */
  address(register: number): number {
    if (!this.known[register] || this.high[register] >= HIGH_LIMIT) return Number.NaN;
    return this.high[register] * 2 ** 32 + this.low[register];
  }

  copyFrom({ low, high, known }: Registers): void {
    for (let register = 0; register < known.length; register++) {
      this.low[register] = low[register];
      this.high[register] = high[register];
      this.known[register] = known[register];
    }
  }

  clone(): Registers {
    const copy = new Registers(this.target);
    copy.copyFrom(this);
    return copy;
  }

  /** Returns the known registers, by name. */
  toObject(): Record<string, bigint> {
    const values: Record<string, bigint> = {};
    for (const [number, name] of this.target.registerNames.entries()) {
      const value = this.get(number);
      if (value !== undefined) values[name] = value;
    }
    return values;
  }
}
