import { ByteWriter } from "../../ground/bytes/writer.ts";
import { encode, type OperandSize } from "./encode.ts";
import { CONDITIONS, type Condition } from "./forms.ts";
import { int32, type Label, type Operand } from "./operands.ts";

/**
 * Four bytes at `offset` to which the loader adds the distance from `offset` to a symbol. The bytes already contain
 * `addend`.
 */
export interface Relocation {
  offset: number;
  symbol: string;
  addend: number;
}

export interface AssembledCode {
  bytes: Uint8Array;
  literals: number;
  relocations: Relocation[];
  offsetOf(label: Label): number;
}

interface Position {
  /** Offset without the bytes of stretches. */
  raw: number;
  stretches: number;
}

interface Distance extends Position {
  target: Label | string;
  /** Bytes between the 4-byte distance and the next instruction. */
  tail: number;
}

const LITERAL_ALIGNMENT = 16;
const CALL = 0xe8;
const FILLER = 0xcc;

/**
 * Writes instructions one after another. Jumps and alignments ("stretches") get their sizes at the end, when all
 * distances are known. All other code keeps its order, so a position is a number of bytes plus the number of
 * stretches before it.
 */
export class Assembler {
  readonly #code = new ByteWriter(1 << 14);
  readonly #literals = new ByteWriter(1 << 8);
  readonly #labels: (Position | undefined)[] = [];
  /** Labels of literals by content, and the offsets of these labels among the literals. */
  readonly #literalByContent = new Map<string, Label>();
  readonly #literalOffsets = new Map<Label, number>();
  readonly #tables: { at: number; targets: readonly Label[] }[] = [];
  readonly #stretches: (Stretch & { condition?: Condition | undefined; target?: Label })[] = [];
  readonly #distances: Distance[] = [];

  label(): Label {
    return (this.#labels.push(undefined) - 1) as Label;
  }

  bind(label: Label): void {
    this.#labels[label] = this.#position();
  }

  here(): Label {
    const label = this.label();
    this.bind(label);
    return label;
  }

  /** Appends an instruction. `size`: bytes of the operands, ignored if the instruction has only one size. */
  put(mnemonic: string, size: OperandSize, ...operands: readonly Operand[]): void {
    const { bytes, relative } = encode(mnemonic, size, operands);
    this.#code.bytes(bytes);
    if (relative !== undefined) this.#addDistance(relative.target, relative.tail);
  }

  jump(target: Label, condition?: Condition): void {
    this.#stretches.push({ raw: this.#code.length, kind: "jump", long: false, condition, target });
  }

  call(target: Label): void {
    this.#code.u8(CALL).u32(0);
    this.#addDistance(target, 0);
  }

  /** Aligns the next instruction to a multiple of `bytes`. Control flow must not reach the padding. */
  align(bytes: number): void {
    this.#stretches.push({ raw: this.#code.length, kind: "alignment", bytes });
  }

  literal(content: Uint8Array): Label {
    const key = content.join();
    const knownLabel = this.#literalByContent.get(key);
    if (knownLabel !== undefined) return knownLabel;
    const label = this.#newLiteral();
    this.#literals.bytes(content);
    this.#literalByContent.set(key, label);
    return label;
  }

  /** Returns the label of a table after the code: the 4-byte distance from the table to each label. */
  table(targets: readonly Label[]): Label {
    const label = this.#newLiteral();
    this.#tables.push({ at: this.#literals.length, targets });
    for (const _ of targets) this.#literals.u32(0);
    return label;
  }

  finish(): AssembledCode {
    const raw = this.#code.view();
    const labelAt = (label: Label) => this.#labels[label] as Position;
    const sizeBefore = settle(
      this.#stretches.map((stretch) => ({
        ...stretch,
        to: stretch.target === undefined ? undefined : labelAt(stretch.target),
      })),
    );
    const final = ({ raw, stretches }: Position) => raw + sizeBefore[stretches];
    const codeEnd = final(this.#position());
    const literals = Math.ceil(codeEnd / LITERAL_ALIGNMENT) * LITERAL_ALIGNMENT;
    const offsetOf = (label: Label) => {
      const literal = this.#literalOffsets.get(label);
      return literal === undefined ? final(labelAt(label)) : literals + literal;
    };

    const bytes = new Uint8Array(literals + this.#literals.length).fill(FILLER, 0, literals);
    let from = 0;
    this.#stretches.forEach(({ raw: to, condition, target }, i) => {
      bytes.set(raw.subarray(from, to), from + sizeBefore[i]);
      from = to;
      const start = to + sizeBefore[i];
      const end = to + sizeBefore[i + 1];
      if (target !== undefined) bytes.set(jumpBytes(offsetOf(target) - end, end - start, condition), start);
    });
    bytes.set(raw.subarray(from), from + sizeBefore[this.#stretches.length]);
    bytes.set(this.#literals.view(), literals);

    const relocations: Relocation[] = [];
    for (const distance of this.#distances) {
      const offset = final(distance);
      const addend = -4 - distance.tail;
      if (typeof distance.target === "string") relocations.push({ offset, symbol: distance.target, addend });
      else bytes.set(int32(offsetOf(distance.target) - offset + addend), offset);
    }
    for (const { at, targets } of this.#tables)
      targets.forEach((target, i) => {
        bytes.set(int32(offsetOf(target) - literals - at), literals + at + 4 * i);
      });
    return { bytes, literals, relocations, offsetOf };
  }

  #position(): Position {
    return { raw: this.#code.length, stretches: this.#stretches.length };
  }

  #addDistance(target: Label | string, tail: number): void {
    const { raw, stretches } = this.#position();
    this.#distances.push({ raw: raw - tail - 4, stretches, target, tail });
  }

  #newLiteral(): Label {
    while (this.#literals.length % LITERAL_ALIGNMENT !== 0) this.#literals.u8(0);
    const label = this.label();
    this.#literalOffsets.set(label, this.#literals.length);
    return label;
  }
}

function jumpBytes(distance: number, size: number, condition: Condition | undefined): number[] {
  const number = condition === undefined ? 0 : CONDITIONS.indexOf(condition);
  if (size === 2) return [condition === undefined ? 0xeb : 0x70 + number, distance & 0xff];
  return [...(condition === undefined ? [0xe9] : [0x0f, 0x80 + number]), ...int32(distance)];
}

/** Part of the code whose size depends on its position: a jump, or an alignment. */
export type Stretch = { raw: number } & (
  | { kind: "jump"; long: boolean; condition?: unknown }
  | { kind: "alignment"; bytes: number }
);

type Placed = Stretch & { to?: { raw: number; stretches: number } | undefined };

/**
 * Bytes of all stretches before each stretch, and in the last entry of all. Jumps are short at first. Jumps that do
 * not reach become long until all reach. A long one never becomes short again, so the loop ends.
 */
export function settle(stretches: readonly Placed[]): readonly number[] {
  const jumps = stretches.map((stretch) => ({ ...stretch }));
  const sizeBefore = new Array<number>(jumps.length + 1).fill(0);
  for (let changed = true; changed; ) {
    changed = false;
    jumps.forEach((jump, i) => {
      const at = jump.raw + sizeBefore[i];
      sizeBefore[i + 1] = sizeBefore[i] + sizeOf(jump, at);
    });
    jumps.forEach((jump, i) => {
      if (jump.kind !== "jump" || jump.long || jump.to === undefined) return;
      const distance = jump.to.raw + sizeBefore[jump.to.stretches] - (jump.raw + sizeBefore[i + 1]);
      if (distance === (distance << 24) >> 24) return;
      jump.long = true;
      changed = true;
    });
  }
  return sizeBefore;
}

function sizeOf(stretch: Placed, at: number): number {
  if (stretch.kind === "alignment") return (stretch.bytes - (at % stretch.bytes)) % stretch.bytes;
  if (!stretch.long) return 2;
  return stretch.condition === undefined ? 5 : 6;
}
