import { partitionPoint } from "../../../ground/bytes/columns.ts";

const NEWLINE = 10;
const SPACE = 32;
/** Letters `T`, `t`, `W` and `w`. */
const FUNCTION_TYPES = [0x54, 0x74, 0x57, 0x77];
const ADDRESS_DIGITS = 16;
const TYPE_AT = ADDRESS_DIGITS + 1;
const NAME_AT = TYPE_AT + 2;

/**
 * Functions in the text of `kallsyms`. A line is `ffffffff81000000 T _text`; for functions of modules a tab and the
 * module's name in brackets follow. Names are read on demand, since a recording uses only some of 100,000
 * functions.
 */
export class Kallsyms {
  /**
   * Distances from the end of the address space, ascending; functions with one address keep the order of the text.
   */
  readonly addresses: Float64Array;
  readonly #text: Uint8Array;
  readonly #names: Uint32Array;

  constructor(text: Uint8Array) {
    const addresses: number[] = [];
    const names: number[] = [];
    let isSorted = true;
    let last = Number.NEGATIVE_INFINITY;
    for (let start = 0; start < text.length; start = lineEnd(text, start) + 1) {
      const address = functionAddress(text, start);
      if (address === undefined) continue;
      if (address < last) isSorted = false;
      last = address;
      addresses.push(address);
      names.push(start + NAME_AT);
    }
    const order = isSorted
      ? addresses.keys()
      : Uint32Array.from(addresses.keys()).sort((first, second) => addresses[first]! - addresses[second]!);
    const rows = Uint32Array.from(order);
    this.#text = text;
    this.addresses = Float64Array.from(rows, (row) => addresses[row]!);
    this.#names = Uint32Array.from(rows, (row) => names[row]!);
  }

  /** Returns the name of a function, and its module; the module is undefined for the kernel itself. */
  name(row: number): { name: string; module: string | undefined } {
    const start = this.#names[row]!;
    const [name = "", module] = latin1
      .decode(this.#text.subarray(start, lineEnd(this.#text, start)))
      .split("\t");
    return { name, module: module?.slice(1, -1) };
  }

  addressOf(name: string): number | undefined {
    const line = Uint8Array.from(`${name}\n`, (character) => character.charCodeAt(0));
    const row = this.#names.findLastIndex((start) =>
      line.every((byte, index) => (this.#text[start + index] ?? NEWLINE) === byte),
    );
    return row < 0 ? undefined : this.addresses[row];
  }
}

const latin1 = new TextDecoder("latin1");

function lineEnd(text: Uint8Array, from: number): number {
  const end = text.indexOf(NEWLINE, from);
  return end < 0 ? text.length : end;
}

/** Address of the function in a line, if it is in the kernel's half of the address space. */
function functionAddress(text: Uint8Array, start: number): number | undefined {
  if (!FUNCTION_TYPES.includes(text[start + TYPE_AT]!)) return undefined;
  if (text[start + ADDRESS_DIGITS] !== SPACE || text[start + NAME_AT - 1] !== SPACE) return undefined;
  const high = wordAt(text, start);
  // The result is exact, since the two halves are added last.
  const address = (high - 2 ** 32) * 2 ** 32 + wordAt(text, start + ADDRESS_DIGITS / 2);
  return high >= 2 ** 31 && !Number.isNaN(address) ? address : undefined;
}

/** Reads a number of eight hexadecimal digits; NaN for other characters. */
function wordAt(text: Uint8Array, at: number): number {
  let word = 0;
  for (let index = at; index < at + 8; index++) word = 16 * word + digitOf(text[index]!);
  return word;
}

function digitOf(character: number): number {
  if (character >= 0x30 && character <= 0x39) return character - 0x30;
  return character >= 0x61 && character <= 0x66 ? character - 0x57 : Number.NaN;
}

/** Address of a kernel symbol during the recording. The address changes with every start of the system. */
export interface KernelText {
  readonly symbol: string;
  /** Distance from the end of the address space: negative. */
  readonly address: number;
}

interface KernelFunction {
  readonly name: string;
  readonly offset: number;
  readonly module: string | undefined;
}

/**
 * Converts an address of the kernel to its distance from the end of the address space, which a number holds
 * exactly.
 */
function kernelAddress(hexadecimal: string): number {
  const digits = hexadecimal.padStart(16, "0");
  return (Number.parseInt(digits.slice(0, 8), 16) - 2 ** 32) * 2 ** 32 + Number.parseInt(digits.slice(8), 16);
}

export class KernelSymbols {
  readonly #functions: Kallsyms;
  readonly #shift: number;

  private constructor(functions: Kallsyms, shift: number) {
    this.#functions = functions;
    this.#shift = shift;
  }

  /**
   * @param text content of `kallsyms`, of this or another start of the system
   * @param reference address of one symbol during the recording
   * @returns undefined if the text has no addresses, as for unprivileged users
   */
  static parse(text: Uint8Array, reference: KernelText | undefined): KernelSymbols | undefined {
    const functions = new Kallsyms(text);
    if (functions.addresses.length === 0) return undefined;
    const addressInText = reference && functions.addressOf(reference.symbol);
    return new KernelSymbols(functions, addressInText === undefined ? 0 : reference!.address - addressInText);
  }

  at(hexadecimal: string): KernelFunction | undefined {
    const address = kernelAddress(hexadecimal) - this.#shift;
    const { addresses } = this.#functions;
    // If several names have one address, the last one counts, which perf shows too.
    const row = partitionPoint(0, addresses.length, (index) => addresses[index]! <= address) - 1;
    return row < 0 ? undefined : { ...this.#functions.name(row), offset: address - addresses[row]! };
  }
}

/** Names functions of the kernel; its symbols are loaded on first use. */
export class KernelNamer {
  readonly #load: (reference: KernelText | undefined) => KernelSymbols | undefined;
  readonly #cache = new Map<string, KernelFunction | undefined>();
  #symbols: KernelSymbols | null | undefined;

  constructor(load: (reference: KernelText | undefined) => KernelSymbols | undefined) {
    this.#load = load;
  }

  name(address: string, reference: KernelText | undefined): KernelFunction | undefined {
    if (this.#symbols === undefined) this.#symbols = this.#load(reference) ?? null;
    if (this.#symbols === null) return undefined;
    if (!this.#cache.has(address)) this.#cache.set(address, this.#symbols.at(address));
    return this.#cache.get(address);
  }
}
