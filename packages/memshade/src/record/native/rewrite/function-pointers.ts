import type { ObjectFile } from "../../../code/objects/types.ts";
import { decode, Instruction } from "../../../code/x64/decode/index.ts";
import { int32At } from "../../../ground/bytes/int32.ts";
import { AddressFlow, OPCODE } from "./address-flow.ts";
import type { Code, CodeFunction } from "./code.ts";
import { pointersIn } from "./dynamic.ts";
import { relativeAddress } from "./jump-tables.ts";

const OF_REGISTER = ~7;
const [POINTER_BYTES, ADDRESS_BYTES] = [8, 4];

const instruction = new Instruction();

/** A pointer that an instruction loads: by itself, or out of a table that begins there. */
export interface LoadedPointer {
  readonly place: number;
  readonly isInTable: boolean;
}

/** Pointers to functions in the data of an object, and instructions that load them. */
export class FunctionPointers {
  readonly #code: Code;
  readonly #areFixed: boolean;
  /** Functions by the places of pointers to them (SVMA). */
  readonly #functions = new Map<number, number>();
  /** Addresses of data that code has, in order, and those of them that tables with such pointers begin at. */
  readonly #references: Float64Array;
  readonly #tables: ReadonlySet<number>;

  constructor(code: Code, object: ObjectFile) {
    this.#code = code;
    this.#areFixed = object.type === "executable";
    for (const { place, address } of pointersIn(object)) {
      const f = code.functionAt(address - code.base);
      if (f >= 0) this.#functions.set(place, f);
    }
    this.#references = this.#findReferences();
    this.#tables = this.#findTables();
  }

  /** Instructions of a function that load a pointer to a function. */
  loadedBy(one: CodeFunction): Map<number, LoadedPointer> {
    const { bytes, offsets, lengths } = this.#code;
    const tables = new Map<number, number>();
    for (let i = one.first; i < one.last; i++) {
      const address = this.#addressPut(i);
      if (address >= 0 && this.#tables.has(address)) tables.set(i, address);
    }
    const found = new Map<number, LoadedPointer>();
    const flow = new AddressFlow(this.#code, one, new Set(tables.keys()));
    for (let i = one.first; i < one.last; i++) {
      if (this.#code.opcodes[i] !== OPCODE.movFrom) continue;
      const isRelative = this.#code.relativeAt[i] !== 0;
      // What stands at the end of the instruction may be the address of a table.
      const known = isRelative
        ? relativeAddress(this.#code, i)
        : int32At(bytes, offsets[i] + lengths[i] - ADDRESS_BYTES);
      if (!this.#functions.has(known) && (isRelative || tables.size === 0)) continue;
      decode(bytes, offsets[i], instruction);
      const { opcode, access, operandSize, base, index, displacement } = instruction;
      if (opcode !== OPCODE.movFrom || access === 0 || operandSize !== POINTER_BYTES) continue;
      const registers = isRelative ? [] : [base, index].filter((each) => each >= 0);
      let place = isRelative ? relativeAddress(this.#code, i) : displacement;
      if (tables.size > 0) {
        const source = registers.map((register) => flow.sourceOf(register, i)).find((at) => at >= 0);
        // Behind the step to the next pointer, the last one is in front.
        if (source !== undefined) place = tables.get(source)! + Math.max(displacement, 0);
      }
      if (this.#functions.has(place)) found.set(i, { place, isInTable: registers.length > 0 });
    }
    return found;
  }

  /** Functions that a loaded pointer may lead to. A table goes on to the next address that code has, and as long as pointers follow. */
  *functionsOf({ place, isInTable }: LoadedPointer): Iterable<number> {
    let end = place + POINTER_BYTES;
    if (isInTable) {
      while (this.#functions.has(end)) end += POINTER_BYTES;
      end = Math.max(end, this.#references.find((address) => address > place) ?? Number.POSITIVE_INFINITY);
    }
    for (const [at, f] of this.#functions) if (at >= place && at < end) yield f;
  }

  /** The address of data that an instruction puts into a register; −1: none. */
  #addressPut(i: number): number {
    const { opcodes, relativeAt, lengths, offsets, bytes } = this.#code;
    if (relativeAt[i] !== 0) return opcodes[i] === OPCODE.lea ? relativeAddress(this.#code, i) : -1;
    const isConstant = (opcodes[i] & OF_REGISTER) === OPCODE.movConstant && lengths[i] > ADDRESS_BYTES;
    return this.#areFixed && isConstant ? int32At(bytes, offsets[i] + lengths[i] - ADDRESS_BYTES) >>> 0 : -1;
  }

  #findReferences(): Float64Array {
    const { count, relativeAt } = this.#code;
    const found = new Set<number>();
    for (let i = 0; i < count; i++) {
      const address = relativeAt[i] === 0 ? this.#addressPut(i) : relativeAddress(this.#code, i);
      if (address >= 0) found.add(address);
    }
    return Float64Array.from(found).sort();
  }

  #findTables(): Set<number> {
    const places = Float64Array.from(this.#functions.keys()).sort();
    const tables = new Set<number>();
    let next = 0;
    for (const [i, address] of this.#references.entries()) {
      while (places[next] < address) next++;
      if (places[next] < (this.#references[i + 1] ?? Number.POSITIVE_INFINITY)) tables.add(address);
    }
    return tables;
  }
}
