import { sizeOfS64Leb } from "../../../bytes/leb128.ts";
import { hasLongDisplacement, readDisplacement } from "../../../rewrite/walk/displacements.ts";
import { IMMEDIATE_KIND, ImmediateKind, skipOpcode, type WasmModule } from "../../../wasm/index.ts";
import { Heat } from "./site-heat.ts";
import { SiteClass, type SiteTable } from "./site-table.ts";

/**
 * Bytes that one more function must save. It takes a tenth of that itself; but with many of them, each seldom called, processors
 * look for code in vain: SQLite with contexts ran 4 % slower with all that are shorter.
 */
const WORTH_BYTES = 700;
/** Larger ones are rare, and would not fit into the displacements of the shadow. */
const LARGEST = 1 << 16;

/**
 * Which displacements so many cold sites of one instruction have that it is worth a function for just those not to hand the
 * displacement to a function for all: per opcode.
 */
export function commonDisplacements(
  module: WasmModule,
  sites: SiteTable,
  heat: Uint8Array,
): ReadonlyMap<number, ReadonlySet<number>> {
  const counts = new Map<number, Map<number, number>>();
  for (let site = 0; site < sites.length; site++) {
    const op = sites.op[site];
    if (heat[site] !== Heat.Cold || sites.siteClass[site] !== SiteClass.Plain) continue;
    if (IMMEDIATE_KIND[op] !== ImmediateKind.Memarg) continue;
    const start = sites.offset[site] + module.codePayloadStart;
    // Behind the alignment, for memory 0 says no index.
    const displacement = readDisplacement(module.bytes, skipOpcode(module.bytes, start) + 1);
    if (displacement >>> 0 >= LARGEST || hasLongDisplacement(module.bytes, start)) continue;
    const ofOp = counts.get(op) ?? new Map<number, number>();
    counts.set(op, ofOp.set(displacement, (ofOp.get(displacement) ?? 0) + 1));
  }
  const common = new Map<number, Set<number>>();
  for (const [op, ofOp] of counts) {
    const worthIt = [...ofOp].filter(
      ([displacement, count]) => count * (1 + sizeOfS64Leb(BigInt(displacement))) > WORTH_BYTES,
    );
    common.set(op, new Set(worthIt.map(([displacement]) => displacement)));
  }
  return common;
}
