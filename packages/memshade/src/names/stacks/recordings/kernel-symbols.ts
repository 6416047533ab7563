import { partitionPoint } from "../../../ground/bytes/partition-point.ts";
import { Kallsyms } from "./kallsyms.ts";

/** Where the kernel says that a symbol of it was while a recording was made: it moves with every start of the system. */
export interface KernelText {
  readonly symbol: string;
  /** Distance from the end of the address space: negative. */
  readonly address: number;
}

export interface KernelFunction {
  readonly name: string;
  /** Bytes from the start of the function. */
  readonly offset: number;
  /** The module that it belongs to; undefined for the kernel itself. */
  readonly module: string | undefined;
}

/** An address of the kernel as its distance from the end of the address space, which a number holds exactly. */
export function kernelAddress(hexadecimal: string): number {
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
