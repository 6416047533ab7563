import { readS64Leb, skipLeb64 } from "../../../ground/bytes/leb128.ts";
import { V128 } from "../../wasm/types.ts";
import { constant, NONE } from "../code.ts";
import type { BodyLowering, Rule } from "./body.ts";

export const VARIABLE_RULES: Readonly<Record<string, Rule>> = {
  "local.get": ({ reader, stack }) => stack.push(reader.u32Leb()),
  "local.set": (body) => setLocal(body, body.reader.u32Leb()),
  "local.tee": (body) => {
    const local = body.reader.u32Leb();
    setLocal(body, local);
    body.stack.push(local);
  },
  "global.get": (body) => {
    const { stack, builder, module } = body;
    const global = module.global(body.reader.u32Leb());
    if (global === undefined) throw body.unsupported("the global has no value");
    if (global.kind === "constant") stack.push(constant(global.value));
    else if (global.type === V128)
      stack.push(builder.make("vector load", [global.place], { bytes: 16 }, true));
    else {
      const bytes = module.globalBytes(global);
      stack.push(builder.make("load", [global.place], { bytes, wide: bytes === 8 }));
    }
  },
  "global.set": (body) => {
    const { stack, builder, module } = body;
    const global = module.global(body.reader.u32Leb());
    if (global?.kind !== "variable") throw body.unsupported("the global has no place");
    const vector = global.type === V128;
    const value = stack.popPlain();
    const bytes = module.globalBytes(global);
    builder.add(vector ? "vector store" : "store", NONE, [global.place, value], { bytes });
  },
  "i32.const": ({ reader, stack }) => stack.push(constant(reader.s32Leb() >>> 0)),
  "i64.const": ({ reader, stack }) => {
    stack.push(constant(readS64Leb(reader.bytes, reader.position)));
    reader.position = skipLeb64(reader.bytes, reader.position);
  },
  drop: ({ stack }) => {
    stack.pop();
  },
  select: (body, { name }) => {
    const { stack, builder, reader } = body;
    if (name === "typed") for (let count = reader.u32Leb(); count > 0; count--) body.checkType(reader.u8());
    const condition = stack.pop();
    const otherwise = stack.popPlain();
    const chosen = stack.popPlain();
    if (typeof chosen === "number" && builder.code.vector[chosen]) {
      const past = builder.newLabel();
      const to = builder.make("move", [chosen], {}, true);
      const { from, ...how } = stack.condition(condition);
      builder.add("branch", NONE, from, { ...how, label: past });
      builder.add("move", to, [otherwise]);
      builder.add("label", NONE, [], { label: past });
      stack.push(to);
      return;
    }
    const { from, ...how } = stack.condition(condition);
    stack.push(builder.make("select", [...from, chosen, otherwise], how));
  },
};

function setLocal({ stack, builder }: BodyLowering, local: number): void {
  const entry = stack.pop();
  const computed = stack.isResult(entry) ? builder.takeLast() : undefined;
  stack.keep(local);
  if (computed === undefined) stack.into(local, entry);
  else builder.code.instructions.push({ ...computed, to: local });
}
