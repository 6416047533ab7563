import * as Op from "../../../code/wasm/op.generated.ts";
import { CONSTANT, NO_LOCAL, type OperandStack, ValueClass, type ValueNumbers } from "./value-numbers.ts";

/**
 * Takes the operands of an addition, subtraction, product, shift or conjunction off the stack and pushes what is known of its
 * result: base and offset, a sum or product to follow, a stack address. `pos` is the offset behind the instruction `op`.
 */
export function followArithmetic(op: number, pos: number, stack: OperandStack, values: ValueNumbers): void {
  const right = stack.depth - 1;
  const left = right - 1;
  stack.depth = left;
  const rightIsConstant = stack.value[right] === CONSTANT;
  if (op === Op.I32_AND) {
    // Aligning the stack pointer keeps it a stack address.
    const aligned = rightIsConstant && values.classes[stack.value[left]] === ValueClass.Stack;
    stack.push(aligned ? values.fresh(ValueClass.Stack, NO_LOCAL) : 0, 0, pos, NO_LOCAL, 0);
    return;
  }
  if (op === Op.I32_SHL || op === Op.I32_MUL) {
    const constant = stack.offset[right];
    const factor = op === Op.I32_MUL ? constant : 1 << constant;
    if (rightIsConstant) {
      if (stack.value[left] === 0) stack.value[left] = values.fresh(ValueClass.Unknown, NO_LOCAL);
      stack.push(values.product(stack, left, factor), 0, pos, NO_LOCAL, 0);
    } else stack.push(0, 0, pos, NO_LOCAL, 0);
    return;
  }
  const subtracts = op === Op.I32_SUB || op === Op.I64_SUB;
  if (rightIsConstant) {
    const base = stack.value[left] || values.fresh(ValueClass.Unknown, NO_LOCAL);
    const constant = subtracts ? -stack.offset[right] : stack.offset[right];
    stack.push(base, (stack.offset[left] + constant) | 0, pos, NO_LOCAL, 0);
  } else if (!subtracts && stack.value[left] === CONSTANT) {
    const base = stack.value[right] || values.fresh(ValueClass.Unknown, NO_LOCAL);
    stack.push(base, (stack.offset[right] + stack.offset[left]) | 0, pos, NO_LOCAL, 0);
  } else if (op === Op.I32_ADD && stack.value[left] !== 0 && stack.value[right] !== 0) {
    stack.push(values.sum(stack, left), 0, pos, NO_LOCAL, 0);
  } else stack.push(0, 0, pos, NO_LOCAL, 0);
}
