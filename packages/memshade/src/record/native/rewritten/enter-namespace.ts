import { type Assembler, R8, R9, R10, RAX, RBX, RDI, RDX, RSI } from "../../../code/x64/index.ts";
import { type Label, relative } from "../../../code/x64/operands.ts";
import { REPORT } from "../start/launcher.ts";
import { systemCall } from "../start/system-calls.ts";

/** A file, and the path at which it is mounted. */
export interface Mount {
  readonly file: string;
  readonly path: string;
}

export interface Namespace {
  readonly mounts: readonly Mount[];
  /** Ids to map in a new user namespace; undefined if this process may mount without one. */
  readonly ids: { readonly user: number; readonly group: number } | undefined;
}

/** Numbers of steps that may fail. Mounts have numbers from `mount` on. */
export const STEP = {
  unshare: REPORT.enter,
  ids: REPORT.enter + 1,
  separate: REPORT.enter + 2,
  drop: REPORT.enter + 3,
  mount: 16,
} as const;

const SYSTEM = {
  write: 1,
  open: 2,
  close: 3,
  setCapabilities: 126,
  prctl: 157,
  mount: 165,
  unshare: 272,
  setMountAttributes: 442,
} as const;
const O_WRONLY = 1;
const [CLONE_NEWNS, CLONE_NEWUSER] = [0x2_0000, 0x1000_0000];
const [MS_BIND, MS_REC, MS_PRIVATE] = [0x1000, 0x4000, 0x4_0000];
const [CURRENT_FOLDER, MOUNT_ATTR_RDONLY, MOUNT_ATTRIBUTES_BYTES] = [-100, 1, 32];
const [PR_CAPBSET_DROP, PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL] = [24, 47, 4];
/** More capabilities than the kernel has. */
const CAPABILITIES = 64;
const CAPABILITY_VERSION = 0x2008_0522;

/**
 * Assembles code that gives the launcher's process a mount namespace, with files mounted over others. The
 * namespace ends with its last process.
 */
export function enterNamespace(
  asm: Assembler,
  check: (step: number) => void,
  { mounts, ids }: Namespace,
): void {
  const text = (string: string): Label => asm.literal(new TextEncoder().encode(`${string}\0`));
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
  // Mounts must not be visible outside.
  mount(asm, text("none"), text("/"), MS_REC | MS_PRIVATE);
  check(STEP.separate);
  const readOnly = asm.literal(
    Uint8Array.from({ length: MOUNT_ATTRIBUTES_BYTES }, (_, i) => (i === 0 ? MOUNT_ATTR_RDONLY : 0)),
  );
  for (const [i, { file, path }] of mounts.entries()) {
    mount(asm, text(file), text(path), MS_BIND);
    check(STEP.mount + i);
    // Writes of the program to the file would be lost. Kernels before 5.12 cannot prevent them.
    makeReadOnly(asm, text(path), readOnly);
  }
  if (ids !== undefined) {
    dropCapabilities(asm);
    check(STEP.drop);
  }
}

function mount(asm: Assembler, file: Label, path: Label, flags: number): void {
  asm.put("lea", 8, RDI, relative(file));
  asm.put("lea", 8, RSI, relative(path));
  asm.put("xor", 4, RDX, RDX);
  asm.put("mov", 4, R10, flags);
  asm.put("xor", 4, R8, R8);
  systemCall(asm, SYSTEM.mount);
}

function makeReadOnly(asm: Assembler, path: Label, attributes: Label): void {
  asm.put("mov", 8, RDI, CURRENT_FOLDER);
  asm.put("lea", 8, RSI, relative(path));
  asm.put("xor", 4, RDX, RDX);
  asm.put("lea", 8, R10, relative(attributes));
  asm.put("mov", 4, R8, MOUNT_ATTRIBUTES_BYTES);
  systemCall(asm, SYSTEM.setMountAttributes);
}

/** Drops the capabilities of the user namespace, which programs do not expect. The result is in rax. */
function dropCapabilities(asm: Assembler): void {
  for (let capability = 0; capability < CAPABILITIES; capability++) {
    asm.put("mov", 4, RDI, PR_CAPBSET_DROP);
    asm.put("mov", 4, RSI, capability);
    // Unknown capabilities fail.
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
