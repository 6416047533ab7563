export { type AssembledCode, Assembler, type Relocation } from "./assembler.ts";
export type { OperandSize } from "./encode.ts";
export { CONDITIONS, type Condition } from "./forms.ts";
export { isPlace, isRegister, type Label, type Operand, type Place, place, relative } from "./operands.ts";
export * from "./registers.ts";
