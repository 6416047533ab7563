import type { ObjectFile } from "../../../code/objects/types.ts";
import { decode, FLOW, Instruction } from "../../../code/x64/decode/index.ts";
import { RBP, RSP } from "../../../code/x64/index.ts";
import { int32At } from "../../../ground/bytes/numbers.ts";
import { type Code, type CodeFunction, endsPath, TRAIT } from "./code.ts";
import { relocatedPointers } from "./dynamic.ts";
import { computedJumps, type JumpTable, jumpTables, relativeAddress } from "./jump-tables.ts";

/** No block, or no function. */
export const NONE = -1;

/** Ways in which control leaves a block. */
export const EXIT = {
  /** to `next` and `target`, unless they are `NONE` */
  blocks: 0,
  /** a call of a function of this object, then `next` */
  call: 1,
  /** a call of anything else */
  unknownCall: 2,
  return: 3,
  /** a jump to a function of this object, which returns to this one's caller */
  tailCall: 4,
  /** a jump to any other function */
  unknownTailCall: 5,
  indirectJump: 6,
  /** a call of code that may follow no calling convention */
  opaqueCall: 7,
  opaqueJump: 8,
  trap: 9,
} as const;

/** Basic blocks of all functions, in columns. A call ends a block. */
export class FlowGraph {
  readonly code: Code;
  count = 0;
  /** First instruction of each block, and a last entry for the end. */
  readonly firsts: Int32Array;
  readonly exits: Uint8Array;
  readonly nexts: Int32Array;
  readonly targets: Int32Array;
  /** Function that a call or tail call leads to. */
  readonly callees: Int32Array;
  readonly functionOf: Int32Array;
  /** Blocks of function f: `[blocksOf[f], blocksOf[f + 1])`. */
  readonly blocksOf: Int32Array;
  /** Per function: blocks that its indirect jumps may reach, and its landing pads. */
  readonly labels: readonly (Int32Array | undefined)[];
  readonly landingPads: readonly (Int32Array | undefined)[];
  /**
   * Groups of functions that share blocks by jumps into their middle, and are solved together. The lowest
   * function of a group is its number.
   */
  readonly groupOf: Int32Array;
  readonly #blockOf: Int32Array;

  readonly #unknownJumps: ReadonlySet<number>;

  constructor(code: Code, labels: Labels) {
    this.code = code;
    this.#unknownJumps = labels.unknown;
    this.#blockOf = new Int32Array(code.count).fill(NONE);
    this.firsts = new Int32Array(code.count + 1);
    this.blocksOf = new Int32Array(code.functions.length + 1);
    this.functionOf = new Int32Array(code.count);
    this.#cut();
    this.exits = new Uint8Array(this.count);
    this.nexts = new Int32Array(this.count).fill(NONE);
    this.targets = new Int32Array(this.count).fill(NONE);
    this.callees = new Int32Array(this.count).fill(NONE);
    this.groupOf = Int32Array.from(code.functions.keys());
    for (let block = 0; block < this.count; block++) this.#connect(block);
    code.functions.forEach((codeFunction, f) => {
      if (returnsElsewhere(code, codeFunction)) this.#openReturns(f);
    });
    this.labels = code.functions.map((_, f) => this.#blocksAt(f, labels.ofFunction.get(f)));
    this.landingPads = code.functions.map(({ start, exceptions }, f) =>
      this.#blocksAt(f, exceptions && padsOf(start, exceptions.callSites)),
    );
    for (const f of this.groupOf.keys()) this.groupOf[f] = this.#groupOf(f);
  }

  blockAt(offset: number): number {
    const instruction = this.code.instructionAt(offset);
    return instruction < 0 ? NONE : this.#blockOf[instruction];
  }

  #cut(): void {
    const { code } = this;
    code.functions.forEach(({ first, last }, f) => {
      this.blocksOf[f] = this.count;
      for (let i = first, starts = true; i < last; i++) {
        if (starts || (code.traits[i] & TRAIT.leader) !== 0) {
          this.functionOf[this.count] = f;
          this.#blockOf[i] = this.count;
          this.firsts[this.count++] = i;
        }
        const flow = code.flows[i];
        starts = flow !== FLOW.next && flow !== FLOW.systemCall;
      }
    });
    this.blocksOf[code.functions.length] = this.count;
    this.firsts[this.count] = code.count;
  }

  #connect(block: number): void {
    const { code } = this;
    const last = this.firsts[block + 1] - 1;
    const flow = code.flows[last];
    const behind = code.offsets[last] + code.lengths[last];
    // A call at a function's end does not return; the next function follows it by chance.
    const isCall = flow === FLOW.call || flow === FLOW.indirectCall;
    const isLast = behind === code.functions[this.functionOf[block]].end;
    if (!endsPath(flow) && !(isCall && isLast)) this.nexts[block] = this.#join(block, this.blockAt(behind));
    const target = code.targets[last];
    const callee = flow === FLOW.call || flow === FLOW.jump ? code.functionAt(target) : NONE;
    this.callees[block] = callee;
    switch (flow) {
      case FLOW.call:
        this.exits[block] =
          callee !== NONE ? EXIT.call : code.stubs.has(target) ? EXIT.unknownCall : EXIT.opaqueCall;
        break;
      case FLOW.indirectCall:
        this.exits[block] = EXIT.unknownCall;
        break;
      case FLOW.return:
        this.exits[block] = EXIT.return;
        break;
      case FLOW.indirectJump:
        this.exits[block] = this.#unknownJumps.has(last) ? EXIT.opaqueJump : EXIT.indirectJump;
        break;
      case FLOW.trap:
        this.exits[block] = EXIT.trap;
        break;
      case FLOW.jump:
      case FLOW.branch:
        this.#connectJump(block, target, callee);
        break;
      default:
        break;
    }
    // Control passes the end of the function into unknown code.
    const runsOut = flow === FLOW.next || flow === FLOW.systemCall || flow === FLOW.branch;
    if (runsOut && this.nexts[block] === NONE) this.exits[block] = EXIT.opaqueJump;
  }

  #openReturns(f: number): void {
    for (let block = this.blocksOf[f]; block < this.blocksOf[f + 1]; block++)
      if (this.exits[block] === EXIT.return) this.exits[block] = EXIT.opaqueJump;
  }

  #connectJump(block: number, target: number, callee: number): void {
    const own = this.functionOf[block];
    if (callee !== NONE && callee !== own) {
      this.exits[block] = EXIT.tailCall;
      return;
    }
    this.targets[block] = this.#join(block, this.blockAt(target));
    if (this.targets[block] === NONE)
      this.exits[block] = this.code.stubs.has(target) ? EXIT.unknownTailCall : EXIT.opaqueJump;
  }

  #join(block: number, other: number): number {
    if (other !== NONE) this.#unite(this.functionOf[block], this.functionOf[other]);
    return other;
  }

  #unite(first: number, other: number): void {
    const [a, b] = [this.#groupOf(first), this.#groupOf(other)];
    this.groupOf[Math.max(a, b)] = Math.min(a, b);
  }

  #groupOf(f: number): number {
    let root = f;
    while (this.groupOf[root] !== root) root = this.groupOf[root];
    for (let at = f; at !== root; ) {
      const next = this.groupOf[at];
      this.groupOf[at] = root;
      at = next;
    }
    return root;
  }

  #blocksAt(f: number, offsets: ReadonlySet<number> | undefined): Int32Array | undefined {
    if (offsets === undefined || offsets.size === 0) return undefined;
    const blocks = [...offsets].map((offset) => this.blockAt(offset)).filter((block) => block !== NONE);
    for (const block of blocks) this.#unite(f, this.functionOf[block]);
    return Int32Array.from(blocks);
  }
}

function padsOf(start: number, callSites: readonly { landingPad: number }[]): Set<number> {
  return new Set(callSites.flatMap(({ landingPad }) => (landingPad === 0 ? [] : [start + landingPad])));
}

/** Entry of a table that code uses only for jumps. */
export interface TableEntry {
  /** SVMA of the entry, and the SVMA that it counts from: the table, or 0 */
  readonly address: number;
  readonly from: number;
  readonly bytes: 4 | 8;
  readonly target: number;
}

interface Labels {
  /** Per function with any: offsets that its indirect jumps may reach. */
  readonly ofFunction: ReadonlyMap<number, ReadonlySet<number>>;
  readonly entries: readonly TableEntry[];
  /** Indirect jumps (instructions) with unknown targets. */
  readonly unknown: ReadonlySet<number>;
}

const PF_W = 2;
const POINTER_BYTES = 8;
const MOST_TABLE_BYTES = 1 << 30;

/**
 * Finds and marks targets of computed addresses: entries of jump tables, and all other pointers into a
 * function.
 * Tables are guessed: numbers that lead to instructions of the function that reads them. A wrong guess only
 * marks an instruction as a leader.
 */
export function findLabels(code: Code, object: ObjectFile): Labels {
  const ofFunction = new Map<number, Set<number>>();
  const add = (owner: number, offset: number): void => {
    code.mark(offset, TRAIT.leader | TRAIT.label);
    const offsets = ofFunction.get(owner);
    if (offsets === undefined) ofFunction.set(owner, new Set([offset]));
    else offsets.add(offset);
  };
  for (const address of object.symbols().addresses)
    code.mark(address - code.base, TRAIT.leader | TRAIT.label);
  for (const address of relocatedPointers(object)) {
    const offset = address - code.base;
    const owner = code.instructionAt(offset) < 0 ? -1 : code.functionAround(offset);
    if (owner >= 0 && code.functions[owner].start !== offset) add(owner, offset);
  }
  const areFixed = object.type === "executable";
  const unknown = new Set(computedJumps(code, areFixed));
  const tables = [...jumpTables(code, areFixed)];
  // A table ends at the latest where the next one begins.
  tables.sort((a, b) => b.address - a.address);
  const entries = new Map<number, TableEntry>();
  const references = dataReferences(code);
  let last = Number.POSITIVE_INFINITY;
  let end = Number.POSITIVE_INFINITY;
  for (const table of tables) {
    if (table.address !== last) end = last;
    last = table.address;
    let isCertain = table.isCertain && isReadOnly(object, table.address);
    for (const entry of entriesOf(table, end, code, object)) {
      add(table.owner, entry.target);
      if (entry.address === table.address) for (const jump of table.jumps) unknown.delete(jump);
      isCertain &&= entry.address === table.address || !isReferenced(references, entry);
      // Following data may resemble distances, but such numbers rarely lead to the same function. Pointers to
      // a function's start may be called or compared elsewhere.
      const isOwn = entry.bytes === POINTER_BYTES || code.functionAround(entry.target) === table.owner;
      if (isCertain && isOwn && code.functionAt(entry.target) < 0) entries.set(entry.address, entry);
    }
  }
  return { ofFunction, entries: [...entries.values()], unknown };
}

function* entriesOf(table: JumpTable, end: number, code: Code, object: ObjectFile): Iterable<TableEntry> {
  const { address, owner, bytes: size, origin, jumps } = table;
  const { start: functionStart, end: functionEnd } = code.functions[owner];
  const isInside = (offset: number): boolean => offset >= functionStart && offset < functionEnd;
  // An address inside code is a label and no table.
  if (code.instructionAt(address - code.base) >= 0) {
    const target = address - code.base;
    if (isInside(target) && target !== functionStart) yield { address, from: origin, bytes: size, target };
    return;
  }
  const bytes = object.bytesAt(address, Math.min(end - address, MOST_TABLE_BYTES));
  for (let at = address; at + size <= address + bytes.length; at += size) {
    const low = int32At(bytes, at - address);
    const value = size === 8 ? (low >>> 0) + int32At(bytes, at - address + 4) * 2 ** 32 : origin + low;
    const target = value - code.base;
    // Cold parts of a function are functions of their own. Distances from a label are small numbers, which
    // are common in other data.
    const isFromLabel = size === 4 && origin !== address;
    const isGuess = at === address && jumps.length === 0;
    if (code.instructionAt(target) < 0 || ((isFromLabel || isGuess) && !isInside(target))) return;
    yield { address: at, from: origin, bytes: size, target };
  }
}

/** Returns addresses of data in rip-relative operands. */
function dataReferences(code: Code): Set<number> {
  const references = new Set<number>();
  const end = code.base + code.bytes.length;
  for (let i = 0; i < code.count; i++) {
    if (code.relativeAt[i] === 0) continue;
    const address = relativeAddress(code, i);
    if (address < code.base || address >= end) references.add(address);
  }
  return references;
}

function isReferenced(references: ReadonlySet<number>, { address, bytes }: TableEntry): boolean {
  for (let at = address; at < address + bytes; at++) if (references.has(at)) return true;
  return false;
}

function isReadOnly({ segments }: ObjectFile, address: number): boolean {
  const segment = segments.find((each) => address >= each.address && address < each.address + each.fileSize);
  return segment !== undefined && (segment.flags & PF_W) === 0;
}

const RBP_BIT = 1 << RBP.number;
const RSP_BIT = 1 << RSP.number;
/** Opcodes of `mov` to and from memory, `xchg`, `xchg` with rax, and `pop` of rsp. */
const [MOV_TO, MOV_FROM, XCHG, XCHG_RAX, POP_RSP] = [0x89, 0x8b, 0x87, 0x94, 0x5c];
const [PUSH_FIRST, PUSH_LAST, PUSH_CONSTANT] = [0x50, 0x57, 0x68];

/**
 * Returns true if a function's `ret` may lead elsewhere than behind its call, with a value in any register.
 * The function switches the stack (`swapcontext`) or has put an address there itself (retpolines).
 */
export function returnsElsewhere(code: Code, { first, last }: CodeFunction): boolean {
  for (let i = first; i < last; i++)
    if (takesStack(code, i) || (code.flows[i] === FLOW.return && i > first && putsAddress(code, i - 1)))
      return true;
  return false;
}

/** Returns true if rsp gets another value than the frame pointer's. */
function takesStack({ kills, reads, opcodes }: Code, i: number): boolean {
  if ((kills[i] & RSP_BIT) === 0) return false;
  switch (opcodes[i]) {
    case MOV_TO:
    case MOV_FROM:
      return reads[i] !== RBP_BIT;
    case XCHG:
    case XCHG_RAX:
    case POP_RSP:
      return true;
    default:
      return false;
  }
}

const instruction = new Instruction();

function putsAddress({ bytes, offsets, opcodes, reads }: Code, i: number): boolean {
  const opcode = opcodes[i];
  if ((reads[i] & RSP_BIT) === 0) return false;
  if ((opcode >= PUSH_FIRST && opcode <= PUSH_LAST) || opcode === PUSH_CONSTANT) return true;
  if (opcode !== MOV_TO) return false;
  decode(bytes, offsets[i], instruction);
  const { base, index, displacement } = instruction;
  return base === RSP.number && index < 0 && displacement === 0;
}
