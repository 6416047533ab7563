import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { MemoryWasi } from "../../../../bench/harness/wasi.ts";

const WASM_OPT = fileURLToPath(new URL("../../../../node_modules/.bin/wasm-opt", import.meta.url));
const PROGRAMS = fileURLToPath(new URL("../fixtures/programs/", import.meta.url));

export const canTrace = existsSync(WASM_OPT);

export class AccessTrace {
  length = 0;
  addresses = new Uint32Array(1 << 16);
  /** Bytes, negative for a store. */
  sizes = new Int8Array(1 << 16);
  /** Numbers of the instructions in code order, counting only loads and stores. */
  sites = new Uint32Array(1 << 16);

  push(address: number, bytes: number, site: number): void {
    if (this.length === this.addresses.length) {
      const addresses = new Uint32Array(this.length * 2);
      addresses.set(this.addresses);
      this.addresses = addresses;
      const sizes = new Int8Array(this.length * 2);
      sizes.set(this.sizes);
      this.sizes = sizes;
      const sites = new Uint32Array(this.length * 2);
      sites.set(this.sites);
      this.sites = sites;
    }
    this.sites[this.length] = site;
    this.addresses[this.length] = address;
    this.sizes[this.length++] = bytes;
  }
}

/** A program from the fixtures without bulk memory instructions, which `--instrument-memory` does not cover. */
export interface TracedProgram {
  bytes: Uint8Array;
  trace: AccessTrace;
}

/** Binaryen's own instrumentation of a program from the fixtures: every load and store first calls the host. */
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
    const asText = join(folder, "traced.wat");
    optimize("--instrument-memory", lowered, "-S", "-o", asText);
    const numbers = numbersOfIds(readFileSync(asText, "utf8"));
    const trace = new AccessTrace();
    // The host gets a store's address before its value is computed, which may access memory too: the store counts when its value arrives.
    const pending: [address: number, bytes: number, site: number][] = [];
    const named: Record<string, unknown> = {
      load_ptr: (id: number, bytes: number, offset: number, address: number) => {
        trace.push((address >>> 0) + offset, bytes, numbers.get(id) as number);
        return address;
      },
      store_ptr: (id: number, bytes: number, offset: number, address: number) => {
        pending.push([(address >>> 0) + offset, -bytes, numbers.get(id) as number]);
        return address;
      },
    };
    for (const type of ["i32", "i64", "f32", "f64"])
      named[`store_val_${type}`] = (_id: number, value: unknown) => {
        trace.push(...(pending.pop() as [number, number, number]));
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

/** Maps the ids of binaryen's calls, some of which are missing, to their order. */
function numbersOfIds(text: string): ReadonlyMap<number, number> {
  const ids = [...text.matchAll(/call \$(?:load|store)_ptr\s+\(i32\.const (\d+)\)/g)].map(([, id]) =>
    Number(id),
  );
  return new Map(ids.sort((a, b) => a - b).map((id, number) => [id, number]));
}
