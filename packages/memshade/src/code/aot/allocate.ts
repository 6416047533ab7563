import {
  type FunctionCode,
  type Instruction,
  isAddress,
  isConstant,
  NONE,
  type Value,
  valuesOf,
} from "./code.ts";
import { ALLOCATABLE, ALLOCATABLE_VECTORS, ARGUMENTS, CALLEE_SAVED, maskOf } from "./convention.ts";

/** Home of each value: the number of a register, or NONE for a value on the stack. */
export interface Assignment extends Pick<Ranges, "dead" | "readParameters"> {
  registers: Int8Array;
  saved: number[];
}

const VECTOR_SHIFT = 16;
const ALL_VECTORS = 0xffff << VECTOR_SHIFT;
const COST_OF_SAVING = 2;
const SAVED_MASK = maskOf(CALLEE_SAVED);

/**
 * Assigns registers to values, the heaviest value first. A value gets a register that is free in all its ranges, if
 * possible the register of a value that it is moved from or to. A value has the same home all its life. `limit`:
 * number of registers of each kind.
 */
export function assignRegisters(code: FunctionCode, limit = ALLOCATABLE_VECTORS): Assignment {
  const { instructions, vector } = code;
  const { ranges, weights, dead, readParameters } = findRanges(code);
  const registers = new Int8Array(vector.length).fill(NONE);
  const busy = overwritten(instructions, dead);
  const hints = findHints(code, dead);
  const order = [...ranges.keys()].filter((value) => ranges[value].length > 0);
  order.sort((a, b) => weights[b] - weights[a] || a - b);
  const general = ALLOCATABLE.slice(0, limit);
  const vectors = Array.from({ length: Math.min(limit, ALLOCATABLE_VECTORS) }, (_, i) => i);
  let saved = 0;

  for (const value of order) {
    const shift = vector[value] ? VECTOR_SHIFT : 0;
    const taken = takenIn(busy, ranges[value]) >>> shift;
    const choices = vector[value] ? vectors : general;
    const hinted = hints[value].map((hint) => (hint < 0 ? ~hint : registers[hint]));
    const found = [...hinted.filter((candidate) => choices.includes(candidate)), ...choices].find(
      (register) => {
        if ((taken & (1 << register)) !== 0) return false;
        const fresh = shift === 0 && (SAVED_MASK & ~saved & (1 << register)) !== 0;
        return !fresh || weights[value] > COST_OF_SAVING;
      },
    );
    if (found === undefined) continue;
    registers[value] = found;
    if (shift === 0) saved |= (1 << found) & SAVED_MASK;
    for (let i = 0; i < ranges[value].length; i += 2)
      for (let at = ranges[value][i]; at < ranges[value][i + 1]; at++) busy[at] |= (1 << found) << shift;
  }
  return {
    registers,
    dead,
    readParameters,
    saved: CALLEE_SAVED.filter((register) => (saved & (1 << register)) !== 0),
  };
}

/** Registers that an instruction overwrites, at each position: general registers in the lower half. */
function overwritten(instructions: readonly Instruction[], dead: Uint8Array): Uint32Array {
  const busy = new Uint32Array(instructions.length * POSITIONS);
  instructions.forEach(({ kills, killsVectors }, at) => {
    if (dead[at] === 0) busy[at * POSITIONS + KILLS] = kills | (killsVectors ? ALL_VECTORS : 0);
  });
  return busy;
}

function takenIn(busy: Uint32Array, ranges: readonly number[]): number {
  let taken = 0;
  for (let i = 0; i < ranges.length; i += 2)
    for (let at = ranges[i]; at < ranges[i + 1]; at++) taken |= busy[at];
  return taken;
}

/**
 * Lists, for each value, the values whose register saves a move. A register among them is given as its complement.
 */
function findHints(code: FunctionCode, dead: Uint8Array): number[][] {
  const { instructions, vector, parameters } = code;
  const hints: number[][] = vector.map(() => []);
  const join = (a: Value, b: Value) => {
    hints[a].push(b);
    hints[b].push(a);
  };
  const arrive = (values: readonly unknown[]) => {
    let general = 0;
    let vectors = 0;
    for (const value of values) {
      const isVector = typeof value === "number" && vector[value];
      const register = isVector ? vectors++ : ARGUMENTS[general++];
      if (typeof value === "number" && register !== undefined) hints[value].push(~register);
    }
  };
  arrive(parameters);
  instructions.forEach(({ op, to, from }, at) => {
    if (dead[at] !== 0) return;
    if (op === "call" || op === "tail call" || op === "call C") arrive(from);
    else if (to !== NONE)
      for (const source of from.slice(0, op === "select" ? 4 : 1)) {
        const value = isAddress(source) ? source.base : source;
        if (typeof value === "number" && value !== NONE && vector[value] === vector[to]) join(to, value);
      }
  });
  return hints;
}

/** Instructions that run one after another, `[start, end)`. */
interface Block {
  start: number;
  end: number;
  next: number[];
}

/** Values alive at the end of each block: a bit for each value, 32 to a word. */
interface Liveness {
  blocks: Block[];
  liveOut: Uint32Array[];
}

const LEAVING: readonly Instruction["op"][] = ["jump", "table", "return", "tail call", "jump out", "trap"];

function findLiveness(code: FunctionCode): Liveness {
  const { instructions } = code;
  const blocks = findBlocks(code);
  const words = Math.ceil(code.vector.length / 32);
  const sets = () => blocks.map(() => new Uint32Array(words));
  const [reads, writes, liveIn, liveOut] = [sets(), sets(), sets(), sets()];
  blocks.forEach(({ start, end }, i) => {
    for (let at = end - 1; at >= start; at--) {
      const { to, from } = instructions[at];
      if (to !== NONE) {
        writes[i][to >> 5] |= 1 << to;
        reads[i][to >> 5] &= ~(1 << to);
      }
      for (const source of from) for (const value of valuesOf(source)) reads[i][value >> 5] |= 1 << value;
    }
  });
  for (let changed = true; changed; ) {
    changed = false;
    for (let i = blocks.length - 1; i >= 0; i--)
      for (let word = 0; word < words; word++) {
        let out = 0;
        for (const next of blocks[i].next) out |= liveIn[next][word];
        liveOut[i][word] = out;
        const live = (reads[i][word] | (out & ~writes[i][word])) >>> 0;
        if (live === liveIn[i][word]) continue;
        liveIn[i][word] = live;
        changed = true;
      }
  }
  return { blocks, liveOut };
}

function findBlocks({ instructions, labels }: FunctionCode): Block[] {
  const blocks: Block[] = [];
  const blockOf = new Array<number>(labels);
  let start = 0;
  const close = (end: number) => {
    if (end > start) blocks.push({ start, end, next: [] });
    start = end;
  };
  instructions.forEach(({ op, label }, at) => {
    if (op === "label") {
      close(at);
      blockOf[label] = blocks.length;
    } else if (op === "branch" || LEAVING.includes(op)) close(at + 1);
  });
  close(instructions.length);
  blocks.forEach((block, i) => {
    const { op, label, labels } = instructions[block.end - 1];
    if (op === "branch" || op === "jump") block.next.push(blockOf[label]);
    if (op === "table") block.next.push(...new Set(labels.map((target) => blockOf[target])));
    if (!LEAVING.includes(op) && i + 1 < blocks.length) block.next.push(i + 1);
  });
  return blocks;
}

/*
 * Instruction k has three positions: it reads at 3k, overwrites registers at 3k + 1 and writes its result at 3k +
 * 2. A result may therefore take the register of an operand that no later instruction reads.
 */
const KILLS = 1;
const WRITES = 2;
const POSITIONS = 3;

interface Ranges {
  /** Pairs: the value must be kept in `[from, to)`. */
  ranges: number[][];
  /** Number of uses, where a use in a loop counts 8 times. */
  weights: Float64Array;
  dead: Uint8Array;
  /** True for each parameter whose initial content is read. */
  readParameters: boolean[];
}

const LOOP_FACTOR = 8;

function findRanges(code: FunctionCode): Ranges {
  const { instructions, vector, parameters } = code;
  const { blocks, liveOut } = findLiveness(code);
  const ranges: number[][] = vector.map(() => []);
  const weights = new Float64Array(vector.length);
  const dead = new Uint8Array(instructions.length);
  const readParameters = parameters.map(() => false);
  const open = new Uint32Array(vector.length);

  for (let i = blocks.length - 1; i >= 0; i--) {
    const { start, end } = blocks[i];
    forEachBit(liveOut[i], (value) => {
      open[value] = end * POSITIONS;
    });
    for (let at = end - 1; at >= start; at--) {
      const { to, from, depth, late, effect } = instructions[at];
      const weight = LOOP_FACTOR ** depth;
      const position = at * POSITIONS;
      if (to !== NONE) {
        if (open[to] === 0 && !effect) {
          dead[at] = 1;
          continue;
        }
        ranges[to].push(position + WRITES, Math.max(open[to], position + POSITIONS));
        open[to] = 0;
        weights[to] += weight;
      }
      for (const source of from) {
        if (isConstant(source)) continue;
        for (const value of valuesOf(source)) {
          weights[value] += weight;
          if (open[value] === 0) open[value] = position + (late ? WRITES : KILLS);
        }
      }
    }
    for (let value = 0; value < open.length; value++) {
      if (open[value] === 0) continue;
      ranges[value].push(start * POSITIONS, open[value]);
      open[value] = 0;
      if (start === 0 && value < parameters.length) readParameters[value] = true;
    }
  }
  return { ranges, weights, dead, readParameters };
}

function forEachBit(set: Uint32Array, use: (bit: number) => void): void {
  set.forEach((word, i) => {
    for (let rest = word; rest !== 0; rest &= rest - 1) use(i * 32 + 31 - Math.clz32(rest & -rest));
  });
}
