// Runs a module in the engine and as machine code with the same calls, and reports the differences.

import { compile } from "../../../src/code/aot/compile.ts";
import type { CompileOptions } from "../../../src/code/aot/module-context.ts";
import { I32 } from "../../../src/code/wasm/types.ts";
import { Choices } from "../../support/random-module.ts";
import { type Command, runNative } from "./native-host.ts";
import { randomCode, randomNumber } from "./random-code.ts";

export const CALLS_OF_EACH = 6;
const PAGE_BYTES = 0x1_0000;

export function compareSeed(
  seed: number,
  options: CompileOptions = {},
): { calls: number; differences: string[] } {
  const { bytes, exports } = randomCode(seed);
  if (exports.length === 0) return { calls: 0, differences: [] };
  const instance = new WebAssembly.Instance(new WebAssembly.Module(bytes as BufferSource));
  const native = compile(bytes, { keepTraps: true, ...options });
  const choices = new Choices(seed ^ 0x1234567);
  const expected: string[] = [];
  const names: string[] = [];
  const commands: Command[] = [];
  for (const { name, params, result } of exports)
    for (let i = 0; i < CALLS_OF_EACH; i++) {
      const args = params.map(() => randomNumber(choices));
      names.push(`${name}(${args})`);
      expected.push(callInEngine(instance.exports[name] as Call, params, args, result));
      // The upper half of an i32 register is undefined.
      commands.push({ kind: "call", entry: native.entries.get(name) as number, args });
    }
  commands.push({ kind: "read", address: 0, length: PAGE_BYTES });
  const replies = runNative(native, 1, commands);
  const differences = expected.flatMap((wanted, i) => {
    const reply = replies[i];
    const { result } = exports[Math.floor(i / CALLS_OF_EACH)];
    const got =
      reply.kind === "trap"
        ? reply.why.startsWith("signal")
          ? reply.why
          : "trap"
        : reply.kind === "bytes" || result === undefined
          ? ""
          : String(BigInt.asIntN(result === I32 ? 32 : 64, reply.general));
    return got === wanted ? [] : [`seed ${seed} ${names[i]}: ${got} instead of ${wanted}`];
  });
  const memory = replies[expected.length];
  const wanted = new Uint8Array((instance.exports.memory as WebAssembly.Memory).buffer);
  const same = memory.kind === "bytes" && Buffer.compare(memory.bytes, wanted) === 0;
  return {
    calls: expected.length,
    differences: same ? differences : [...differences, `seed ${seed}: memory differs`],
  };
}

type Call = (...args: (number | bigint)[]) => number | bigint | undefined;

function callInEngine(
  call: Call,
  params: readonly number[],
  args: readonly bigint[],
  result: number | undefined,
): string {
  try {
    const value = call(
      ...args.map((arg, i) => (params[i] === I32 ? Number(BigInt.asIntN(32, arg)) : BigInt.asIntN(64, arg))),
    );
    return result === undefined ? "" : String(value);
  } catch (error) {
    if (error instanceof WebAssembly.RuntimeError) return "trap";
    throw error;
  }
}
