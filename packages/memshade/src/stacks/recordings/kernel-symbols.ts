import { partitionPoint } from "../../bytes/partition-point.ts";
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

/** `ffffffff81000000 T _text`, and for those of modules a tab and the module's name in brackets behind it. */
const LINE = /^([0-9a-f]{16}) [TtWw] ([^\t\n]+)(?:\t\[(.+)\])?$/gm;

/** An address of the kernel as its distance from the end of the address space, which a number holds exactly. */
export function kernelAddress(hexadecimal: string): number {
  const digits = hexadecimal.padStart(16, "0");
  return (Number.parseInt(digits.slice(0, 8), 16) - 2 ** 32) * 2 ** 32 + Number.parseInt(digits.slice(8), 16);
}

/** The functions of a kernel and its modules, from the text of its `kallsyms`. */
export class KernelSymbols {
  readonly #addresses: Float64Array;
  readonly #names: readonly string[];
  readonly #modules: readonly (string | undefined)[];
  readonly #shift: number;

  private constructor(
    symbols: readonly { address: number; name: string; module: string | undefined }[],
    shift: number,
  ) {
    this.#addresses = Float64Array.from(symbols, ({ address }) => address);
    this.#names = symbols.map(({ name }) => name);
    this.#modules = symbols.map(({ module }) => module);
    this.#shift = shift;
  }

  /**
   * @param text what was in `kallsyms`, of this start of the system or another one
   * @param reference where one of the symbols was while the recording was made
   * @returns undefined if the text has no addresses, which are kept from unprivileged users
   */
  static parse(text: string, reference: KernelText | undefined): KernelSymbols | undefined {
    const symbols: { address: number; name: string; module: string | undefined }[] = [];
    let shift = 0;
    for (const [, hexadecimal, name, module] of text.matchAll(LINE)) {
      const address = kernelAddress(hexadecimal!);
      if (address < -(2 ** 63)) continue;
      if (module === undefined && name === reference?.symbol) shift = reference.address - address;
      symbols.push({ address, name: name!, module });
    }
    // Of several names of one address the last one stays last, which is the one that perf shows.
    symbols.sort((first, second) => first.address - second.address);
    return symbols.length === 0 ? undefined : new KernelSymbols(symbols, shift);
  }

  /** The function at an address that a recording has, in hexadecimal. */
  at(hexadecimal: string): KernelFunction | undefined {
    const address = kernelAddress(hexadecimal) - this.#shift;
    const addresses = this.#addresses;
    const row = partitionPoint(0, addresses.length, (index) => addresses[index]! <= address) - 1;
    if (row < 0) return undefined;
    return { name: this.#names[row]!, offset: address - this.#addresses[row]!, module: this.#modules[row] };
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
