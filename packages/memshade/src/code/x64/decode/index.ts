export { decode, hasTarget, INSTRUCTION_POINTER, Instruction, NO_REGISTER, SEGMENT } from "./decode.ts";
export { ADDRESS_ONLY, ALL_REGISTERS, CARRY, FLAGS, OTHER_FLAGS, READ, WRITE } from "./general-rows.ts";
export { FLOW, IMPLICIT } from "./rows.ts";
