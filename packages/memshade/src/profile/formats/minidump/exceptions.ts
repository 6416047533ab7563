import type { ByteSource } from "../../../ground/bytes/byte-source.ts";

/** Systems by the platform id of the SystemInfo stream, as far as they have codes of their own. */
const WINDOWS: readonly number[] = [1, 2, 3];
const APPLE: readonly number[] = [0x8101, 0x8102];

/** Mach's exceptions (`mach/exception_types.h`). */
const MACH: Readonly<Record<number, string>> = {
  1: "EXC_BAD_ACCESS",
  2: "EXC_BAD_INSTRUCTION",
  3: "EXC_ARITHMETIC",
  4: "EXC_EMULATION",
  5: "EXC_SOFTWARE",
  6: "EXC_BREAKPOINT",
  7: "EXC_SYSCALL",
  8: "EXC_MACH_SYSCALL",
  9: "EXC_RPC_ALERT",
  10: "EXC_CRASH",
  11: "EXC_RESOURCE",
  12: "EXC_GUARD",
  13: "EXC_CORPSE_NOTIFY",
};
/** What is the matter with a bad access (`mach/kern_return.h`). */
const BAD_ACCESS = 1;
const ACCESS_FAULTS: Readonly<Record<number, string>> = {
  1: "KERN_INVALID_ADDRESS",
  2: "KERN_PROTECTION_FAILURE",
  13: "EXC_I386_GPFLT",
};

/** Codes of Windows (`ntstatus.h`, `winnt.h`). */
const STATUS: Readonly<Record<number, string>> = {
  1073741845: "STATUS_FATAL_APP_EXIT",
  2147483649: "STATUS_GUARD_PAGE_VIOLATION",
  2147483650: "STATUS_DATATYPE_MISALIGNMENT",
  2147483651: "STATUS_BREAKPOINT",
  2147483652: "STATUS_SINGLE_STEP",
  3221225477: "STATUS_ACCESS_VIOLATION",
  3221225478: "STATUS_IN_PAGE_ERROR",
  3221225480: "STATUS_INVALID_HANDLE",
  3221225485: "STATUS_INVALID_PARAMETER",
  3221225495: "STATUS_NO_MEMORY",
  3221225501: "STATUS_ILLEGAL_INSTRUCTION",
  3221225509: "STATUS_NONCONTINUABLE_EXCEPTION",
  3221225612: "STATUS_ARRAY_BOUNDS_EXCEEDED",
  3221225614: "STATUS_FLOAT_DIVIDE_BY_ZERO",
  3221225620: "STATUS_INTEGER_DIVIDE_BY_ZERO",
  3221225621: "STATUS_INTEGER_OVERFLOW",
  3221225622: "STATUS_PRIVILEGED_INSTRUCTION",
  3221225725: "STATUS_STACK_OVERFLOW",
  3221226356: "STATUS_HEAP_CORRUPTION",
  3221226505: "STATUS_STACK_BUFFER_OVERRUN",
  3221226528: "STATUS_ASSERTION_FAILURE",
  3765269347: "an exception of C++",
};

/** Breakpad's and Crashpad's codes for dumps that a program asked for. */
const ASKED_FOR: readonly number[] = [0xffffffff, 0x43507378, 0x0517a7ed];
const SIGNALS = 64;

/** What ended a process: a signal of Linux, or what another system calls it. */
export interface Exception {
  readonly signal?: number;
  readonly exception?: string;
}

/** @param platform the platform id; undefined where the dump has none, which is taken for Linux */
export function exceptionOf(platform: number | undefined, code: number, flags: number): Exception {
  if (ASKED_FOR.includes(code)) return { exception: "none: the dump was asked for" };
  const hex = `0x${code.toString(16).padStart(8, "0")}`;
  if (platform !== undefined && APPLE.includes(platform)) {
    const fault = code === BAD_ACCESS ? ACCESS_FAULTS[flags] : undefined;
    return { exception: `${MACH[code] ?? hex}${fault === undefined ? "" : ` (${fault})`}` };
  }
  if (platform !== undefined && WINDOWS.includes(platform))
    return { exception: STATUS[code] === undefined ? hex : `${STATUS[code]} (${hex})` };
  return code <= SIGNALS ? { signal: code } : { exception: hex };
}

/** Processors whose dumps are not read, by their number in the SystemInfo stream. */
export const OTHER_PROCESSORS: Readonly<Record<number, string>> = {
  0: "32-bit x86",
  1: "MIPS",
  3: "PowerPC",
  5: "32-bit ARM",
  6: "Itanium",
  10: "32-bit x86",
  32769: "SPARC",
  32770: "64-bit PowerPC",
  32772: "64-bit MIPS",
  32773: "32-bit RISC-V",
  32774: "64-bit RISC-V",
};

/** Whether a file starts like a minidump of a machine whose bytes stand the other way around. */
export function isBigEndianMinidump(source: ByteSource): boolean {
  return String.fromCharCode(...source.read(0, 4)) === "PMDM";
}
