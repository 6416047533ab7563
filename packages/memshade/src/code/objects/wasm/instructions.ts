import { partitionPoint } from "../../../ground/bytes/columns.ts";
import { FormatError } from "../../../ground/bytes/errors.ts";
import { decodeModule, functionName, printInstruction, readNames } from "../../wasm/index.ts";

/** Instruction; `address` counts from the start of the code section, as addresses of symbols do. */
export interface CodeInstruction {
  readonly address: number;
  readonly text: string;
}

/**
 * Reads the instructions of a module's functions.
 *
 * @param nameOf makes the linker's name readable
 * @returns a function that returns the instructions of the function around an address, in order; empty if no
 * function is there or the function is damaged
 * @throws FormatError if the bytes are no module
 */
export function instructionReader(
  bytes: Uint8Array,
  nameOf: (name: string) => string,
): (address: number) => readonly CodeInstruction[] {
  const module = decodeModule(bytes);
  const { bodies, codePayloadStart } = module;
  const names = readNames(module);
  const nameOfFunction = (index: number) => {
    const name = functionName(module, names, index);
    return name === undefined ? `func[${index}]` : nameOf(name);
  };
  return (address) => {
    const at = address + codePayloadStart;
    const body = bodies[partitionPoint(0, bodies.length, (index) => bodies[index]!.end <= at)];
    if (body === undefined || at < body.sizeStart) return [];
    const instructions: CodeInstruction[] = [];
    try {
      for (let position = body.codeStart; position < body.end; ) {
        const { text, end } = printInstruction(bytes, position, nameOfFunction);
        instructions.push({ address: position - codePayloadStart, text });
        position = end;
      }
    } catch (error) {
      if (!(error instanceof FormatError)) throw error;
      return [];
    }
    return instructions;
  };
}
