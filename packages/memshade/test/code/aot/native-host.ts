// A tiny host for machine code: an executable that maps linear memory, reads commands from its input, calls functions and turns signals
// into traps.
import { spawnSync } from "node:child_process";
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { NativeCode } from "../../../src/code/aot/index.ts";
import { PF_R, PF_W, PF_X, writeElfImage } from "../../../src/code/objects/elf/write/image.ts";
import {
  Assembler,
  type Label,
  place,
  R8,
  R9,
  R10,
  R12,
  R13,
  R14,
  R15,
  RAX,
  RBP,
  RBX,
  RCX,
  RDI,
  RDX,
  type Register,
  RSI,
  RSP,
  relative,
  VECTOR,
} from "../../../src/code/x64/index.ts";

export const RUNS_NATIVE = process.platform === "linux" && process.arch === "x64";
if (!RUNS_NATIVE) console.warn("SKIPPED: machine code of x86-64 Linux does not run here");

const ET_EXEC = 2;
const HOST_AT = 0x40_0000;
const CODE_AT = 0x60_0000;
const DATA_AT = 0x1000_0000;
const WORDS = {
  memory: 0,
  savedStack: 8,
  thread: 16,
  c: 24,
  fsBase: 0x400,
  scratch: 0x800,
  text: 0xc00,
  command: 0x1000,
};
const REPLY = 0x1100;
const SIGNAL_STACK = 0x2000;
const SIGNAL_STACK_BYTES = 0x4000;
const DATA_BYTES = 0x8000;
const GLOBALS_BYTES = 0x1_0000;
/** Reserved size: 4 GiB of memory, plus an offset of up to 4 GiB. */
const RESERVED_BYTES = 0x2_0002_0000;

const COMMAND_BYTES = 256;
const REPLY_BYTES = 32;
const [CALL, READ, WRITE] = [0, 1, 2];
const SYSTEM = {
  read: 0,
  write: 1,
  mmap: 9,
  mprotect: 10,
  sigaction: 13,
  exit: 60,
  sigaltstack: 131,
  arch_prctl: 158,
};
const SIGNALS = [4, 7, 8, 11];
const TRAP_NAMES: Readonly<Record<number, string>> = {
  4: "unreachable",
  7: "out of bounds",
  8: "division",
  11: "out of bounds",
};

export type Argument = bigint | Uint8Array;

export type Command =
  | { kind: "call"; entry: number; args: readonly Argument[] }
  | { kind: "read"; address: number; length: number }
  | { kind: "write"; address: number; bytes: Uint8Array };

export type Reply =
  | { kind: "result"; general: bigint; vector: Uint8Array }
  | { kind: "trap"; why: string }
  | { kind: "bytes"; bytes: Uint8Array };

/** `c` functions of the host: `argument_sum` adds up six arguments, `stack_alignment` returns rsp modulo 16. */
const C_FUNCTIONS = ["argument_sum", "stack_alignment"];

/** Runs commands on the code in one process. @param pages of linear memory, 64 KiB each */
export function runNative(native: NativeCode, pages: number, commands: readonly Command[]): Reply[] {
  const folder = mkdtempSync(join(tmpdir(), "memshade-aot-"));
  try {
    const file = join(folder, "host");
    writeFileSync(file, executable(native, pages));
    chmodSync(file, 0o755);
    const setup = [
      ...native.globals.map(({ at, bytes }): Command => ({ kind: "write", address: at, bytes })),
      ...native.data.map(({ address, bytes }): Command => ({ kind: "write", address, bytes })),
    ];
    const input = Buffer.concat([...setup, ...commands].map(encodeCommand));
    const { stdout, status, signal } = spawnSync(file, { input, maxBuffer: 1 << 30 });
    if (status !== 0) throw new Error(`the native host ended with ${status ?? signal}`);
    return decodeReplies(commands, stdout);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function encodeCommand(command: Command): Buffer {
  const bytes = Buffer.alloc(COMMAND_BYTES);
  if (command.kind !== "call") {
    bytes.writeBigInt64LE(BigInt(command.kind === "read" ? READ : WRITE), 0);
    bytes.writeBigInt64LE(BigInt(command.address), 8);
    bytes.writeBigInt64LE(BigInt(command.kind === "read" ? command.length : command.bytes.length), 16);
    return command.kind === "read" ? bytes : Buffer.concat([bytes, command.bytes]);
  }
  bytes.writeBigInt64LE(BigInt(CALL), 0);
  bytes.writeBigInt64LE(BigInt(CODE_AT + command.entry), 8);
  let general = 0;
  let vectors = 0;
  for (const arg of command.args)
    if (typeof arg !== "bigint") bytes.set(arg, 64 + 16 * vectors++);
    else {
      const at = general < 6 ? 16 + 8 * general : 192 + 8 * (general - 6);
      bytes.writeBigUInt64LE(BigInt.asUintN(64, arg), at);
      general++;
    }
  return bytes;
}

function decodeReplies(commands: readonly Command[], stdout: Buffer): Reply[] {
  let at = 0;
  return commands.flatMap((command): Reply[] => {
    if (command.kind === "write") return [];
    if (command.kind === "read") {
      const bytes = new Uint8Array(stdout.subarray(at, at + command.length));
      at += command.length;
      return [{ kind: "bytes", bytes }];
    }
    const reply = stdout.subarray(at, at + REPLY_BYTES);
    at += REPLY_BYTES;
    if (reply.length < REPLY_BYTES) throw new Error("the native host has not answered everything");
    const signal = Number(reply.readBigUInt64LE(0));
    if (signal !== 0) return [{ kind: "trap", why: TRAP_NAMES[signal] ?? `signal ${signal}` }];
    return [
      { kind: "result", general: reply.readBigUInt64LE(8), vector: new Uint8Array(reply.subarray(16)) },
    ];
  });
}

function executable(native: NativeCode, pages: number): Uint8Array {
  const host = new Host(pages);
  const { bytes, offsetOf } = host.asm.finish();
  const code = native.code.slice();
  const data = new Uint8Array(0xd00);
  const view = new DataView(data.buffer);
  view.setBigInt64(WORDS.thread, -64n, true);
  C_FUNCTIONS.forEach((name, i) => {
    view.setBigInt64(WORDS.c + 8 * i, BigInt(HOST_AT + offsetOf(host.cFunctions[name])), true);
  });
  data.set(new TextEncoder().encode("some text"), WORDS.text);
  for (const { kind, name, offset, addend } of native.relocations) {
    const word = kind === "c" ? WORDS.c + 8 * C_FUNCTIONS.indexOf(name) : WORDS[kind];
    new DataView(code.buffer).setInt32(offset, DATA_AT + word - (CODE_AT + offset) + addend, true);
  }
  return writeElfImage({
    type: ET_EXEC,
    entry: HOST_AT + offsetOf(host.start),
    segments: [
      { flags: PF_R | PF_X, address: HOST_AT, bytes },
      { flags: PF_R | PF_X, address: CODE_AT, bytes: code },
      { flags: PF_R | PF_W, address: DATA_AT, bytes: data, memoryBytes: DATA_BYTES },
    ],
  });
}

class Host {
  readonly asm = new Assembler();
  readonly start: Label;
  readonly cFunctions: Readonly<Record<string, Label>>;

  constructor(pages: number) {
    const { asm } = this;
    const [loop, caught, restorer, readAll, reply] = [0, 0, 0, 0, 0].map(() => asm.label());
    this.start = asm.here();
    this.#mapMemory(pages);
    this.#catchSignals(caught, restorer);
    this.#system(SYSTEM.arch_prctl, 0x1002, DATA_AT + WORDS.fsBase);

    asm.bind(loop);
    asm.put("mov", 4, RSI, DATA_AT + WORDS.command);
    asm.put("mov", 4, RDX, COMMAND_BYTES);
    asm.call(readAll);
    const command = (offset: number) => place(undefined, DATA_AT + WORDS.command + offset);
    const [read, write] = [asm.label(), asm.label()];
    asm.put("mov", 8, RAX, command(0));
    asm.put("cmp", 8, RAX, READ);
    asm.jump(read, "e");
    asm.put("cmp", 8, RAX, WRITE);
    asm.jump(write, "e");

    // Values of callee-saved registers. A changed register is reported as such, not as a trap.
    const kept: readonly Register[] = [RBX, RBP, R12, R13, R14, R15];
    asm.put("mov", 8, place(undefined, DATA_AT + WORDS.savedStack), RSP);
    for (const [i, register] of kept.entries()) asm.put("mov", 4, register, 0x1234567 + i);
    asm.put("sub", 8, RSP, 64);
    for (let i = 0; i < 8; i++) {
      asm.put("mov", 8, RAX, command(192 + 8 * i));
      asm.put("mov", 8, place(RSP, 8 * i), RAX);
      asm.put("movups", 8, VECTOR[i], command(64 + 16 * i));
    }
    for (const [i, register] of [RDI, RSI, RDX, RCX, R8, R9].entries())
      asm.put("mov", 8, register, command(16 + 8 * i));
    asm.put("call", 8, command(8));
    asm.put("add", 8, RSP, 64);
    const spoiled = asm.label();
    kept.forEach((register, i) => {
      asm.put("cmp", 8, register, 0x1234567 + i);
      asm.jump(spoiled, "ne");
    });
    asm.put("cmp", 8, RSP, place(undefined, DATA_AT + WORDS.savedStack));
    asm.jump(spoiled, "ne");
    asm.put("xor", 4, RDI, RDI);
    asm.jump(reply);

    asm.bind(spoiled);
    asm.put("mov", 4, RDI, 99);
    asm.bind(caught);
    asm.put("mov", 8, RSP, place(undefined, DATA_AT + WORDS.savedStack));
    asm.bind(reply);
    asm.put("cld", 8);
    asm.put("mov", 4, RBX, DATA_AT + REPLY);
    asm.put("mov", 8, place(RBX), RDI);
    asm.put("mov", 8, place(RBX, 8), RAX);
    asm.put("movups", 8, place(RBX, 16), VECTOR[0]);
    this.#system(SYSTEM.write, 1, DATA_AT + REPLY, REPLY_BYTES);
    asm.jump(loop);

    asm.bind(read);
    this.#address(RSI, command(8));
    asm.put("mov", 8, RDX, command(16));
    const more = asm.here();
    asm.put("mov", 4, RDI, 1);
    asm.put("mov", 4, RAX, SYSTEM.write);
    asm.put("syscall", 8);
    asm.put("add", 8, RSI, RAX);
    asm.put("sub", 8, RDX, RAX);
    asm.jump(more, "ne");
    asm.jump(loop);

    asm.bind(write);
    this.#address(RSI, command(8));
    asm.put("mov", 8, RDX, command(16));
    asm.call(readAll);
    asm.jump(loop);

    asm.bind(readAll);
    const [again, done] = [asm.label(), asm.label()];
    asm.bind(again);
    asm.put("test", 8, RDX, RDX);
    asm.jump(done, "e");
    asm.put("xor", 4, RDI, RDI);
    asm.put("xor", 4, RAX, RAX);
    asm.put("syscall", 8);
    const some = asm.label();
    asm.put("test", 8, RAX, RAX);
    asm.jump(some, "g");
    this.#system(SYSTEM.exit, 0);
    asm.bind(some);
    asm.put("add", 8, RSI, RAX);
    asm.put("sub", 8, RDX, RAX);
    asm.jump(again);
    asm.bind(done);
    asm.put("ret", 8);

    asm.bind(restorer);
    asm.put("ud2", 8);
    this.cFunctions = { argument_sum: this.#argumentSum(), stack_alignment: this.#stackAlignment() };
  }

  #mapMemory(pages: number): void {
    const { asm } = this;
    // PROT_NONE; MAP_PRIVATE, MAP_ANONYMOUS, MAP_NORESERVE
    this.#system(SYSTEM.mmap, 0, RESERVED_BYTES, 0, 0x4022, -1, 0);
    asm.put("mov", 8, R12, RAX);
    asm.put("add", 8, RAX, GLOBALS_BYTES);
    asm.put("mov", 8, place(undefined, DATA_AT + WORDS.memory), RAX);
    asm.put("mov", 8, RDI, R12);
    asm.put("movabs", 8, RSI, BigInt(GLOBALS_BYTES + pages * 0x1_0000));
    asm.put("mov", 4, RDX, 3);
    asm.put("mov", 4, RAX, SYSTEM.mprotect);
    asm.put("syscall", 8);
  }

  #catchSignals(caught: Label, restorer: Label): void {
    const { asm } = this;
    const scratch = DATA_AT + REPLY;
    const store = (offset: number, value: number) => {
      asm.put("mov", 8, place(undefined, scratch + offset), value);
    };
    store(0, DATA_AT + SIGNAL_STACK);
    store(8, 0);
    store(16, SIGNAL_STACK_BYTES);
    this.#system(SYSTEM.sigaltstack, scratch, 0);
    for (const [offset, label] of [
      [0, caught],
      [16, restorer],
    ] as const) {
      asm.put("lea", 8, RAX, relative(label));
      asm.put("mov", 8, place(undefined, scratch + offset), RAX);
    }
    // SA_SIGINFO, SA_RESTORER, SA_ONSTACK, SA_NODEFER
    store(8, 0x4c00_0004);
    store(24, 0);
    for (const signal of SIGNALS) this.#system(SYSTEM.sigaction, signal, scratch, 0, 8);
  }

  #system(number: number, ...args: readonly number[]): void {
    const { asm } = this;
    args.forEach((arg, i) => {
      asm.put("movabs", 8, [RDI, RSI, RDX, R10, R8, R9][i], BigInt.asUintN(64, BigInt(arg)));
    });
    asm.put("mov", 4, RAX, number);
    asm.put("syscall", 8);
  }

  /** Computes the process address of a linear address. */
  #address(to: Register, from: ReturnType<typeof place>): void {
    this.asm.put("mov", 8, to, from);
    this.asm.put("add", 8, to, place(undefined, DATA_AT + WORDS.memory));
  }

  #argumentSum(): Label {
    const { asm } = this;
    const label = asm.here();
    asm.put("lea", 8, RAX, place(RDI, 0, RSI));
    for (const register of [RDX, RCX, R8, R9]) asm.put("add", 8, RAX, register);
    asm.put("ret", 8);
    return label;
  }

  #stackAlignment(): Label {
    const { asm } = this;
    const label = asm.here();
    asm.put("lea", 8, RAX, place(RSP, 8));
    asm.put("and", 8, RAX, 15);
    asm.put("ret", 8);
    return label;
  }
}
