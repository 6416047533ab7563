/** Where a tool writes the instructions of one insertion. Opcodes are ids of the opcode table below 0x100. */
export interface SnippetSink {
  /** An instruction without immediates. */
  plain(opcode: number): void;
  /** A prefixed instruction without immediates, by its id in the opcode table. */
  prefixed(id: number): void;
  /** An instruction with one index, as `call` or `global.get`. */
  indexed(opcode: number, index: number): void;
  /** `local.get`, `set` or `tee` of a local of the function or of a temporary. */
  local(opcode: number, symbol: number): void;
  /** A prefixed instruction with a lane. */
  lane(id: number, lane: number): void;
  i32(value: number): void;
  /** Numbers are of 32 bits, signed. */
  i64(value: bigint | number): void;
  /** A load or store, by its id: alignment as a power of two, memory, constant added to the address. */
  access(id: number, alignment: number, memory: number, displacement: number): void;
  /** `block`, `loop` or `if` without parameters; `result` is a type byte, 0x40 for none. */
  open(opcode: number, result: number): void;
  /** `block`, `loop` or `if` with the parameters and results of a function type. */
  openTyped(opcode: number, typeIndex: number): void;
  /** The `if` or `br_if` written next is hardly ever taken: engines are told so. */
  rarely(): void;
  end(): void;
  /** Nothing: tells where code stands whose call may be found on a stack, by its position in the original module. */
  mark(position: number): void;
}
