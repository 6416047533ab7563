/** Receives the instructions of one insertion. Opcodes are ids of the opcode table below 0x100. */
export interface SnippetSink {
  plain(opcode: number): void;
  /** Writes a prefixed instruction without immediates, by its id in the opcode table. */
  prefixed(id: number): void;
  /** Writes an instruction with one index, such as `call` or `global.get`. */
  indexed(opcode: number, index: number): void;
  /** Writes `local.get`, `set` or `tee` of a local of the function or of a temporary. */
  local(opcode: number, symbol: number): void;
  lane(id: number, lane: number): void;
  i32(value: number): void;
  /** A `number` must be a signed 32-bit value. */
  i64(value: bigint | number): void;
  /** Writes a load or store by id: alignment as a power of two, memory, constant added to the address. */
  access(id: number, alignment: number, memory: number, displacement: number): void;
  /** Opens `block`, `loop` or `if` without parameters; `result` is a type byte, 0x40 for none. */
  open(opcode: number, result: number): void;
  /** Opens `block`, `loop` or `if` with the parameters and results of a function type. */
  openTyped(opcode: number, typeIndex: number): void;
  /** Marks the `if` or `br_if` written next as unlikely, as a hint for engines. */
  rarely(): void;
  end(): void;
  /**
   * Writes no instruction. Records a position of the original module for code whose call may appear in a stack trace.
   */
  mark(position: number): void;
}
