import { statSync } from "node:fs";
import { UserError } from "../../ground/bytes/errors.ts";
import type { RawSegment } from "../../profile/formats/memprof-raw/index.ts";
import { readRegular } from "../load/file.ts";
import { type LoadedObject, loadObject } from "../load/objects.ts";
import { buildIdOf, hexOf } from "./binaries.ts";
import { ProfdataError } from "./profdata-error.ts";

const EXECUTABLE = 1;

/** Objects that the reference tool recognizes and refuses: Mach-O, fat Mach-O, COFF and archives. */
const OTHER_OBJECTS: readonly (readonly number[])[] = [
  [0xcf, 0xfa, 0xed, 0xfe],
  [0xce, 0xfa, 0xed, 0xfe],
  [0xfe, 0xed, 0xfa, 0xce],
  [0xfe, 0xed, 0xfa, 0xcf],
  [0xca, 0xfe, 0xba, 0xbe],
  [0x4d, 0x5a],
];

/** The error for a raw profile that no binary was given for: it names the build ids. */
export function missingBinaryError(segments: readonly RawSegment[]): ProfdataError {
  const buildIds = new Set(segments.map(({ buildId }) => hexOf(buildId)).filter((id) => id !== ""));
  const lines = Array.from(buildIds, (id) => `\n BuildId: ${id}`).join("");
  return new ProfdataError(
    `\nPath to profiled binary is empty, expected binary with one of the following build ids:\n${lines}`,
  );
}

/**
 * Opens a binary and checks that it can belong to a raw profile, in the reference tool's order and words. A wasm
 * module will do too.
 *
 * @throws ProfdataError
 */
export function openBinary(file: string): LoadedObject {
  const status = statSync(file, { throwIfNoEntry: false });
  if (status === undefined) throw new ProfdataError(`${file}\nNo such file or directory`);
  if (status.isDirectory()) throw new ProfdataError(`${file}\nIs a directory`);
  const loaded = tryOpen(file);
  if (loaded === undefined) {
    const start = startOf(file);
    const isOther = OTHER_OBJECTS.some((magic) => magic.every((byte, index) => start[index] === byte));
    throw new ProfdataError(
      isOther ? `${file}\nNot an ELF file: ` : `${file}\nThe file was not recognized as a valid object file`,
    );
  }
  const { kind, architecture, segments } = loaded.object;
  if (kind === "wasm") return loaded;
  if (segments.filter(({ flags }) => (flags & EXECUTABLE) !== 0).length > 1)
    throw new ProfdataError(`${file}\nExpect only one executable load segment in the binary`);
  if (architecture !== "x86_64" && architecture !== "i386")
    throw new ProfdataError(`${file}\nUnsupported target: ${architecture}`);
  return loaded;
}

/** Checks that the binary's build id occurs in the profile, once. @throws ProfdataError */
export function assertMatches(loaded: LoadedObject, segments: readonly RawSegment[]): void {
  const file = loaded.path;
  const buildId = buildIdOf(loaded);
  if (buildId === undefined) throw new ProfdataError(`No build id found in binary ${file}`);
  const matching = segments.filter((segment) => hexOf(segment.buildId) === buildId);
  if (matching.length === 0)
    throw new ProfdataError(`No matching executable segments found in binary ${file}`);
  if (matching.length > 1)
    throw new ProfdataError("We expect only one executable segment in the profiled binary");
}

/** The first bytes of a file; none of what is no regular file. */
function startOf(file: string): Uint8Array {
  try {
    return readRegular(file).subarray(0, 4);
  } catch {
    return new Uint8Array();
  }
}

function tryOpen(file: string): LoadedObject | undefined {
  try {
    return loadObject(file);
  } catch (error) {
    if (error instanceof UserError) return undefined;
    throw error;
  }
}
