import { type FunctionCode, type Instruction, NONE, valuesOf } from "../code.ts";

/** Instructions that are run one after another, `[start, end)`. */
export interface Block {
  start: number;
  end: number;
  /** Indices of blocks that may run next. */
  next: number[];
}

/** What is alive at the end of each block: a bit for each value, 32 to a word. */
export interface Liveness {
  blocks: Block[];
  liveOut: Uint32Array[];
}

const LEAVING: readonly Instruction["op"][] = ["jump", "table", "return", "tail call", "jump out", "trap"];

export function findLiveness(code: FunctionCode): Liveness {
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
    if (op === "table") block.next.push(...new Set(labels.map((one) => blockOf[one])));
    if (!LEAVING.includes(op) && i + 1 < blocks.length) block.next.push(i + 1);
  });
  return blocks;
}
