import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, openSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { headersEnd, PF_R, PF_X, writeElfImage } from "../../../code/objects/elf/write/image.ts";
import { Assembler, R10, RDI, RDX, RSI, relative } from "../../../code/x64/index.ts";
import { systemCall } from "../start/system-calls.ts";

const ET_EXEC = 2;
const ADDRESS = 0x40_0000;
const SYSTEM = { sleep: 35, prctl: 157, allocate: 285 } as const;
const [PR_SET_PDEATHSIG, SIGKILL] = [1, 9];
/** FALLOC_FL_KEEP_SIZE, FALLOC_FL_PUNCH_HOLE */
const PUNCH_HOLE = 3;
const PAUSE_NS = 20_000_000n;

/**
 * Makes a program, as a static ELF file, that frees the pages of a range of its standard input, a sparse
 * file. It repeats this until it or its starter ends. Other processes can continue to write to the file.
 */
export function freePagesProgram(from: number, to: number): Uint8Array {
  const asm = new Assembler();
  const pause = new BigInt64Array([0n, PAUSE_NS]);
  asm.put("mov", 4, RDI, PR_SET_PDEATHSIG);
  asm.put("mov", 4, RSI, SIGKILL);
  systemCall(asm, SYSTEM.prctl);
  const again = asm.here();
  asm.put("xor", 4, RDI, RDI);
  asm.put("mov", 4, RSI, PUNCH_HOLE);
  asm.put("movabs", 8, RDX, BigInt(from));
  asm.put("movabs", 8, R10, BigInt(to - from));
  systemCall(asm, SYSTEM.allocate);
  asm.put("lea", 8, RDI, relative(asm.literal(new Uint8Array(pause.buffer))));
  asm.put("xor", 4, RSI, RSI);
  systemCall(asm, SYSTEM.sleep);
  asm.jump(again);
  const code = asm.finish().bytes;
  const address = ADDRESS + headersEnd(1);
  return writeElfImage({
    type: ET_EXEC,
    entry: address,
    segments: [{ flags: PF_R | PF_X, address, bytes: code }],
  });
}

const EXECUTABLE = 0o755;

/** Keeps unused files of counts small, while programs continue to count in them. */
export class FreedCounts {
  readonly #folder: string;
  readonly #keptBytes: number;
  readonly #children: ChildProcess[] = [];

  /**
   * @param folder folder for programs, which allows execution
   * @param keptBytes bytes at the start of each file that stay
   */
  constructor(folder: string, keptBytes: number) {
    this.#folder = folder;
    this.#keptBytes = keptBytes;
  }

  free(counts: string): void {
    const program = join(this.#folder, `free-pages-${this.#children.length}`);
    writeFileSync(program, freePagesProgram(this.#keptBytes, statSync(counts).size), { mode: EXECUTABLE });
    const file = openSync(counts, "r+");
    try {
      const child = spawn(program, [], { stdio: [file, "ignore", "ignore"], env: {} });
      child.on("error", () => undefined);
      this.#children.push(child);
    } finally {
      closeSync(file);
    }
  }

  stop(): void {
    for (const child of this.#children) child.kill("SIGKILL");
  }
}
