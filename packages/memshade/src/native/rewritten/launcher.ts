import { headersEnd, PF_R, PF_X, writeElfImage } from "../../objects/elf/write/image.ts";
import { Assembler, R8, R9, R10, R12, R13, R14, R15, RAX, RBX, RDI, RDX, RSI, RSP } from "../../x64/index.ts";
import { type Label, place, relative } from "../../x64/operands.ts";
import { REFUSED } from "./loader-copy.ts";
import { exitWith, systemCall } from "./system-calls.ts";

/** A file, and the path that it is to be found at. */
export interface Mount {
  readonly file: string;
  readonly path: string;
}

/** What a launcher does. */
export interface Launch {
  readonly mounts: readonly Mount[];
  /** Path of the program. */
  readonly program: string;
  /** Who may not mount makes a namespace of users for it, in which both ids are what they are. */
  readonly ids: { readonly user: number; readonly group: number } | undefined;
  /** Where it leaves what failed: the number of a step and that of an error, 4 bytes each. */
  readonly failure: string;
}

/** What may fail. Mounts have numbers from `mount` on. */
export const STEP = { unshare: 1, ids: 2, separate: 3, drop: 4, execute: 5, mount: 16 } as const;

const ET_EXEC = 2;
const ADDRESS = 0x40_0000;
const SYSTEM = {
  ...{ write: 1, open: 2, close: 3, setCapabilities: 126, execute: 59 },
  ...{ prctl: 157, mount: 165, unshare: 272 },
} as const;
const [O_WRONLY, O_CREAT, O_TRUNC] = [1, 0x40, 0x200];
const OWNER_ONLY = 0o600;
const [CLONE_NEWNS, CLONE_NEWUSER] = [0x2_0000, 0x1000_0000];
const [MS_BIND, MS_REC, MS_PRIVATE] = [0x1000, 0x4000, 0x4_0000];
const [PR_CAPBSET_DROP, PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL] = [24, 47, 4];
/** More than there are. */
const CAPABILITIES = 64;
const CAPABILITY_VERSION = 0x2008_0522;

/**
 * A program that gives itself a mount namespace, in which files are found in the place of others, and replaces itself by another program,
 * with its own arguments and environment. The namespace ends with its last process. A static ELF file.
 */
export function writeLauncher({ mounts, program, ids, failure }: Launch): Uint8Array {
  const asm = new Assembler();
  const failed = asm.label();
  const text = (string: string): Label => asm.literal(new TextEncoder().encode(`${string}\0`));
  /** Ends here where the last call has failed. */
  const check = (step: number): void => {
    asm.put("mov", 4, R14, step);
    asm.put("test", 8, RAX, RAX);
    asm.jump(failed, "s");
  };
  // Arguments, and environment behind them.
  asm.put("lea", 8, R12, place(RSP, 8));
  asm.put("mov", 8, RAX, place(RSP));
  asm.put("lea", 8, R13, place(RSP, 16, RAX, 8));

  asm.put("mov", 4, RDI, CLONE_NEWNS | (ids === undefined ? 0 : CLONE_NEWUSER));
  systemCall(asm, SYSTEM.unshare);
  check(STEP.unshare);
  if (ids !== undefined)
    for (const [name, content] of [
      ["setgroups", "deny"],
      ["uid_map", `${ids.user} ${ids.user} 1`],
      ["gid_map", `${ids.group} ${ids.group} 1`],
    ]) {
      asm.put("lea", 8, RDI, relative(text(`/proc/self/${name}`)));
      asm.put("mov", 4, RSI, O_WRONLY);
      systemCall(asm, SYSTEM.open);
      check(STEP.ids);
      asm.put("mov", 4, RDI, RAX);
      asm.put("mov", 4, RBX, RAX);
      asm.put("lea", 8, RSI, relative(text(content)));
      asm.put("mov", 4, RDX, content.length);
      systemCall(asm, SYSTEM.write);
      check(STEP.ids);
      asm.put("mov", 4, RDI, RBX);
      systemCall(asm, SYSTEM.close);
    }
  // What is mounted here is not to be seen outside.
  mount(asm, text("none"), text("/"), MS_REC | MS_PRIVATE);
  check(STEP.separate);
  for (const [i, { file, path }] of mounts.entries()) {
    mount(asm, text(file), text(path), MS_BIND);
    check(STEP.mount + i);
  }
  if (ids !== undefined) {
    dropCapabilities(asm);
    check(STEP.drop);
  }
  asm.put("lea", 8, RDI, relative(text(program)));
  asm.put("mov", 8, RSI, R12);
  asm.put("mov", 8, RDX, R13);
  systemCall(asm, SYSTEM.execute);
  check(STEP.execute);

  asm.bind(failed);
  asm.put("mov", 4, R15, RAX);
  asm.put("neg", 4, R15);
  asm.put("lea", 8, RDI, relative(text(failure)));
  asm.put("mov", 4, RSI, O_WRONLY | O_CREAT | O_TRUNC);
  asm.put("mov", 4, RDX, OWNER_ONLY);
  systemCall(asm, SYSTEM.open);
  asm.put("mov", 4, RDI, RAX);
  asm.put("sub", 8, RSP, 8);
  asm.put("mov", 4, place(RSP), R14);
  asm.put("mov", 4, place(RSP, 4), R15);
  asm.put("mov", 8, RSI, RSP);
  asm.put("mov", 4, RDX, 8);
  systemCall(asm, SYSTEM.write);
  exitWith(asm, REFUSED);

  const code = asm.finish().bytes;
  const address = ADDRESS + headersEnd(1);
  const segments = [{ flags: PF_R | PF_X, address, bytes: code }];
  return writeElfImage({ type: ET_EXEC, entry: address, segments });
}

function mount(asm: Assembler, file: Label, path: Label, flags: number): void {
  asm.put("lea", 8, RDI, relative(file));
  asm.put("lea", 8, RSI, relative(path));
  asm.put("xor", 4, RDX, RDX);
  asm.put("mov", 4, R10, flags);
  asm.put("xor", 4, R8, R8);
  systemCall(asm, SYSTEM.mount);
}

/** Those of a namespace of users reach no further than that; no program expects any. Leaves the result in rax. */
function dropCapabilities(asm: Assembler): void {
  for (let one = 0; one < CAPABILITIES; one++) {
    asm.put("mov", 4, RDI, PR_CAPBSET_DROP);
    asm.put("mov", 4, RSI, one);
    // Those that the kernel does not know fail.
    systemCall(asm, SYSTEM.prctl);
  }
  asm.put("mov", 4, RDI, PR_CAP_AMBIENT);
  asm.put("mov", 4, RSI, PR_CAP_AMBIENT_CLEAR_ALL);
  for (const register of [RDX, R10, R8]) asm.put("xor", 4, register, register);
  asm.put("xor", 4, R9, R9);
  systemCall(asm, SYSTEM.prctl);
  const header = new Uint8Array(8);
  new DataView(header.buffer).setUint32(0, CAPABILITY_VERSION, true);
  asm.put("lea", 8, RDI, relative(asm.literal(header)));
  asm.put("lea", 8, RSI, relative(asm.literal(new Uint8Array(24))));
  systemCall(asm, SYSTEM.setCapabilities);
}
