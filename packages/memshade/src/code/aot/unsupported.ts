import { FormatError } from "../../ground/bytes/errors.ts";

/** Something in a module that no machine code is made of. `offset`: of the instruction in the module, in bytes. */
export class UnsupportedCode extends FormatError {
  readonly functionIndex: number;
  /** As in the text format. */
  readonly instruction: string;

  constructor(functionIndex: number, offset: number, instruction: string, reason?: string) {
    const why = reason ?? "no machine code is made of it";
    super("unsupported", offset, "instruction", `${instruction} in function ${functionIndex}: ${why}`);
    this.name = "UnsupportedCode";
    this.functionIndex = functionIndex;
    this.instruction = instruction;
  }
}
