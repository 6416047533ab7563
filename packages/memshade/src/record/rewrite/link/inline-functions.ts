import {
  decodeLocals,
  decodeModule,
  type FuncType,
  funcTypeAt,
  functionTypeIndex,
  importsOf,
  type ValType,
} from "../../../code/wasm/index.ts";
import * as Op from "../../../code/wasm/op.generated.ts";
import { ByteWriter } from "../../../ground/bytes/writer.ts";
import { BodyBuilder } from "../write/body-builder.ts";
import { type CodeSurroundings, type RuntimePlaces, writeCode } from "./relocate-code.ts";

const EMPTY_BLOCK = 0x40;

/**
 * The code of an exported function of the common path to stand where a call of it would: its parameters and locals become the
 * caller's, from `firstLocal` on, zero at first; the arguments are on the stack. For functions without results. Where the
 * function calls `otherwise`, the code leaves the innermost block around it.
 */
export type InlineFunction = (name: string, firstLocal: number) => { locals: ValType[]; code: Uint8Array };

/** The functions of a module whose imports are constants, and `otherwise`. */
export function inlineFunctions(
  bytes: Uint8Array,
  around: CodeSurroundings & { constants: Record<string, number | Uint8Array> },
): InlineFunction {
  const module = decodeModule(bytes);
  const constants = importsOf(module, "global").map(({ field }) => around.constants[field]);
  const imported = module.importedFunctionCount;
  // The only function that it imports is `otherwise`.
  const places: RuntimePlaces = {
    indices: [],
    intrinsics: [],
    constants,
    constantGlobal: () => -1,
    use: () => {},
  };
  return (name, firstLocal) => {
    const { index } = module.exports.find((entry) => entry.name === name) as { index: number };
    const body = index - imported;
    const { params } = funcTypeAt(module, functionTypeIndex(module, index));
    const locals = [...params];
    for (const { count, type } of decodeLocals(module, module.bodies[body]))
      for (let i = 0; i < count; i++) locals.push(type);
    const writer = new ByteWriter(1024);
    for (let i = params.length - 1; i >= 0; i--) writer.u8(Op.LOCAL_SET).u32Leb(firstLocal + i);
    writer.u8(Op.BLOCK).u8(EMPTY_BLOCK);
    writeCode(writer, module, body, places, around, firstLocal);
    return { locals, code: writer.finish() };
  };
}

/** Body of a function that does what a hook writes out, and what else there is to do through function `otherwise`. */
export function hookFunction(
  name: string,
  { params }: FuncType,
  otherwise: number,
  inlined: InlineFunction | undefined,
): Uint8Array {
  const common = inlined?.(name, params.length);
  const body = new BodyBuilder(common?.locals);
  if (common !== undefined) {
    body.open("block");
    for (let i = 0; i < params.length - 1; i++) body.op("local.get", i);
    body.instructions(common.code).op("return").end();
  }
  for (let i = 0; i < params.length; i++) body.op("local.get", i);
  return body.op("return_call", otherwise).finish();
}
