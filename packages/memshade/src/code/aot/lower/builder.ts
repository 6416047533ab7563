import {
  type FunctionCode,
  type Instruction,
  isAddress,
  NONE,
  type Operation,
  type Source,
  type Value,
} from "../code.ts";

const PLAIN: Omit<Instruction, "op" | "to" | "from"> = {
  wide: false,
  depth: 0,
  name: "",
  comparison: "cmp",
  condition: "e",
  bytes: 0,
  signed: false,
  label: 0,
  labels: [],
  number: 0,
  content: undefined,
  effect: false,
  kills: 0,
  killsVectors: false,
  late: false,
};

/** Appends instructions to a function. */
export class CodeBuilder {
  readonly code: FunctionCode;
  /** How many loops are around what is appended. */
  depth = 0;

  readonly #keepTraps: boolean;

  /** `keepTraps`: what may trap is not left out. */
  constructor(code: FunctionCode, keepTraps: boolean) {
    this.code = code;
    this.#keepTraps = keepTraps;
  }

  newValue(vector = false): Value {
    return this.code.vector.push(vector) - 1;
  }

  newLabel(): number {
    return this.code.labels++;
  }

  get last(): Instruction | undefined {
    return this.code.instructions.at(-1);
  }

  /** Takes the last instruction away again. */
  takeLast(): Instruction {
    return this.code.instructions.pop() as Instruction;
  }

  add(op: Operation, to: Value, from: readonly Source[], more: Partial<Instruction> = {}): void {
    const { depth } = this;
    this.code.instructions.push({
      ...PLAIN,
      op,
      to,
      from,
      depth,
      effect: to === NONE || this.#mayTrap(op, from),
      ...more,
    });
  }

  #mayTrap(op: Operation, from: readonly Source[]): boolean {
    return this.#keepTraps && (op === "divide" || (op !== "lea" && from.some(isAddress)));
  }

  /** As `add`, into a new value, which it returns. */
  make(op: Operation, from: readonly Source[], more: Partial<Instruction> = {}, vector = false): Value {
    const to = this.newValue(vector);
    this.add(op, to, from, more);
    return to;
  }
}
