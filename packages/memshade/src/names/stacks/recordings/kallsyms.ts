import { partitionPoint } from "../../../ground/bytes/partition-point.ts";

const NEWLINE = 10;
const SPACE = 32;
/** `T`, `t`, `W` and `w`. */
const FUNCTION_TYPES = [0x54, 0x74, 0x57, 0x77];
const ADDRESS_DIGITS = 16;
const TYPE_AT = ADDRESS_DIGITS + 1;
const NAME_AT = TYPE_AT + 2;

/**
 * The functions in the text of `kallsyms`, whose lines are `ffffffff81000000 T _text`, and for those of modules a tab and
 * the module's name in brackets behind it. Names are read when they are asked for: of 100,000 functions a recording has some.
 */
export class Kallsyms {
  /** As distances from the end of the address space, ascending; those of one address are in the order of the text. */
  readonly addresses: Float64Array;
  readonly #text: Uint8Array;
  /** Per function, where its name is in the text. */
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

  /** What a function is called, and the module that it belongs to; undefined for the kernel itself. */
  name(row: number): { name: string; module: string | undefined } {
    const start = this.#names[row]!;
    const [name = "", module] = latin1
      .decode(this.#text.subarray(start, lineEnd(this.#text, start)))
      .split("\t");
    return { name, module: module?.slice(1, -1) };
  }

  /** The address of a function of the kernel itself. */
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

/** The address of the function that a line names, if it names one of the kernel's half of the address space. */
function functionAddress(text: Uint8Array, start: number): number | undefined {
  if (!FUNCTION_TYPES.includes(text[start + TYPE_AT]!)) return undefined;
  if (text[start + ADDRESS_DIGITS] !== SPACE || text[start + NAME_AT - 1] !== SPACE) return undefined;
  const high = wordAt(text, start);
  // Exact: the two halves are added last.
  const address = (high - 2 ** 32) * 2 ** 32 + wordAt(text, start + ADDRESS_DIGITS / 2);
  return high >= 2 ** 31 && !Number.isNaN(address) ? address : undefined;
}

/** A number of eight hexadecimal digits; NaN where there are others. */
function wordAt(text: Uint8Array, at: number): number {
  let word = 0;
  for (let index = at; index < at + 8; index++) word = 16 * word + digitOf(text[index]!);
  return word;
}

function digitOf(character: number): number {
  if (character >= 0x30 && character <= 0x39) return character - 0x30;
  return character >= 0x61 && character <= 0x66 ? character - 0x57 : Number.NaN;
}

/** Where the kernel says that a symbol of it was while a recording was made: it moves with every start of the system. */
export interface KernelText {
  readonly symbol: string;
  /** Distance from the end of the address space: negative. */
  readonly address: number;
}

interface KernelFunction {
  readonly name: string;
  /** Bytes from the start of the function. */
  readonly offset: number;
  /** The module that it belongs to; undefined for the kernel itself. */
  readonly module: string | undefined;
}

/** An address of the kernel as its distance from the end of the address space, which a number holds exactly. */
function kernelAddress(hexadecimal: string): number {
  const digits = hexadecimal.padStart(16, "0");
  return (Number.parseInt(digits.slice(0, 8), 16) - 2 ** 32) * 2 ** 32 + Number.parseInt(digits.slice(8), 16);
}

/** The functions of a kernel and its modules. */
export class KernelSymbols {
  readonly #functions: Kallsyms;
  readonly #shift: number;

  private constructor(functions: Kallsyms, shift: number) {
    this.#functions = functions;
    this.#shift = shift;
  }

  /**
   * @param text what was in `kallsyms`, of this start of the system or another one
   * @param reference where one of the symbols was while the recording was made
   * @returns undefined if the text has no addresses, which are kept from unprivileged users
   */
  static parse(text: Uint8Array, reference: KernelText | undefined): KernelSymbols | undefined {
    const functions = new Kallsyms(text);
    if (functions.addresses.length === 0) return undefined;
    const known = reference && functions.addressOf(reference.symbol);
    return new KernelSymbols(functions, known === undefined ? 0 : reference!.address - known);
  }

  /** The function at an address that a recording has, in hexadecimal. */
  at(hexadecimal: string): KernelFunction | undefined {
    const address = kernelAddress(hexadecimal) - this.#shift;
    const { addresses } = this.#functions;
    // Of several names of one address the last one counts, which is the one that perf shows.
    const row = partitionPoint(0, addresses.length, (index) => addresses[index]! <= address) - 1;
    return row < 0 ? undefined : { ...this.#functions.name(row), offset: address - addresses[row]! };
  }
}

/** Names functions of the kernel; its symbols are loaded when the first one is asked for. */
export class KernelNamer {
  readonly #load: (reference: KernelText | undefined) => KernelSymbols | undefined;
  readonly #known = new Map<string, KernelFunction | undefined>();
  #symbols: KernelSymbols | null | undefined;

  constructor(load: (reference: KernelText | undefined) => KernelSymbols | undefined) {
    this.#load = load;
  }

  name(address: string, reference: KernelText | undefined): KernelFunction | undefined {
    if (this.#symbols === undefined) this.#symbols = this.#load(reference) ?? null;
    if (this.#symbols === null) return undefined;
    if (!this.#known.has(address)) this.#known.set(address, this.#symbols.at(address));
    return this.#known.get(address);
  }
}
