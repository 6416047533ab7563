import { readU32Leb } from "../../../../bytes/leb128.ts";
import { grown } from "../../../../rewrite/walk/operand-stack.ts";
import {
  ACCESS_BYTES,
  ACCESS_KIND,
  AccessKind,
  IMMEDIATE_KIND,
  opcodeIdAt,
  skipImmediates,
  skipOpcode,
  type WasmModule,
} from "../../../../wasm/index.ts";
import * as Op from "../../../../wasm/op.generated.ts";

/** What kind of instruction an access site is. */
export const SiteClass = {
  Plain: 0,
  /** Atomic loads, stores, read-modify-writes, waits. */
  Atomic: 1,
  /** `memory.copy` */
  Copy: 2,
  /** `memory.fill` and `memory.init` */
  Fill: 3,
  /** A call of an imported function, which may write to memory. */
  Host: 4,
  /** A call of a function that hands out zeroed blocks; for calls that are not seen, that function's first instruction. */
  Zeroed: 5,
} as const;

export const SITE_CLASS_NAMES = ["plain", "atomic", "copy", "fill", "host", "calloc"] as const;

/**
 * Every place of a module that loads from memory 0 or stores to it, in code order. The order is all that the code
 * in the module and the reader of its tables have to agree on: store ids and load ids are numbers from 1 in it.
 */
export interface SiteTable {
  length: number;
  /** Offset of the instruction in the code section's payload. */
  offset: Int32Array;
  /** Opcode id, −1 for calls of the host and allocation functions. */
  op: Int32Array;
  /** Bytes per access, 0 where they differ. */
  bytes: Int32Array;
  siteClass: Int32Array;
  /** Number among the stores from 1, 0: does not store. */
  store: Int32Array;
  /** Number among the loads from 1, 0: does not load. */
  load: Int32Array;
  stores: number;
  loads: number;
  /** First site of each defined function, and one behind the last. */
  firstOfFunction: Int32Array;
}

const HAS_MEMORY_INDEX = 0x40;
const ATOMIC_IDS = 0x400;
const COLUMNS = ["offset", "op", "bytes", "siteClass", "store", "load"] as const;

/**
 * `zeroing`: functions that hand out zeroed blocks, by index. Direct calls of them are stores, and so is each of them, behind
 * all others, for blocks that are asked for in other ways.
 */
export function findSites(module: WasmModule, zeroing: readonly number[]): SiteTable {
  const { bytes, bodies } = module;
  const table: SiteTable = {
    length: 0,
    offset: new Int32Array(4096),
    op: new Int32Array(4096),
    bytes: new Int32Array(4096),
    siteClass: new Int32Array(4096),
    store: new Int32Array(4096),
    load: new Int32Array(4096),
    stores: 0,
    loads: 0,
    firstOfFunction: new Int32Array(bodies.length + 1),
  };
  const add = (
    pos: number,
    op: number,
    width: number,
    siteClass: number,
    stores: boolean,
    loads: boolean,
  ) => {
    const at = table.length++;
    if (at === table.offset.length)
      for (const column of COLUMNS) table[column] = grown(table[column], at * 2);
    table.offset[at] = pos - module.codePayloadStart;
    table.op[at] = op;
    table.bytes[at] = width;
    table.siteClass[at] = siteClass;
    table.store[at] = stores ? ++table.stores : 0;
    table.load[at] = loads ? ++table.loads : 0;
  };
  bodies.forEach((body, defined) => {
    table.firstOfFunction[defined] = table.length;
    for (let pos = body.codeStart; pos < body.end; ) {
      const op = opcodeIdAt(bytes, pos);
      const immediates = skipOpcode(bytes, pos);
      const kind = ACCESS_KIND[op];
      if (kind !== AccessKind.None && kind !== AccessKind.Notify) {
        const memory = bytes[immediates] & HAS_MEMORY_INDEX ? readU32Leb(bytes, immediates + 1) : 0;
        if (memory === 0) {
          const isAtomic = op >= ATOMIC_IDS && op < ATOMIC_IDS + 0x100;
          const both = kind === AccessKind.Rmw || kind === AccessKind.Cmpxchg;
          add(
            pos,
            op,
            ACCESS_BYTES[op],
            isAtomic ? SiteClass.Atomic : SiteClass.Plain,
            both || kind === AccessKind.Store,
            both || kind !== AccessKind.Store,
          );
        }
      } else if (op === Op.MEMORY_COPY) add(pos, op, 0, SiteClass.Copy, true, true);
      else if (op === Op.MEMORY_FILL || op === Op.MEMORY_INIT) add(pos, op, 0, SiteClass.Fill, true, false);
      else if (op === Op.CALL || op === Op.RETURN_CALL) {
        const callee = readU32Leb(bytes, immediates);
        if (callee < module.importedFunctionCount) add(pos, -1, 0, SiteClass.Host, true, false);
        else if (zeroing.includes(callee)) add(pos, -1, 0, SiteClass.Zeroed, true, false);
      }
      pos = skipImmediates(bytes, immediates, IMMEDIATE_KIND[op]);
    }
  });
  table.firstOfFunction[bodies.length] = table.length;
  for (const index of zeroing)
    add(bodies[index - module.importedFunctionCount].codeStart, -1, 0, SiteClass.Zeroed, true, false);
  return table;
}
