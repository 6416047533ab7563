import { FormatError } from "../../ground/bytes/errors.ts";

/** Thrown for code that cannot be compiled. `offset`: bytes from the start of the module to the instruction. */
export class UnsupportedCode extends FormatError {
  readonly functionIndex: number;
  /** Name in the text format. */
  readonly instruction: string;

  constructor(functionIndex: number, offset: number, instruction: string, reason?: string) {
    const why = reason ?? "no machine code is made of it";
    super("unsupported", offset, "instruction", `${instruction} in function ${functionIndex}: ${why}`);
    this.name = "UnsupportedCode";
    this.functionIndex = functionIndex;
    this.instruction = instruction;
  }
}
