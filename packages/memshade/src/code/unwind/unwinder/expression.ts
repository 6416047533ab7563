import { DW_OP } from "../cfi/constants.ts";
import type { Memory } from "./memory.ts";
import type { Registers } from "./registers.ts";

const MAX_STEPS = 1000;
const MAX_DEPTH = 64;

/**
 * Evaluates a DWARF expression of call frame information (DWARF 5, 2.5 and 6.4.2): a stack machine on 64-bit words.
 *
 * @param cfa pushed first, as rules of registers want it; undefined for the CFA's own expression
 * @returns the word on top of the stack; undefined if something it needs is not known or the program is damaged
 */
export function evaluateExpression(
  program: Uint8Array,
  registers: Registers,
  memory: Memory,
  cfa: number | undefined,
): bigint | undefined {
  return new ExpressionMachine(program, registers, memory).run(cfa);
}

const OPERATIONS: Readonly<Record<number, (machine: ExpressionMachine) => void>> = {
  [DW_OP.addr]: (machine) => machine.push(machine.constant(machine.registers.target.wordSize, false)),
  [DW_OP.const1u]: (machine) => machine.push(machine.constant(1, false)),
  [DW_OP.const1s]: (machine) => machine.push(machine.constant(1, true)),
  [DW_OP.const2u]: (machine) => machine.push(machine.constant(2, false)),
  [DW_OP.const2s]: (machine) => machine.push(machine.constant(2, true)),
  [DW_OP.const4u]: (machine) => machine.push(machine.constant(4, false)),
  [DW_OP.const4s]: (machine) => machine.push(machine.constant(4, true)),
  [DW_OP.const8u]: (machine) => machine.push(machine.constant(8, false)),
  [DW_OP.const8s]: (machine) => machine.push(machine.constant(8, true)),
  [DW_OP.constu]: (machine) => machine.push(machine.leb(false)),
  [DW_OP.consts]: (machine) => machine.push(machine.leb(true)),
  [DW_OP.bregx]: (machine) => machine.pushRegister(Number(machine.leb(false)), machine.leb(true)),
  [DW_OP.deref]: (machine) => machine.dereference(machine.registers.target.wordSize),
  [DW_OP.deref_size]: (machine) => machine.dereference(Number(machine.constant(1, false))),
  [DW_OP.dup]: (machine) => machine.pick(0),
  [DW_OP.over]: (machine) => machine.pick(1),
  [DW_OP.pick]: (machine) => machine.pick(Number(machine.constant(1, false))),
  [DW_OP.drop]: (machine) => void machine.pop(),
  [DW_OP.swap]: (machine) => machine.rotate(2),
  [DW_OP.rot]: (machine) => machine.rotate(3),
  [DW_OP.skip]: (machine) => machine.branch(true),
  [DW_OP.bra]: (machine) => machine.branch(machine.pop() !== 0n),
  [DW_OP.plus_uconst]: (machine) => machine.push(machine.pop() + machine.leb(false)),
  [DW_OP.neg]: (machine) => machine.push(-machine.pop()),
  [DW_OP.not]: (machine) => machine.push(~machine.pop()),
  [DW_OP.abs]: (machine) => {
    const value = signed(machine.pop());
    machine.push(value < 0n ? -value : value);
  },
  [DW_OP.and]: binary((left, right) => left & right),
  [DW_OP.or]: binary((left, right) => left | right),
  [DW_OP.xor]: binary((left, right) => left ^ right),
  [DW_OP.plus]: binary((left, right) => left + right),
  [DW_OP.minus]: binary((left, right) => left - right),
  [DW_OP.mul]: binary((left, right) => left * right),
  [DW_OP.div]: binary((left, right) => (right === 0n ? undefined : signed(left) / signed(right))),
  [DW_OP.mod]: binary((left, right) => (right === 0n ? undefined : left % right)),
  [DW_OP.shl]: binary((left, right) => (right < 64n ? left << right : 0n)),
  [DW_OP.shr]: binary((left, right) => (right < 64n ? left >> right : 0n)),
  [DW_OP.shra]: binary((left, right) => signed(left) >> (right < 64n ? right : 63n)),
  [DW_OP.eq]: comparison((left, right) => left === right),
  [DW_OP.ne]: comparison((left, right) => left !== right),
  [DW_OP.ge]: comparison((left, right) => left >= right),
  [DW_OP.gt]: comparison((left, right) => left > right),
  [DW_OP.le]: comparison((left, right) => left <= right),
  [DW_OP.lt]: comparison((left, right) => left < right),
  [DW_OP.nop]: () => {},
};

function signed(value: bigint): bigint {
  return BigInt.asIntN(64, value);
}

/** The topmost entry is the right operand. No result: the operation is not defined for these. */
function binary(calculate: (left: bigint, right: bigint) => bigint | undefined) {
  return (machine: ExpressionMachine): void => {
    const right = machine.pop();
    const result = calculate(machine.pop(), right);
    if (result === undefined) machine.fail();
    else machine.push(result);
  };
}

function comparison(holds: (left: bigint, right: bigint) => boolean) {
  return binary((left, right) => (holds(signed(left), signed(right)) ? 1n : 0n));
}

class ExpressionMachine {
  readonly registers: Registers;
  readonly #program: Uint8Array;
  readonly #memory: Memory;
  readonly #stack: bigint[] = [];
  #position = 0;
  #failed = false;

  constructor(program: Uint8Array, registers: Registers, memory: Memory) {
    this.#program = program;
    this.registers = registers;
    this.#memory = memory;
  }

  run(cfa: number | undefined): bigint | undefined {
    if (cfa !== undefined) this.push(BigInt(cfa));
    for (let steps = 0; this.#position < this.#program.length; steps++) {
      if (steps >= MAX_STEPS) return undefined;
      this.#step(this.#program[this.#position++]);
      if (this.#failed) return undefined;
    }
    return this.#stack.at(-1);
  }

  #step(op: number): void {
    if (op >= DW_OP.lit0 && op <= DW_OP.lit31) this.push(BigInt(op - DW_OP.lit0));
    else if (op >= DW_OP.breg0 && op <= DW_OP.breg31) this.pushRegister(op - DW_OP.breg0, this.leb(true));
    else if (OPERATIONS[op] === undefined) this.fail();
    else OPERATIONS[op](this);
  }

  fail(): void {
    this.#failed = true;
  }

  push(value: bigint): void {
    if (this.#stack.length >= MAX_DEPTH) this.fail();
    else this.#stack.push(BigInt.asUintN(64, value));
  }

  pop(): bigint {
    const value = this.#stack.pop();
    if (value === undefined) this.fail();
    return value ?? 0n;
  }

  /** Copies the entry that lies `depth` below the top. */
  pick(depth: number): void {
    const value = this.#stack.at(-1 - depth);
    if (value === undefined) this.fail();
    else this.push(value);
  }

  /** Moves the top of the stack below the `count - 1` entries under it. */
  rotate(count: number): void {
    const top = this.pop();
    if (this.#stack.length < count - 1) this.fail();
    else this.#stack.splice(this.#stack.length - (count - 1), 0, top);
  }

  /** An integer of 1, 2, 4 or 8 bytes in the program. */
  constant(size: number, isSigned: boolean): bigint {
    const at = this.#position;
    this.#position += size;
    if (this.#position > this.#program.length) {
      this.fail();
      return 0n;
    }
    let value = 0n;
    for (let i = size - 1; i >= 0; i--) value = (value << 8n) | BigInt(this.#program[at + i]);
    return isSigned ? BigInt.asIntN(8 * size, value) : value;
  }

  leb(isSigned: boolean): bigint {
    let value = 0n;
    let shift = 0n;
    for (let count = 0; count < 10; count++) {
      const byte = this.#program[this.#position++];
      if (byte === undefined) break;
      value |= BigInt(byte & 0x7f) << shift;
      shift += 7n;
      if (byte < 0x80) return isSigned && byte & 0x40 ? value - (1n << shift) : value;
    }
    this.fail();
    return 0n;
  }

  pushRegister(register: number, offset: bigint): void {
    const value = this.registers.get(register);
    if (value === undefined) this.fail();
    else this.push(value + offset);
  }

  /** Replaces the address on top by the `size` bytes that are there. */
  dereference(size: number): void {
    const address = this.pop();
    const isReadable = size >= 1 && size <= 8 && address < 2n ** 53n && !this.#failed;
    if (!isReadable || !this.#memory.readWord(Number(address))) {
      this.fail();
      return;
    }
    const word = (BigInt(this.#memory.high) << 32n) | BigInt(this.#memory.low);
    this.push(BigInt.asUintN(8 * size, word));
  }

  /** Reads a distance, and goes there if the branch is taken. */
  branch(taken: boolean): void {
    const distance = Number(this.constant(2, true));
    if (!taken) return;
    this.#position += distance;
    if (this.#position < 0 || this.#position > this.#program.length) this.fail();
  }
}
