export { decode, hasTarget } from "./decode.ts";
export { INSTRUCTION_POINTER, Instruction, NO_REGISTER, SEGMENT } from "./instruction.ts";
export { ADDRESS_ONLY, ALL_REGISTERS, CARRY, FLAGS, OTHER_FLAGS, READ, WRITE } from "./row-table.ts";
export { FLOW, IMPLICIT } from "./rows.ts";
