import { type FuncType, I64, V128 } from "../../wasm/types.ts";
import { type Address, isConstant, NONE, type Source } from "../code.ts";
import { CALLER_SAVED, maskOf, SYSTEM_ARGUMENTS, SYSTEM_KILLS } from "../convention.ts";
import type { BodyLowering, Entry } from "./body.ts";
import { store } from "./memory.ts";

/** The import module whose functions are instructions. */
export const NATIVE_MODULE = "native";

/** What a function knows about the frame it was called with, and addresses in the image. */
const FRAME_WORDS = ["returnAddress", "stackPointer", "framePointer"];
const IMAGE_ADDRESSES: Readonly<Record<string, string>> = {
  text: "text",
  scratch: "scratch",
  memorySlot: "memory",
};

/** Appends what an imported function of the module `native` stands for. */
export function nativeCall(body: BodyLowering, name: string, type: FuncType): void {
  if (name === "load128" || name === "store128") {
    accessVector(body, name, type);
    return;
  }
  if (type.results.length > 1 || [...type.params, ...type.results].includes(V128))
    throw body.unsupported("such a type is not possible here");
  const access = /^(load|store)(8|16|32|64)$/.exec(name);
  const { stack, builder } = body;
  if (access !== null) accessProcess(body, access[1], Number(access[2]) / 8, type);
  else if (/^syscall[0-6]$/.test(name)) systemCall(body, type);
  else if (name === "tlsLoad" || name === "tlsStore") accessThread(body, name, type);
  else if (name === "jump") {
    expectShape(body, type, 2, 0);
    if (!builder.code.exported) throw body.unsupported("only exported functions can be left so");
    builder.add("jump out", NONE, stack.popArguments(2));
  } else if (FRAME_WORDS.includes(name)) {
    if (!builder.code.exported) throw body.unsupported("only exported functions have such a frame");
    stack.push(builder.make("frame", [], { name, wide: true }));
  } else if (IMAGE_ADDRESSES[name] !== undefined)
    stack.push(builder.make("image address", [], { name: IMAGE_ADDRESSES[name], wide: true }));
  else {
    const from = stack.popArguments(type.params.length);
    if (from.length > 6) throw body.unsupported("a C function with more than six arguments");
    result(body, "call C", from, type, { name, kills: CALLER_SAVED, killsVectors: true });
  }
}

function accessProcess(body: BodyLowering, kind: string, bytes: number, type: FuncType): void {
  const { stack, builder, options } = body;
  expectShape(body, type, kind === "load" ? 1 : 2, kind === "load" ? 1 : 0);
  if (kind === "load") {
    const effect = options.keepTraps === true;
    const wide = type.results[0] === I64;
    stack.push(builder.make("load", [processPlace(body, stack.pop())], { bytes, wide, effect }));
    return;
  }
  const value = stack.popPlain();
  store(builder, processPlace(body, stack.pop()), value, bytes, stack.locals);
}

function accessVector(body: BodyLowering, name: string, type: FuncType): void {
  const { stack, builder, options } = body;
  if (name === "load128") {
    expectShape(body, type, 1, 1);
    const effect = options.keepTraps === true;
    stack.push(builder.make("vector load", [processPlace(body, stack.pop())], { bytes: 16, effect }, true));
    return;
  }
  expectShape(body, type, 2, 0);
  const value = stack.popValue();
  builder.add("vector store", NONE, [processPlace(body, stack.pop()), value], { bytes: 16 });
}

/** The place in the process that an entry is the address of. Its 64 bits wrap as those of the machine do. */
function processPlace({ stack }: BodyLowering, entry: Entry): Address {
  if (typeof entry === "object" && entry.kind === "sum" && entry.wide) return entry.address;
  return { kind: "address", base: stack.value(entry), index: NONE, scale: 1, displacement: 0, linear: false };
}

function systemCall(body: BodyLowering, type: FuncType): void {
  const [number, ...from] = body.stack.popArguments(type.params.length);
  // The registers of the arguments are filled before it is given.
  if (number === undefined || !isConstant(number))
    throw body.unsupported("the number of a system call is a constant");
  const kills = SYSTEM_KILLS | maskOf(SYSTEM_ARGUMENTS.slice(0, from.length));
  result(body, "system call", from, type, { number: Number(number.value), kills });
}

function accessThread(body: BodyLowering, name: string, type: FuncType): void {
  const { stack, builder } = body;
  if (name === "tlsLoad") {
    expectShape(body, type, 1, 1);
    const wide = type.results[0] === I64;
    stack.push(builder.make("thread load", [stack.popPlain()], { wide }));
    return;
  }
  expectShape(body, type, 2, 0);
  const value = stack.popPlain();
  builder.add("thread store", NONE, [stack.popPlain(), value], { wide: type.params[1] === I64 });
}

function result(
  body: BodyLowering,
  op: "call C" | "system call",
  from: readonly Source[],
  type: FuncType,
  how: { name?: string; number?: number; kills: number; killsVectors?: boolean },
): void {
  const more = { ...how, effect: true };
  if (type.results.length === 0) body.builder.add(op, NONE, from, more);
  else body.stack.push(body.builder.make(op, from, { ...more, wide: type.results[0] === I64 }));
}

function expectShape(body: BodyLowering, type: FuncType, params: number, results: number): void {
  if (type.params.length === params && type.results.length === results) return;
  throw body.unsupported(`it takes ${params} and returns ${results}`);
}
