import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { MemoryWasi } from "../../../../bench/harness/wasi.ts";

const WASM_OPT = fileURLToPath(new URL("../../../../node_modules/.bin/wasm-opt", import.meta.url));
const PROGRAMS = fileURLToPath(new URL("../fixtures/programs/", import.meta.url));

export const canTrace = existsSync(WASM_OPT);

/** The loads and stores of a run in their order, in columns. */
export class AccessTrace {
  length = 0;
  addresses = new Uint32Array(1 << 16);
  /** Bytes, negative for a store. */
  sizes = new Int8Array(1 << 16);

  push(address: number, bytes: number): void {
    if (this.length === this.addresses.length) {
      const addresses = new Uint32Array(this.length * 2);
      addresses.set(this.addresses);
      this.addresses = addresses;
      const sizes = new Int8Array(this.length * 2);
      sizes.set(this.sizes);
      this.sizes = sizes;
    }
    this.addresses[this.length] = address;
    this.sizes[this.length++] = bytes;
  }
}

/** A program from the fixtures without bulk memory instructions: `--instrument-memory` does not see those. */
export interface TracedProgram {
  bytes: Uint8Array;
  trace: AccessTrace;
}

/** Binaryen's own instrumentation of a program from the fixtures: every load and store tells the host first. */
export function traceProgram(path: string, args: readonly string[]): TracedProgram {
  const folder = mkdtempSync(join(tmpdir(), "memshade-trace-"));
  try {
    const lowered = join(folder, "lowered.wasm");
    const traced = join(folder, "traced.wasm");
    const optimize = (...options: string[]) =>
      execFileSync(process.execPath, [WASM_OPT, "--all-features", ...options], { stdio: "ignore" });
    const narrow = ["--disable-memory64", "--disable-multimemory"];
    optimize(...narrow, "--llvm-memory-copy-fill-lowering", join(PROGRAMS, `${path}.wasm`), "-o", lowered);
    optimize("--instrument-memory", lowered, "-o", traced);
    const trace = new AccessTrace();
    // A store's address is told before its value is computed, which may access memory too: it counts with its value.
    const pending: [address: number, bytes: number][] = [];
    const named: Record<string, unknown> = {
      load_ptr: (_id: number, bytes: number, offset: number, address: number) => {
        trace.push((address >>> 0) + offset, bytes);
        return address;
      },
      store_ptr: (_id: number, bytes: number, offset: number, address: number) => {
        pending.push([(address >>> 0) + offset, -bytes]);
        return address;
      },
    };
    for (const type of ["i32", "i64", "f32", "f64"])
      named[`store_val_${type}`] = (_id: number, value: unknown) => {
        trace.push(...(pending.pop() as [number, number]));
        return value;
      };
    const env = new Proxy(named, {
      get: (own, name) => own[name as string] ?? ((_id: number, value: unknown) => value),
    });
    const wasi = new MemoryWasi({ args: ["program", ...args] });
    const module = new WebAssembly.Module(readFileSync(traced));
    wasi.start(new WebAssembly.Instance(module, { ...wasi.imports, env: env as WebAssembly.ModuleImports }));
    return { bytes: readFileSync(lowered), trace };
  } finally {
    rmSync(folder, { recursive: true });
  }
}
