import { type Assembler, R10, RAX, RCX, RDI, RDX, RSI, RSP } from "../../../code/x64/index.ts";
import { place, relative } from "../../../code/x64/operands.ts";
import type { Inherited } from "../../host/run/inherited.ts";
import { systemCall } from "./system-calls.ts";

/** Arguments and variables of a program, as they are stored in memory. */
interface PlacedTexts {
  readonly bytes: Uint8Array;
  /** Addresses of the two tables of addresses. */
  readonly argv: number;
  readonly environment: number;
  /** Variable that gets the process's own id. */
  readonly number: { readonly end: number; readonly pointer: number } | undefined;
}

const WORD_BYTES = 8;
/** Most digits of a process id. */
const NUMBER_DIGITS = 7;
/** Variable of systemd with the id of the process that its sockets are for. */
const FOR_PROCESS = "LISTEN_PID=";
/** Variable that identifies this process in another way, which is unknown before the process begins. */
const FOR_PROCESS_ID = "LISTEN_PIDFDID=";

/**
 * Places arguments and variables at an address, as `execve` needs them.
 * @param starter process that was started in place of the program: sockets for it are for the program
 */
export function placeTexts(
  {
    argv,
    environment,
    starter,
  }: { argv: readonly Uint8Array[]; environment: readonly Uint8Array[]; starter: number | undefined },
  address: number,
): PlacedTexts {
  const isForUs = (bytes: Uint8Array): boolean => textOf(bytes) === `${FOR_PROCESS}${starter}`;
  const isHanded = environment.some(isForUs);
  const variables = environment
    .filter((bytes) => !isHanded || !textOf(bytes).startsWith(FOR_PROCESS_ID))
    .map((bytes) =>
      isForUs(bytes) ? new TextEncoder().encode(FOR_PROCESS + "0".repeat(NUMBER_DIGITS)) : bytes,
    );
  const texts = [...argv, ...variables];
  const words = new BigUint64Array(texts.length + 2);
  let at = address + words.byteLength;
  let number: PlacedTexts["number"];
  for (const [i, bytes] of texts.entries()) {
    const word = i < argv.length ? i : i + 1;
    words[word] = BigInt(at);
    if (isHanded && i >= argv.length && textOf(bytes).startsWith(FOR_PROCESS))
      number = { end: at + bytes.length, pointer: address + word * WORD_BYTES };
    at += bytes.length + 1;
  }
  const bytes = new Uint8Array(at - address);
  bytes.set(new Uint8Array(words.buffer));
  let end = words.byteLength;
  for (const text of texts) {
    bytes.set(text, end);
    end += text.length + 1;
  }
  return { bytes, argv: address, environment: address + (argv.length + 1) * WORD_BYTES, number };
}

function textOf(bytes: Uint8Array): string {
  return new TextDecoder().decode(bytes.subarray(0, 100));
}

const SYSTEM = { close: 3, setAction: 13, setDescriptor: 72, getProcess: 39, setLimit: 302 } as const;
const [ACTION_BYTES, MASK_BYTES, SIG_IGN] = [32, 8, 1];
const F_SETFL = 4;
const [RLIMIT_NOFILE, LIMIT_BYTES] = [7, 16];
const STANDARD_STREAMS = 3;
const SIGNALS = 64;

/**
 * Assembles code that restores the state of the process which Node has changed, except for the signal mask.
 * Failures are ignored.
 */
export function inherit(asm: Assembler, { ignored, openFiles, descriptors }: Inherited): void {
  const ignore = asm.literal(Uint8Array.from({ length: ACTION_BYTES }, (_, i) => (i === 0 ? SIG_IGN : 0)));
  for (let signal = 1; signal <= SIGNALS; signal++) {
    if (((ignored >> BigInt(signal - 1)) & 1n) === 0n) continue;
    asm.put("mov", 4, RDI, signal);
    asm.put("lea", 8, RSI, relative(ignore));
    asm.put("xor", 4, RDX, RDX);
    asm.put("mov", 4, R10, MASK_BYTES);
    systemCall(asm, SYSTEM.setAction);
  }
  for (let stream = 0; stream < STANDARD_STREAMS; stream++) {
    const flags = descriptors.get(stream);
    asm.put("mov", 4, RDI, stream);
    if (flags !== undefined) {
      asm.put("mov", 4, RSI, F_SETFL);
      asm.put("mov", 4, RDX, flags);
      systemCall(asm, SYSTEM.setDescriptor);
    } else if (!descriptors.has(stream)) systemCall(asm, SYSTEM.close);
  }
  if (openFiles !== undefined) limitOpenFiles(asm, openFiles);
}

/** Restores the soft limit, which Node raises. The hard limit stays. */
function limitOpenFiles(asm: Assembler, openFiles: number): void {
  const limits = (from: boolean): void => {
    asm.put("xor", 4, RDI, RDI);
    asm.put("mov", 4, RSI, RLIMIT_NOFILE);
    for (const [register, isUsed] of [
      [RDX, !from],
      [R10, from],
    ] as const)
      if (isUsed) asm.put("lea", 8, register, place(RSP));
      else asm.put("xor", 4, register, register);
    systemCall(asm, SYSTEM.setLimit);
  };
  asm.put("sub", 8, RSP, LIMIT_BYTES);
  limits(true);
  asm.put("movabs", 8, RAX, BigInt(openFiles));
  asm.put("mov", 8, place(RSP), RAX);
  limits(false);
  asm.put("add", 8, RSP, LIMIT_BYTES);
}

/**
 * Assembles code that writes the variable with the process id, from its end backwards. It has no leading
 * zeros, which some programs read as octal.
 */
export function writeOwnNumber(asm: Assembler, { end, pointer }: { end: number; pointer: number }): void {
  const next = asm.label();
  systemCall(asm, SYSTEM.getProcess);
  asm.put("mov", 4, RCX, 10);
  asm.put("mov", 4, RDI, end);
  asm.bind(next);
  asm.put("xor", 4, RDX, RDX);
  asm.put("div", 4, RCX);
  asm.put("add", 4, RDX, 0x30);
  asm.put("sub", 8, RDI, 1);
  asm.put("mov", 1, place(RDI), RDX);
  asm.put("test", 4, RAX, RAX);
  asm.jump(next, "ne");
  for (const letter of [...FOR_PROCESS].reverse()) {
    asm.put("sub", 8, RDI, 1);
    asm.put("mov", 4, RDX, letter.charCodeAt(0));
    asm.put("mov", 1, place(RDI), RDX);
  }
  asm.put("mov", 4, RDX, pointer);
  asm.put("mov", 8, place(RDX), RDI);
}
