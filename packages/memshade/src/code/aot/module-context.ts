import { readS32Leb, readS64Leb, readU32Leb } from "../../ground/bytes/leb128.ts";
import { importsOf } from "../wasm/lookups.ts";
import * as Op from "../wasm/op.generated.ts";
import { IMMEDIATE_KIND } from "../wasm/opcodes.ts";
import { opcodeIdAt, skipImmediates, skipOpcode } from "../wasm/skip.ts";
import { type ByteRange, I32, type Import, type ValType, type WasmModule } from "../wasm/types.ts";
import { type Address, NONE } from "./code.ts";

export interface CompileOptions {
  /** Values of imported globals, by `module.name`. */
  constants?: ReadonlyMap<string, bigint>;
  /** Exported functions to compile, with everything that they call; default: all. */
  exports?: readonly string[];
  /** Exported functions that do not access linear memory and can run without it. */
  withoutMemory?: readonly string[];
  /** Number of registers of each kind that values may live in; tests reduce it to cover spilling. */
  registers?: number;
  /** Keeps loads and divisions whose result is not read, since they may trap. */
  keepTraps?: boolean;
}

/** Global in machine code: a number, or a place below linear memory with its initial content. */
export type GlobalHome =
  | { kind: "constant"; value: bigint }
  | { kind: "variable"; type: ValType; place: Address; initial: Uint8Array };

const SLOT_BYTES = 16;

export class ModuleContext {
  readonly wasm: WasmModule;
  readonly options: CompileOptions;
  readonly importedFunctions: readonly Extract<Import, { kind: "function" }>[];
  readonly exported: ReadonlySet<number>;
  readonly wanted: Set<number>;
  readonly #globals = new Map<number, GlobalHome | undefined>();

  constructor(wasm: WasmModule, options: CompileOptions, exported: ReadonlySet<number>) {
    this.wasm = wasm;
    this.options = options;
    this.importedFunctions = importsOf(wasm, "function");
    this.exported = exported;
    this.wanted = new Set(exported);
  }

  /** Returns undefined for a global that is imported without a value, or that is neither an integer nor a vector. */
  global(index: number): GlobalHome | undefined {
    if (!this.#globals.has(index)) this.#globals.set(index, this.#homeOf(index));
    return this.#globals.get(index);
  }

  globalBytes({ type }: { type: ValType }): 4 | 8 {
    return type === I32 ? 4 : 8;
  }

  #homeOf(index: number): GlobalHome | undefined {
    const { wasm, options } = this;
    if (index < wasm.importedGlobalCount) {
      const { module, field, global } = importsOf(wasm, "global")[index];
      const value = options.constants?.get(`${module}.${field}`);
      return value === undefined || global.mutable
        ? undefined
        : { kind: "constant", value: canonical(value, global.type) };
    }
    const own = wasm.globals[index - wasm.importedGlobalCount];
    const value = own && this.#valueOf(own.initial);
    if (value === undefined) return undefined;
    if (!own.mutable && typeof value === "bigint")
      return { kind: "constant", value: canonical(value, own.type) };
    const place: Address = {
      kind: "address",
      base: NONE,
      index: NONE,
      scale: 1,
      linear: true,
      displacement: -SLOT_BYTES * (index - wasm.importedGlobalCount + 1),
    };
    return {
      kind: "variable",
      type: own.type,
      place,
      initial: typeof value === "bigint" ? bytesOf(value) : value,
    };
  }

  #valueOf({ start, end }: ByteRange): bigint | Uint8Array | undefined {
    const { bytes } = this.wasm;
    const after = skipImmediates(bytes, skipOpcode(bytes, start), IMMEDIATE_KIND[opcodeIdAt(bytes, start)]);
    if (after !== end - 1) return undefined;
    if (bytes[start] === Op.I32_CONST) return BigInt(readS32Leb(bytes, start + 1));
    if (bytes[start] === Op.I64_CONST) return readS64Leb(bytes, start + 1);
    if (bytes[start] === VECTOR_PREFIX) return bytes.slice(start + 2, start + 2 + SLOT_BYTES);
    if (bytes[start] !== Op.GLOBAL_GET) return undefined;
    const other = this.global(readU32Leb(bytes, start + 1));
    return other?.kind === "constant" ? other.value : undefined;
  }
}

const VECTOR_PREFIX = 0xfd;

function canonical(value: bigint, type: ValType): bigint {
  return type === I32 ? BigInt.asUintN(32, value) : BigInt.asIntN(64, value);
}

function bytesOf(value: bigint): Uint8Array {
  const bytes = new Uint8Array(SLOT_BYTES);
  new DataView(bytes.buffer).setBigInt64(0, value, true);
  return bytes;
}
