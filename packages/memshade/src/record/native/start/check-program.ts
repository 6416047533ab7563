import { spawnSync } from "node:child_process";
import { realpathSync, statSync } from "node:fs";
import type { ObjectFile, ObjectSegment } from "../../../code/objects/index.ts";
import { UserError } from "../../../ground/bytes/errors.ts";
import { viewOf } from "../../../ground/bytes/numbers.ts";
import { fileSource, readRegular } from "../../../names/load/file.ts";
import { loadObject } from "../../../names/load/objects.ts";

/** Paths of libcap's tool. System folders are usually not in a user's PATH. */
const TOOLS = ["getcap", "/usr/sbin/getcap", "/sbin/getcap"];

/**
 * Returns the capabilities that a program gets from its file, as `cap_net_raw=ep`; undefined if it has none.
 * Node cannot read extended attributes. Without the tool, the result is undefined, because capabilities were
 * not set on that machine.
 */
export function fileCapabilities(file: string): string | undefined {
  const path = realpathSync(file);
  for (const tool of TOOLS) {
    const { status, stdout } = spawnSync(tool, [path], { encoding: "utf8" });
    if (status !== 0) continue;
    // Output: `FILE cap_net_raw=ep`; older versions: `FILE = cap_net_raw+ep`.
    return stdout.startsWith(path)
      ? stdout.slice(path.length).trim().replace(/^= /, "") || undefined
      : undefined;
  }
  return undefined;
}

const PT_DYNAMIC = 2;
const PT_INTERP = 3;
const DT_FLAGS_1 = 0x6ffffffbn;
const DF_1_PIE = 0x0800_0000n;
const MAGIC = [0x7f, 0x45, 0x4c, 0x46];
const SET_USER_ID = 0o4000;
const SET_GROUP_ID = 0o2000;

export interface NativeProgram {
  file: string;
  object: ObjectFile;
  /** Path of its dynamic linker. */
  linker: string;
}

/**
 * Checks that the allocations of a program can be recorded.
 * @throws UserError with the reason if not
 */
export function checkProgram(file: string): NativeProgram {
  if (process.platform !== "linux" || process.arch !== "x64")
    throw new UserError(
      `native programs are recorded on Linux on x86-64; this is ${process.platform} on ${process.arch}`,
    );
  const refuse = (reason: string): never => {
    throw new UserError(`${file}: ${reason}`);
  };
  if (!isElf(file))
    refuse(
      "not a program: neither ELF, nor WebAssembly, nor a script that begins with #! and an interpreter",
    );
  const { object } = loadObject(file);
  if (object.type === "core") refuse("it is a core dump, no program; memshade unwind reads it");
  if (object.kind !== "elf" || object.type === "relocatable") refuse("it is not a program");
  if (object.architecture !== "x86_64")
    refuse(`it is for another machine (${machineOf(object)}); programs for x86-64 can be recorded`);
  if (object.addressSize !== 8)
    refuse("its pointers have 32 bits; programs with 64-bit pointers can be recorded");
  const damage = damageOf(object);
  if (damage !== undefined) refuse(`it is damaged: ${damage}`);
  const foreign = foreignRights(file);
  if (foreign !== undefined)
    refuse(
      `it ${foreign}, so the system does not allow recording it; run a copy of the file, which has no such rights`,
    );
  const linker = linkerOf(object);
  if (linker === undefined)
    return refuse(
      isLibrary(object)
        ? "it is a library, or a dynamic linker; programs can be recorded"
        : "it is linked statically: there is no dynamic linker that could load what records it; link it without -static",
    );
  if (statSync(linker, { throwIfNoEntry: false })?.isFile() !== true)
    refuse(`its dynamic linker ${linker} is not there, and without it the system does not start it`);
  if (linker.includes("ld-musl"))
    refuse("it is linked against musl; build it for the GNU C library to record it");
  if (!isRecent(linker))
    refuse("its dynamic linker is older than that of the GNU C library 2.35, which is needed");
  return { file, object, linker };
}

/** Returns why the kernel could not load the program; undefined if it can. */
function damageOf({ segments, size }: ObjectFile): string | undefined {
  if (segments.length === 0) return "it has no segments to load";
  const end = Math.max(...segments.map(({ fileOffset, fileSize }) => fileOffset + fileSize));
  return end > size ? `it ends at byte ${size}, and should have ${end}` : undefined;
}

/** Returns the path of a program's dynamic linker; undefined if it has none. */
export function linkerOf(object: ObjectFile): string | undefined {
  const interpreter = object.programHeaders.find(({ type }) => type === PT_INTERP);
  return interpreter && textOf(object, interpreter);
}

export function isStatic(object: ObjectFile): boolean {
  return linkerOf(object) === undefined && !isLibrary(object);
}

/** Returns true for a library. Position-independent programs have the flag DF_1_PIE. */
export function isLibrary(object: ObjectFile): boolean {
  if (object.type !== "shared") return false;
  const dynamic = object.programHeaders.find(({ type }) => type === PT_DYNAMIC);
  if (dynamic === undefined) return false;
  const bytes = object.bytesAt(dynamic.address, dynamic.fileSize);
  const view = viewOf(bytes);
  for (let at = 0; at + 16 <= bytes.length; at += 16) {
    if (view.getBigUint64(at, true) !== DT_FLAGS_1) continue;
    return (view.getBigUint64(at + 8, true) & DF_1_PIE) === 0n;
  }
  return true;
}

/** Returns true if the dynamic linker has `_dl_find_object`, which takes no lock. */
function isRecent(linker: string): boolean {
  return readRegular(linker).includes("GLIBC_2.35\0", 0, "latin1");
}

export function isGo({ sections }: ObjectFile): boolean {
  return sections.some(({ name }) => name === ".go.buildinfo" || name === ".gopclntab");
}

function machineOf({ architecture }: ObjectFile): string {
  return architecture === "other" ? "neither x86 nor 64-bit ARM" : architecture;
}

function isElf(file: string): boolean {
  const head = fileSource(file).read(0, MAGIC.length);
  return MAGIC.every((byte, at) => head[at] === byte);
}

/** Returns the foreign rights of a program, with which the dynamic linker preloads nothing. */
function foreignRights(file: string): string | undefined {
  const { mode, uid, gid } = statSync(file);
  if ((mode & SET_USER_ID) !== 0 && uid !== process.getuid?.()) return "is set-user-id";
  if ((mode & SET_GROUP_ID) !== 0 && gid !== process.getgid?.()) return "is set-group-id";
  const capabilities = process.getuid?.() === 0 ? undefined : fileCapabilities(file);
  return capabilities === undefined ? undefined : `has file capabilities (${capabilities})`;
}

function textOf(object: ObjectFile, { address, fileSize }: ObjectSegment): string {
  const bytes = object.bytesAt(address, fileSize);
  const end = bytes.indexOf(0);
  return new TextDecoder().decode(end < 0 ? bytes : bytes.subarray(0, end));
}
