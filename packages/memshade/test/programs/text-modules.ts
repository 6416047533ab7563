import { createHash } from "node:crypto";
import { describeEnd, programFrames } from "../../../../bench/harness/wasi.ts";

export interface Observation {
  /** Result of every exported `test_…` function, called in the order of the exports. */
  results: Record<string, string>;
  log: number[];
  /** Size and contents of every memory, size of every table, value of every global that the host can reach. */
  state: Record<string, string>;
  exports: string[];
}

class Host {
  readonly log: number[] = [];
  readonly memory = new WebAssembly.Memory({ initial: 1, maximum: 16 });
  readonly counter = new WebAssembly.Global({ value: "i32", mutable: true }, 0);
  readonly stackPointer = new WebAssembly.Global({ value: "i32", mutable: true }, 65536);
  readonly tag = new WebAssembly.Tag({ parameters: ["i32"] });
  #next = 2048;

  readonly imports: WebAssembly.Imports = {
    host: {
      memory: this.memory,
      counter: this.counter,
      stack_pointer: this.stackPointer,
      tag: this.tag as never,
      base: new WebAssembly.Global({ value: "i32", mutable: false }, 1024),
      slot: new WebAssembly.Global({ value: "i32", mutable: false }, 4),
      log: (value: number) => this.log.push(value),
      grow: (pages: number) => this.memory.grow(pages),
      call: (callee: (argument: number) => number, argument: number) => callee(argument),
      throw: (value: number) => {
        throw new WebAssembly.Exception(this.tag, [value]);
      },
      malloc: (bytes: number) => {
        const block = this.#next;
        this.#next += (bytes + 15) & ~15;
        return block;
      },
      free: () => undefined,
      write: (at: number, length: number) => new Uint8Array(this.memory.buffer, at, length).fill(length),
    },
  };
}

/** Instantiates a module, calls all its tests, and records the final state. */
export function observe(
  module: WebAssembly.Module,
  instantiate: (module: WebAssembly.Module, imports: WebAssembly.Imports) => WebAssembly.Instance,
  functionCount: number,
): Observation {
  const host = new Host();
  const { exports } = instantiate(module, host.imports);
  const results: Record<string, string> = {};
  for (const [name, value] of Object.entries(exports)) {
    if (!name.startsWith("test_")) continue;
    try {
      results[name] = describeValue((value as () => unknown)());
    } catch (thrown) {
      results[name] = describeThrown(thrown, host.tag, functionCount);
    }
  }
  const state: Record<string, string> = {};
  for (const [name, value] of Object.entries({ ...host, ...exports })) {
    const described = describeState(value);
    if (described !== undefined) state[name] = described;
  }
  return { results, log: host.log, state, exports: Object.keys(exports) };
}

function describeValue(value: unknown): string {
  if (Array.isArray(value)) return value.map(describeValue).join(" ");
  if (typeof value === "function") return `function ${value.name}`;
  return typeof value === "bigint" ? `${value}n` : String(value);
}

function describeThrown(thrown: unknown, tag: WebAssembly.Tag, functionCount: number): string {
  if (thrown instanceof WebAssembly.Exception)
    return thrown.is(tag) ? `threw the host's tag ${thrown.getArg(tag, 0)}` : "threw a tag of its own";
  const end = describeEnd(thrown);
  if (end.kind === "exit") return "exited";
  return `${end.kind}: ${end.message} in ${programFrames(end.frames, functionCount).join(" < ")}`;
}

function describeState(value: unknown): string | undefined {
  if (value instanceof WebAssembly.Memory) {
    const bytes = new Uint8Array(value.buffer.slice(0) as ArrayBuffer);
    return `${bytes.length} bytes ${createHash("sha256").update(bytes).digest("hex").slice(0, 12)}`;
  }
  if (value instanceof WebAssembly.Table) return `${value.length} elements`;
  if (value instanceof WebAssembly.Global)
    return describeValue((value as WebAssembly.Global<keyof WebAssembly.ValueTypeMap>).value);
  return undefined;
}
