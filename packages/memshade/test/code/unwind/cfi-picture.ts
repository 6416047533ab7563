import { openObject } from "../../../src/code/objects/index.ts";
import type { ObjectFile } from "../../../src/code/objects/types.ts";
import { drawElf } from "../objects/elf-picture.ts";

export const SECTION_ADDRESS = 0x10_000;

export interface CiePicture {
  version?: 1 | 3 | 4;
  augmentation?: string;
  /** Pointer encoding of the letter R in the augmentation. */
  encoding?: number;
  dataAlignment?: number;
  codeAlignment?: number;
  returnAddress?: number;
  /** Initial instructions; on x86-64 usually `[0x0c, 7, 8, 0x90, 1]`. */
  program?: readonly number[];
  is64Bit?: boolean;
}

export interface FdePicture {
  start: number;
  size: number;
  program: readonly number[];
}

/** `def_cfa rsp+8; offset rip, cfa-8`: the start of every CIE of x86-64. */
export const X86_64_START = [0x0c, 7, 8, 0x90, 1];

export function drawCfi(
  kind: "eh_frame" | "debug_frame",
  cie: CiePicture,
  fdes: readonly FdePicture[],
): Uint8Array {
  const bytes: number[] = [];
  const {
    encoding = 0x1b,
    is64Bit = false,
    version = 1,
    augmentation = kind === "eh_frame" ? "zR" : "",
  } = cie;
  const entry = (content: (at: number) => number[]) => {
    const idAt = bytes.length + (is64Bit ? 12 : 4);
    const payload = content(idAt);
    while ((payload.length + (is64Bit ? 12 : 4)) % 8 !== 0) payload.push(0);
    bytes.push(
      ...(is64Bit ? [...word(0xffff_ffff, 4), ...word(payload.length, 8)] : word(payload.length, 4)),
      ...payload,
    );
  };
  const idBytes = is64Bit ? 8 : 4;
  const augmentationData = [...augmentation.replace(/^z/, "")].flatMap((letter) => {
    if (letter === "R") return [encoding];
    if (letter === "L") return [0xff];
    if (letter === "P") return [0x03, ...word(0x1234, 4)];
    return [];
  });
  entry(() => [
    ...(kind === "eh_frame" ? word(0, idBytes) : Array(idBytes).fill(0xff)),
    version,
    ...new TextEncoder().encode(augmentation),
    0,
    ...(version === 4 ? [8, 0] : []),
    cie.codeAlignment ?? 1,
    (cie.dataAlignment ?? -8) & 0x7f,
    cie.returnAddress ?? 16,
    ...(augmentation.startsWith("z") ? [augmentationData.length, ...augmentationData] : []),
    ...(cie.program ?? X86_64_START),
  ]);
  for (const { start, size, program } of fdes)
    entry((idAt) => [
      ...(kind === "eh_frame" ? word(idAt, idBytes) : word(0, idBytes)),
      ...(kind === "eh_frame"
        ? [
            ...pointer(encoding, start, SECTION_ADDRESS + idAt + idBytes),
            ...pointer(encoding & 0x0f, size, 0),
          ]
        : [...word(start, 8), ...word(size, 8)]),
      ...(augmentation.startsWith("z") ? [0] : []),
      ...program,
    ]);
  return Uint8Array.from(bytes);
}

export function drawCfiObject(kind: "eh_frame" | "debug_frame", bytes: Uint8Array, machine = 62): ObjectFile {
  const address = kind === "eh_frame" ? SECTION_ADDRESS : 0;
  return openObject(drawElf({ machine, sections: [{ name: `.${kind}`, type: 1, address, content: bytes }] }));
}

function word(value: number, size: number): number[] {
  const bits = BigInt.asUintN(64, BigInt(value));
  return Array.from({ length: size }, (_, i) => Number((bits >> BigInt(8 * i)) & 0xffn));
}

function pointer(encoding: number, value: number, at: number): number[] {
  const relative = (encoding & 0x70) === 0x10 ? value - at : value;
  switch (encoding & 0x0f) {
    case 0x01:
      return uleb(relative);
    case 0x09:
      return sleb(relative);
    case 0x02:
    case 0x0a:
      return word(relative, 2);
    case 0x03:
    case 0x0b:
      return word(relative, 4);
    default:
      return word(relative, 8);
  }
}

function uleb(value: number): number[] {
  return value < 0x80 ? [value] : [(value & 0x7f) | 0x80, ...uleb(value >>> 7)];
}

function sleb(value: number): number[] {
  const rest = value >> 7;
  const isLast = (rest === 0 && (value & 0x40) === 0) || (rest === -1 && (value & 0x40) !== 0);
  return isLast ? [value & 0x7f] : [(value & 0x7f) | 0x80, ...sleb(rest)];
}
