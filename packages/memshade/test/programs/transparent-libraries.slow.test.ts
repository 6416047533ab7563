import { describe, expect, it } from "vitest";
import { compileProgram, INSTRUMENTED, instantiate } from "./fixtures.ts";

type Variant = Parameters<typeof compileProgram>[1];
type Exports = Record<string, (...args: number[]) => number>;

/** The host of `control/reactor`: it calls malloc and free itself, writes into blocks, gets callbacks and throws. */
function talkToReactor(variant: Variant): unknown[] {
  const seen: unknown[] = [];
  const visit = (value: number): number => {
    if (value === 13) throw new TypeError("thirteen");
    return value > 0 ? exports.call_host(value - 1) + value : -1;
  };
  const wasi = { fd_close: () => 0, fd_seek: () => 0, fd_write: () => 0, fd_fdstat_get: () => 0 };
  const instance = instantiate(compileProgram("control/reactor", variant), {
    host: { visit },
    wasi_snapshot_preview1: { ...wasi, proc_exit: () => undefined },
  });
  const exports = instance.exports as unknown as Exports;
  const memory = instance.exports.memory as WebAssembly.Memory;
  exports._initialize();

  const block = exports.malloc(1000);
  new Uint8Array(memory.buffer, block, 1000).fill(3);
  seen.push(block, exports.sum_bytes(block, 1000));
  exports.free(block);
  const lists = [10, 200, 3000].map((length) => exports.make_list(length));
  seen.push(...lists.map((list) => exports.sum_list(list)));
  for (const list of lists.reverse()) exports.drop_list(list);
  let text = 0;
  for (let length = 1; length < 200_000; length *= 3) text = exports.grow_text(text, length);
  seen.push(new Uint8Array(memory.buffer, text, 4).join(), exports.malloc(16));
  memory.grow(5);
  seen.push(exports.call_host(0), exports.call_host(6));
  for (const value of [13, 20])
    try {
      exports.call_host(value);
    } catch (error) {
      seen.push(String(error));
    }
  seen.push(exports.call_host(3), memory.buffer.byteLength, Object.keys(exports).join());
  return seen;
}

/** Calls every function of an AssemblyScript module; strings and aborts are passed through its memory. */
function talkToAssemblyScript(path: string, variant: Variant): unknown[] {
  const seen: unknown[] = [];
  const memoryOf = () => (instance.exports.memory as WebAssembly.Memory).buffer;
  const text = (at: number) =>
    new TextDecoder("utf-16le").decode(
      new Uint8Array(memoryOf(), at, new DataView(memoryOf()).getUint32(at - 4, true)),
    );
  const instance = instantiate(compileProgram(path, variant), {
    env: {
      abort: (message: number, file: number, line: number, column: number) =>
        seen.push(`${text(message)} in ${text(file)}:${line}:${column}`),
    },
  });
  const exports = instance.exports as unknown as Exports;
  seen.push(exports.tree(300), exports.arrays(1000), exports.words(200), exports.buffers(4096));
  seen.push(text(exports.text(100)));
  const pinned = exports.__pin(exports.__new(64, 1));
  exports.__collect();
  seen.push(exports.tree(500), text(exports.text(10)));
  exports.__unpin(pinned);
  exports.__collect();
  try {
    exports.fail(100);
  } catch (error) {
    seen.push(String(error));
  }
  seen.push(exports.arrays(100), memoryOf().byteLength, Object.keys(exports).join());
  return seen;
}

/** Rust without WASI: `main` prints nothing; the final memory shows its work. */
function runRust(path: string, variant: Variant): unknown[] {
  const instance = instantiate(compileProgram(path, variant), {});
  const returned = (instance.exports as unknown as Exports).main(0, 0);
  const memory = Buffer.from((instance.exports.memory as WebAssembly.Memory).buffer);
  return [returned, memory.length, memory.reduce((sum, byte) => (Math.imul(sum, 31) + byte) | 0, 0)];
}

const ASSEMBLYSCRIPT = ["incremental", "minimal", "stub", "incremental.stripped"];

describe.each([
  ["control/reactor", (_: string, variant: Variant) => talkToReactor(variant)],
  ...ASSEMBLYSCRIPT.map((runtime) => [`assemblyscript/containers-${runtime}`, talkToAssemblyScript] as const),
  ["allocation/rust-collections.unknown", runRust],
  ["allocation/rust-collections.unknown.stripped", runRust],
] as const)("%s, instrumented", (path, talk) => {
  it.each(INSTRUMENTED)("answers its host as it does plain (%s)", (variant) => {
    expect(talk(path, variant)).toEqual(talk(path, "plain"));
  });
});

describe("the libraries themselves", () => {
  it("are called back, thrown through, and go on", () => {
    expect(talkToReactor("plain").map(String)).toEqual(
      expect.arrayContaining(["3000", "TypeError: thirteen", "-2"]),
    );
  });

  it("abort with a message and trap", () => {
    expect(talkToAssemblyScript("assemblyscript/containers-incremental", "plain")).toEqual(
      expect.arrayContaining([
        expect.stringMatching(/^never true in containers\.ts:/),
        "RuntimeError: unreachable",
      ]),
    );
  });
});
