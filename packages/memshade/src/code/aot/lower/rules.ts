import { functionType } from "../../wasm/lookups.ts";
import { V128 } from "../../wasm/types.ts";
import { type FunctionCode, NONE } from "../code.ts";
import { CALLER_SAVED, STACK_ARGUMENTS_FROM } from "../convention.ts";
import type { ModuleContext } from "../module-context.ts";
import { BodyLowering, type Rule } from "./body.ts";
import { CONTROL_RULES } from "./control.ts";
import { INTEGER_RULES } from "./integers.ts";
import { MEMORY_RULES } from "./memory.ts";
import { NATIVE_MODULE, nativeCall } from "./native.ts";
import { VARIABLE_RULES } from "./variables.ts";
import { VECTOR_RULES } from "./vectors.ts";

export const CALL_RULES: Readonly<Record<string, Rule>> = {
  call: (body) => {
    const { module, stack, builder } = body;
    const callee = body.reader.u32Leb();
    const type = functionType(module.wasm, callee);
    for (const one of [...type.params, ...type.results]) body.checkType(one);
    if (callee < module.wasm.importedFunctionCount) {
      const entry = module.importedFunctions[callee];
      if (entry.module !== NATIVE_MODULE)
        throw body.unsupported(`${entry.module}.${entry.field} is imported`);
      body.instruction = `call of native.${entry.field}`;
      nativeCall(body, entry.field, type);
      return;
    }
    if (type.results.length > 1) throw body.unsupported("several results");
    const from = stack.popArguments(type.params.length);
    module.wanted.add(callee);
    const [vectors, general] = [true, false].map(
      (is) => type.params.filter((one) => (one === V128) === is).length,
    );
    if (vectors > VECTOR_ARGUMENTS) throw body.unsupported("it has too many vectors");
    const how = {
      label: callee,
      kills: CALLER_SAVED,
      killsVectors: true,
      effect: true,
      number: Math.max(0, general - STACK_ARGUMENTS_FROM),
    };
    if (type.results.length === 0) builder.add("call", NONE, from, how);
    else stack.push(builder.make("call", from, how, type.results[0] === V128));
  },
};

const VECTOR_ARGUMENTS = 8;

const RULES: Readonly<Record<string, Rule>> = {
  ...CONTROL_RULES,
  ...VARIABLE_RULES,
  ...INTEGER_RULES,
  ...MEMORY_RULES,
  ...CALL_RULES,
  ...VECTOR_RULES,
};

/** Lowers the body of a function, which is not imported. */
export function lowerFunction(module: ModuleContext, index: number): FunctionCode {
  return new BodyLowering(module, index).run(RULES);
}
