import {
  TABLE_BLOCK_BITS,
  TABLES_HEAD_BYTES as HEAD,
  TABLES_MAGIC,
  TABLES_VERSION,
  TablesHead,
} from "./layout.generated";
import { load32, load64 } from "./machine";
import { hasSum } from "./sum";

export const TABLES_HEAD_BYTES: u64 = HEAD;

/** Returns true if `bytes` bytes at an address are undamaged tables of this version. */
export function isTables(table: u64, bytes: u64): bool {
  if (load32(table + TablesHead.magic) !== TABLES_MAGIC) return false;
  if (load32(table + TablesHead.version) !== TABLES_VERSION) return false;
  const words: u64 =
    <u64>load32(table + TablesHead.blocks) +
    1 +
    load32(table + TablesHead.entries) +
    load32(table + TablesHead.rules);
  const start = table + TablesHead.base;
  return bytes === HEAD + 4 * words && hasSum(table + TablesHead.sum, start, table + bytes - start);
}

export function ruleAt(table: u64, address: u64): u32 {
  const offset = address - load64(table + TablesHead.base);
  const block = offset >>> TABLE_BLOCK_BITS;
  const blocks: u64 = load32(table + TablesHead.blocks);
  if (block >= blocks) return 0;
  const firsts = table + HEAD;
  const first = load32(firsts + 4 * block);
  let high = load32(firsts + 4 * block + 4);
  if (first === high) return 0;
  const entries = firsts + 4 * (blocks + 1);
  const limit = <u32>offset & ((1 << TABLE_BLOCK_BITS) - 1);
  let low = first + 1;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((load32(entries + 4 * <u64>middle) & ((1 << TABLE_BLOCK_BITS) - 1)) <= limit) low = middle + 1;
    else high = middle;
  }
  const index: u64 = load32(entries + 4 * <u64>(low - 1)) >>> TABLE_BLOCK_BITS;
  const rules = entries + 4 * <u64>load32(table + TablesHead.entries);
  return load32(rules + 4 * index);
}
