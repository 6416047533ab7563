export { type AssembledCode, Assembler } from "./assembler.ts";
export type { OperandSize } from "./encode.ts";
export { CONDITIONS, type Condition, invert } from "./forms.ts";
export { type Label, type Place, place, relative } from "./operands.ts";
export * from "./registers.ts";
