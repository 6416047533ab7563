import { readPlainArguments } from "../plain-arguments.ts";
import { SYMBOLIZE_OPTIONS, type SymbolizeOptions } from "./options.ts";

export interface SymbolizeArguments {
  readonly addresses: string[];
  readonly options: SymbolizeOptions;
}

/** Reads arguments that need no commander; undefined for others. */
export function readSymbolizeArguments(args: readonly string[]): SymbolizeArguments | undefined {
  const plain = readPlainArguments(SYMBOLIZE_OPTIONS, args);
  return plain && { addresses: plain.operands, options: plain.options as unknown as SymbolizeOptions };
}
