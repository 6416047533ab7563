import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { ObjectFile } from "../../../code/objects/index.ts";
import { CFA_RULE, ROW_FLAG, RULE } from "../../../code/unwind/cfi/rule-sets.ts";
import { UnwindTable } from "../../../code/unwind/index.ts";
import { viewOf } from "../../../ground/bytes/numbers.ts";
import { writeWholeFile } from "../../../names/load/whole-file.ts";
import { cacheFolder, keepingFolder } from "../../host/run/cache-folder.ts";
import { builtVersion, readKept, writeKept } from "../../host/run/kept-files.ts";
import { isOwn, KEPT_MODE } from "../../host/run/own-files.ts";
import {
  HEADER_VERSION,
  Rule,
  RuleKind,
  TABLE_BLOCK_BITS,
  TABLES_HEAD_BYTES,
  TABLES_MAGIC,
  TABLES_VERSION,
  TablesHead,
} from "../layout.ts";
import { hasSum, SUM_BYTES, sumOf } from "./sum.ts";
import { tableKey } from "./table-key.ts";

const RSP = 7;
const RBP = 6;
const RETURN_ADDRESS = 16;
const WORD = 8;
/** `DW_OP_breg6`, with a signed LEB128 number after it, and `DW_OP_deref`. */
const BASE_RBP = 0x76;
const DEREF = 0x06;
/** CFA expression of a PLT entry: breg7 8, breg16 0, lit15, and, lit11, ge, lit3, shl, plus. */
const LINKAGE = [0x77, 0x08, 0x80, 0x00, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22];

const OTHER = RuleKind.other;

/** Converts rule set `set` of an x86-64 table to the 32 bits of a `Rule`. */
function processRule(table: UnwindTable, set: number): number {
  const { rules, expressions } = table;
  if (set === 0) return RuleKind.none;
  if ((rules.flags(set) & ROW_FLAG.signalFrame) !== 0) return RuleKind.signal;
  if (rules.returnAddress(set) !== RETURN_ADDRESS || rules.find(set, RSP) >= 0) return OTHER;
  const returned = ruleOf(table, set, RETURN_ADDRESS);
  if (returned?.rule === RULE.undefined) return RuleKind.end;
  if (returned?.rule !== RULE.offset || returned.operand !== -WORD) return OTHER;
  if (rules.cfaRule(set) === CFA_RULE.register) {
    const base = rules.cfaRegister(set);
    if (base !== RSP && base !== RBP) return OTHER;
    const kind = base === RSP ? RuleKind.stackPointer : RuleKind.framePointer;
    return packed(kind, rules.cfaOperand(set), savedBelow(table, set));
  }
  if (rules.cfaRule(set) !== CFA_RULE.expression) return OTHER;
  const program = expressions[rules.cfaOperand(set)];
  if (program.length === LINKAGE.length && LINKAGE.every((byte, i) => program[i] === byte))
    return savedBelow(table, set) === 0 ? RuleKind.linkage : OTHER;
  const saved = offsetFromRbp(program, true);
  return saved === undefined ? OTHER : packed(RuleKind.saved, -saved, savedAtRbp(table, set));
}

function ruleOf({ rules }: UnwindTable, set: number, register: number) {
  const at = rules.find(set, register);
  return at < 0 ? undefined : { rule: rules.words[at] & 0xff, operand: rules.words[at + 1] };
}

/** Returns the words below the CFA where the frame pointer was saved; 0: not saved; NaN: unknown. */
function savedBelow(table: UnwindTable, set: number): number {
  const found = ruleOf(table, set, RBP);
  if (found === undefined || found.rule === RULE.same) return 0;
  return found.rule === RULE.offset && found.operand < 0 ? -found.operand / WORD : Number.NaN;
}

/** Returns the words above rbp where the frame pointer was saved, plus one, for a realigned stack. */
function savedAtRbp(table: UnwindTable, set: number): number {
  const found = ruleOf(table, set, RBP);
  if (found === undefined || found.rule === RULE.same) return 0;
  const offset =
    found.rule === RULE.expression ? offsetFromRbp(table.expressions[found.operand], false) : undefined;
  return offset === undefined || offset < 0 ? Number.NaN : offset / WORD + 1;
}

/** Returns n of the expression rbp + n, or of the word there; undefined for other expressions. */
function offsetFromRbp(program: Uint8Array, isRead: boolean): number | undefined {
  const end = program.length - (isRead ? 1 : 0);
  if (program[0] !== BASE_RBP || (isRead && program[end] !== DEREF) || end < 2 || end > 4) return undefined;
  let value = 0;
  for (let i = 1; i < end; i++) {
    if (program[i] >>> 7 !== (i < end - 1 ? 1 : 0)) return undefined;
    value |= (program[i] & 0x7f) << (7 * (i - 1));
  }
  const bits = 7 * (end - 1);
  return (value << (32 - bits)) >> (32 - bits);
}

function packed(kind: number, cfaBytes: number, savedWords: number): number {
  const words = cfaBytes / WORD;
  const fits = Number.isInteger(words) && words >= 0 && words <= Rule.cfaMask;
  const isKnown = Number.isInteger(savedWords) && savedWords <= Rule.savedMask;
  return fits && isKnown ? kind | (words << Rule.cfaShift) | (savedWords << Rule.savedShift) : OTHER;
}

const IN_BLOCK = 2 ** TABLE_BLOCK_BITS - 1;

/**
 * Makes the table file of an object, which processes map: the rule for each address, 4 bytes per entry. An
 * object without call frame information has no blocks. `layout.ts` describes the format.
 *   head magic, version, sum, base, 2 blocks, 3 entries, 2 rules
 *   firsts 0, 2, 3
 *   entries 0 << 12 | 0x000, 1 << 12 | 0x040, 1 << 12 | 0x000
 *   rules none, CFA = rsp + 8
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
  const content = new Uint32Array(bytes.buffer, TABLES_HEAD_BYTES);
  content.set(firsts);
  content.set(entries, firsts.length);
  content.set(rules, firsts.length + entries.length);
  setTablesSum(bytes);
  return bytes;
}

export function setTablesSum(bytes: Uint8Array): void {
  bytes.set(sumOf(bytes.subarray(TablesHead.base)), TablesHead.sum);
}

function isTablesFile(bytes: Uint8Array): boolean {
  if (bytes.length < TABLES_HEAD_BYTES) return false;
  const view = viewOf(bytes);
  if (view.getUint32(TablesHead.magic, true) !== TABLES_MAGIC) return false;
  if (view.getUint32(TablesHead.version, true) !== TABLES_VERSION) return false;
  const sum = bytes.subarray(TablesHead.sum, TablesHead.sum + SUM_BYTES);
  return hasSum(bytes.subarray(TablesHead.base), sum);
}

/** Returns the distinct rules in the order of their first use. `none` is the first. */
function ruleDictionary(table: UnwindTable) {
  const rules = [0];
  const indices = new Map([[0, 0]]);
  const indexes = new Int32Array(table.rules.count).fill(-1);
  const indexOf = (set: number): number => {
    if (indexes[set] < 0) {
      const rule = processRule(table, set);
      let index = indices.get(rule);
      if (index === undefined) {
        index = rules.length;
        indices.set(rule, index);
        rules.push(rule);
      }
      indexes[set] = index;
    }
    return indexes[set];
  };
  return { rules, indexOf };
}

/**
 * Returns entries by address. Neighbours with the same rule are merged, except for the first of each block.
 */
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

/** Cache of table files, one per object, named by `tableKey`. Processes map them. */
export class TableCache {
  readonly folder: string;

  /** @param instead folder for this run, if the cache cannot be written or others can write it */
  constructor(instead: string, caches = cacheFolder()) {
    this.folder = keepingFolder(`tables-${HEADER_VERSION}.${TABLES_VERSION}`, instead, caches);
  }

  get prefix(): string {
    return join(this.folder, "/");
  }

  /** Returns true if the tables of an object exist undamaged, or if it has no key. */
  has(object: ObjectFile): boolean {
    const key = tableKey(object);
    return key === undefined || this.#isWhole(join(this.folder, key));
  }

  /** A full disk or lost power may damage files, and processes map them. */
  #isWhole(path: string): boolean {
    try {
      return isOwn(path) && isTablesFile(readFileSync(path));
    } catch {
      return false;
    }
  }

  /** Makes the tables of an object, unless `has` returns true. */
  make(object: ObjectFile): void {
    const key = tableKey(object);
    if (key === undefined || this.has(object)) return;
    const bytes = tablesFile(UnwindTable.fromObject(object));
    writeWholeFile(join(this.folder, key), (file) => file.write(bytes), KEPT_MODE);
  }
}

/**
 * Returns the result of `make`, or its cached result of an earlier run. The name must identify all inputs
 * except the code, which has a version.
 */
export function cachedFile(folder: string, name: string, make: () => Uint8Array): Uint8Array {
  const version = builtVersion(import.meta.url);
  if (version === undefined) return make();
  const [kind, ...rest] = name.split("-");
  const path = join(folder, [kind, version, ...rest].join("-"));
  const before = readKept(path);
  if (before !== undefined) return before;
  const made = make();
  writeKept(path, made);
  return made;
}
