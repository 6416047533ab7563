import { DW_EH_PE } from "./constants.ts";
import type { CfiCursor } from "./cursor.ts";
import { ROW_FLAG } from "./rule-sets.ts";

/** Longer augmentation strings are unknown anyway. */
const MAX_AUGMENTATION = 32;

export interface Cie {
  readonly version: number;
  /** Encoding (`DW_EH_PE`) of the start of FDEs and of `DW_CFA_set_loc`. */
  readonly pointerEncoding: number;
  /** Encoding of the pointer to a function's exception table; `omit` if functions have none. */
  readonly lsdaEncoding: number;
  /** Encoding of the pointer to the personality routine, and its offset from the end of the CIE's id. */
  readonly personality: { readonly encoding: number; readonly offset: number } | undefined;
  /** True if the augmentation string begins with `z`: FDEs then have augmentation data, preceded by its size. */
  readonly hasAugmentationData: boolean;
  readonly segmentSize: number;
  readonly addressSize: number;
  readonly codeAlignment: number;
  readonly dataAlignment: number;
  readonly returnAddress: number;
  /** `ROW_FLAG`s of all rows. */
  readonly flags: number;
  readonly programStart: number;
  readonly programEnd: number;
  initialSet: number;
}

/**
 * Reads a CIE from the byte after its id to the end of the cursor. A returned string describes a problem. (DWARF 5,
 * 6.4.1; Linux Standard Base Core 5.0, 10.6.1.1.1)
 */
export function readCie(cursor: CfiCursor): Cie | string {
  const { section, bytes } = cursor;
  const start = cursor.position;
  const version = cursor.unsigned(1);
  if (version !== 1 && version !== 3 && version !== 4) return `version ${version} is not 1, 3 or 4`;
  const nameStart = cursor.position;
  let nameEnd = nameStart;
  while (nameEnd < cursor.end && bytes[nameEnd] !== 0)
    if (++nameEnd - nameStart > MAX_AUGMENTATION) return "the augmentation string does not end";
  const augmentation = String.fromCharCode(...bytes.subarray(nameStart, nameEnd));
  cursor.position = nameEnd + 1;
  if (augmentation.startsWith("eh")) cursor.skip(section.addressSize);
  const addressSize = version >= 4 ? cursor.unsigned(1) : section.addressSize;
  const segmentSize = version >= 4 ? cursor.unsigned(1) : 0;
  if (addressSize !== 4 && addressSize !== 8) return `addresses of ${addressSize} bytes`;
  const codeAlignment = cursor.uleb();
  const dataAlignment = cursor.sleb();
  const returnAddress = version === 1 ? cursor.unsigned(1) : cursor.uleb();
  const readable = segmentSize <= 8 && codeAlignment < 2 ** 32 && Math.abs(dataAlignment) < 2 ** 31;
  // A rule set stores the return address column in 24 bits.
  if (!readable || !(returnAddress < 2 ** 23)) return "the header is damaged";

  let rest = augmentation.startsWith("eh") ? augmentation.slice(2) : augmentation;
  let pointerEncoding: number = DW_EH_PE.absptr;
  let lsdaEncoding: number = DW_EH_PE.omit;
  let flags = 0;
  let personality: Cie["personality"];
  let programStart = cursor.position;
  const hasAugmentationData = rest.startsWith("z");
  if (hasAugmentationData) {
    const size = cursor.uleb();
    const data = cursor.skip(size);
    if (Number.isNaN(data)) return "the augmentation data is cut off";
    programStart = cursor.position;
    cursor.position = data;
    const end = cursor.end;
    cursor.end = programStart;
    let isKnown = true;
    let encodingSeen = false;
    for (const letter of rest.slice(1)) {
      if (letter === "R") {
        pointerEncoding = cursor.unsigned(1);
        encodingSeen = true;
      } else if (letter === "L") lsdaEncoding = cursor.unsigned(1);
      else if (letter === "P") {
        personality = { encoding: cursor.unsigned(1), offset: cursor.position - start };
        skipPersonality(cursor, personality.encoding);
      } else if (letter === "S") flags |= ROW_FLAG.signalFrame;
      else if (letter === "B") flags |= ROW_FLAG.signedWithKeyB;
      else if (letter !== "G") isKnown = false;
      // After an unknown letter, the data of further letters cannot be found. The instructions are still found by
      // the data's size.
      if (!isKnown) break;
    }
    cursor.end = end;
    if (Number.isNaN(pointerEncoding)) return "the augmentation data is too short";
    if (!isKnown && !encodingSeen) return "an unknown augmentation may hide the encoding of pointers";
    rest = "";
  }
  if (rest !== "") return `unknown augmentation "${rest.replaceAll(/[^ -~]/g, "?")}"`;
  return {
    version,
    pointerEncoding,
    lsdaEncoding,
    personality,
    hasAugmentationData,
    segmentSize,
    addressSize,
    codeAlignment,
    dataAlignment,
    returnAddress,
    flags,
    programStart,
    programEnd: cursor.end,
    initialSet: 0,
  };
}

function skipPersonality(cursor: CfiCursor, encoding: number): void {
  // Only the size of the pointer matters here.
  if (encoding !== DW_EH_PE.omit) cursor.encodedPointer(encoding & ~DW_EH_PE.indirect);
}
