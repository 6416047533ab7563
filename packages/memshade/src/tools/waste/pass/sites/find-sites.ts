import { readU32Leb } from "../../../../bytes/leb128.ts";
import {
  ACCESS_KIND,
  AccessKind,
  IMMEDIATE_KIND,
  opcodeIdAt,
  skipImmediates,
  skipOpcode,
  type WasmModule,
} from "../../../../wasm/index.ts";
import * as Op from "../../../../wasm/op.generated.ts";
import { HOST_CALL, type SiteTable, siteTable, ZEROING_CALL } from "../../site-table.ts";

const HAS_MEMORY_INDEX = 0x40;

/** `zeroing`: functions that hand out zeroed blocks, by index. Direct calls of them are stores. */
export function findSites(module: WasmModule, zeroing: readonly number[]): SiteTable {
  const { bytes, bodies, codePayloadStart, importedFunctionCount } = module;
  const [offset, op]: [number[], number[]] = [[], []];
  const firstOfFunction = new Int32Array(bodies.length + 1);
  const add = (pos: number, what: number): void => {
    offset.push(pos - codePayloadStart);
    op.push(what);
  };
  const siteOf = (opcode: number, immediates: number): number | undefined => {
    const kind = ACCESS_KIND[opcode];
    if (kind !== AccessKind.None && kind !== AccessKind.Notify) {
      const memory = bytes[immediates] & HAS_MEMORY_INDEX ? readU32Leb(bytes, immediates + 1) : 0;
      return memory === 0 ? opcode : undefined;
    }
    if (opcode === Op.MEMORY_COPY || opcode === Op.MEMORY_FILL || opcode === Op.MEMORY_INIT) return opcode;
    if (opcode !== Op.CALL && opcode !== Op.RETURN_CALL) return undefined;
    const callee = readU32Leb(bytes, immediates);
    if (callee < importedFunctionCount) return HOST_CALL;
    return zeroing.includes(callee) ? ZEROING_CALL : undefined;
  };
  bodies.forEach((body, defined) => {
    firstOfFunction[defined] = op.length;
    for (let pos = body.codeStart; pos < body.end; ) {
      const opcode = opcodeIdAt(bytes, pos);
      const immediates = skipOpcode(bytes, pos);
      const site = siteOf(opcode, immediates);
      if (site !== undefined) add(pos, site);
      pos = skipImmediates(bytes, immediates, IMMEDIATE_KIND[opcode]);
    }
  });
  firstOfFunction[bodies.length] = op.length;
  const definedOf = zeroing.map((index) => index - importedFunctionCount);
  for (const defined of definedOf) add(bodies[defined].codeStart, ZEROING_CALL);
  return siteTable({
    offset: Int32Array.from(offset),
    op: Int32Array.from(op),
    firstOfFunction,
    zeroing: definedOf,
  });
}
