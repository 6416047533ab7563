import { functionType } from "../../wasm/lookups.ts";
import { V128 } from "../../wasm/types.ts";
import { NONE, type Source } from "../code.ts";
import { CALLER_SAVED, STACK_ARGUMENTS_FROM } from "../convention.ts";
import type { BodyLowering, Rule } from "./body.ts";
import { NATIVE_MODULE, nativeCall } from "./native.ts";

export const CALL_RULES: Readonly<Record<string, Rule>> = {
  call: (body) => {
    const { module, stack, builder } = body;
    const callee = body.reader.u32Leb();
    const type = functionType(module.wasm, callee);
    for (const one of [...type.params, ...type.results]) body.checkType(one);
    if (callee < module.wasm.importedFunctionCount) {
      const entry = module.importedFunctions[callee];
      if (entry.module !== NATIVE_MODULE) throw body.unsupported(`${entry.module}.${entry.field} is imported`);
      body.instruction = `call of native.${entry.field}`;
      nativeCall(body, entry.field, type);
      return;
    }
    if (type.results.length > 1) throw body.unsupported("several results");
    const from = popArguments(body, type.params.length);
    module.wanted.add(callee);
    const [vectors, general] = [true, false].map((is) => type.params.filter((one) => (one === V128) === is).length);
    if (vectors > VECTOR_ARGUMENTS) throw body.unsupported("it has too many vectors");
    const how = {
      ...{ label: callee, kills: CALLER_SAVED, killsVectors: true, effect: true },
      number: Math.max(0, general - STACK_ARGUMENTS_FROM),
    };
    if (type.results.length === 0) builder.add("call", NONE, from, how);
    else stack.push(builder.make("call", from, how, type.results[0] === V128));
  },
};

const VECTOR_ARGUMENTS = 8;

/** Operands of a call, the first one first. */
export function popArguments({ stack }: BodyLowering, count: number): Source[] {
  return Array.from({ length: count }, () => stack.popPlain()).reverse();
}
