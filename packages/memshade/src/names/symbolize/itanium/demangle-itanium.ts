import { NotMangled } from "./mangled-text.ts";
import { Output } from "./output.ts";
import { Parser } from "./parser.ts";

/** Longer names take a parser of this kind too much time. */
const LONGEST_NAME = 65_536;

/**
 * The source name of a mangled name of the Itanium C++ ABI (`_Z…`), written as LLVM writes it: with the result of
 * template instances, parameters, and `>>`. Undefined where the text is no such name.
 */
export function demangleItanium(name: string): string | undefined {
  if (name.length > LONGEST_NAME || !/^_{1,4}Z/.test(name)) return undefined;
  try {
    const output = new Output();
    new Parser(name).mangledName().print(output);
    return output.text;
  } catch (error) {
    if (error instanceof NotMangled || error instanceof RangeError) return undefined;
    throw error;
  }
}
