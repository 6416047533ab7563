import type { UnwindTable } from "../../../code/unwind/index.ts";
import { TABLE_BLOCK_BITS, TABLES_HEAD_BYTES, TABLES_MAGIC, TABLES_VERSION, TablesHead } from "../layout.ts";
import { processRule } from "./process-rule.ts";
import { hasSum, SUM_BYTES, sumOf } from "./sum.ts";

const IN_BLOCK = 2 ** TABLE_BLOCK_BITS - 1;

/**
 * The tables of an object as processes map them: where which rule holds, 4 bytes per entry. An object without call frame information
 * has tables without blocks. `layout.ts` has the format.
 *
 *     head     magic, version, sum, base, 2 blocks, 3 entries, 2 rules
 *     firsts   0, 2, 3
 *     entries  0 << 12 | 0x000, 1 << 12 | 0x040, 1 << 12 | 0x000
 *     rules    none, CFA = rsp + 8
 */
export function tablesFile(table: UnwindTable): Uint8Array {
  const { rules, indexOf } = ruleDictionary(table);
  const { firsts, entries } = entriesOf(table, indexOf);
  const words = firsts.length + entries.length + rules.length;
  const bytes = new Uint8Array(TABLES_HEAD_BYTES + 4 * words);
  const view = new DataView(bytes.buffer);
  view.setUint32(TablesHead.magic, TABLES_MAGIC, true);
  view.setUint32(TablesHead.version, TABLES_VERSION, true);
  view.setBigUint64(TablesHead.base, BigInt(table.base), true);
  view.setUint32(TablesHead.blocks, firsts.length - 1, true);
  view.setUint32(TablesHead.entries, entries.length, true);
  view.setUint32(TablesHead.rules, rules.length, true);
  const all = new Uint32Array(bytes.buffer, TABLES_HEAD_BYTES);
  all.set(firsts);
  all.set(entries, firsts.length);
  all.set(rules, firsts.length + entries.length);
  setTablesSum(bytes);
  return bytes;
}

/** Gives tables the sum of what is in them. */
export function setTablesSum(bytes: Uint8Array): void {
  bytes.set(sumOf(bytes.subarray(TablesHead.base)), TablesHead.sum);
}

/** Whether a file has tables as they were made, and of this version. */
export function isTablesFile(bytes: Uint8Array): boolean {
  if (bytes.length < TABLES_HEAD_BYTES) return false;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  if (view.getUint32(TablesHead.magic, true) !== TABLES_MAGIC) return false;
  if (view.getUint32(TablesHead.version, true) !== TABLES_VERSION) return false;
  const sum = bytes.subarray(TablesHead.sum, TablesHead.sum + SUM_BYTES);
  return hasSum(bytes.subarray(TablesHead.base), sum);
}

/** Rules as they are met, each once. `none` is the first. */
function ruleDictionary(table: UnwindTable) {
  const rules = [0];
  const known = new Map([[0, 0]]);
  const indexes = new Int32Array(table.rules.count).fill(-1);
  const indexOf = (set: number): number => {
    if (indexes[set] < 0) {
      const rule = processRule(table, set);
      let index = known.get(rule);
      if (index === undefined) {
        index = rules.length;
        known.set(rule, index);
        rules.push(rule);
      }
      indexes[set] = index;
    }
    return indexes[set];
  };
  return { rules, indexOf };
}

/** Entries by address; neighbours with one rule are one, but for the first of each block. */
function entriesOf(table: UnwindTable, indexOf: (set: number) => number) {
  const arrays = table.compact?.arrays;
  const blocks = arrays?.firsts.length ?? 0;
  const firsts = new Uint32Array(blocks + 1);
  const entries = new Uint32Array((arrays?.count ?? 0) + blocks);
  let count = 0;
  for (let block = 0; block < blocks; block++) {
    firsts[block] = count;
    const { before, counts, firsts: from } = arrays!;
    let last = indexOf(before[block]);
    if (last === 0 && counts[block] === 0) continue;
    entries[count++] = last * (IN_BLOCK + 1);
    for (let i = from[block]; i < from[block] + counts[block]; i++) {
      const entry = arrays!.entries[i];
      const rule = indexOf(entry >>> TABLE_BLOCK_BITS);
      if (rule === last) continue;
      const offset = entry & IN_BLOCK;
      if (offset === 0) count--;
      entries[count++] = rule * (IN_BLOCK + 1) + offset;
      last = rule;
    }
  }
  firsts[blocks] = count;
  return { firsts, entries: entries.subarray(0, count) };
}
