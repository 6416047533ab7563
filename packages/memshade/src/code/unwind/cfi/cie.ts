import { DW_EH_PE } from "./constants.ts";
import type { CfiCursor } from "./cursor.ts";
import { ROW_FLAG } from "./rule-sets.ts";

/** Longer strings cannot be known ones. */
const MAX_AUGMENTATION = 32;

/** A common information entry. */
export interface Cie {
  readonly version: number;
  /** Encoding (`DW_EH_PE`) of the start of FDEs and of `DW_CFA_set_loc`. */
  readonly pointerEncoding: number;
  /** Encoding of the pointer to a function's table of exceptions; `omit`: functions have none. */
  readonly lsdaEncoding: number;
  /** Encoding of the pointer to the function that unwinds these frames, and where it stands, counted from behind the CIE's id. */
  readonly personality: { readonly encoding: number; readonly offset: number } | undefined;
  /** The augmentation string begins with `z`: FDEs have augmentation data with its size in front. */
  readonly hasAugmentationData: boolean;
  /** Bytes of the segment selector in front of the addresses of FDEs. */
  readonly segmentSize: number;
  readonly addressSize: number;
  readonly codeAlignment: number;
  readonly dataAlignment: number;
  readonly returnAddress: number;
  /** `ROW_FLAG`s of all rows. */
  readonly flags: number;
  /** Range of the initial instructions in the section. */
  readonly programStart: number;
  readonly programEnd: number;
  /** Rule set after the initial instructions. */
  initialSet: number;
}

/**
 * Reads a CIE from the byte behind its id to the end of the cursor. A string says what is wrong with it.
 * (DWARF 5, 6.4.1; Linux Standard Base Core 5.0, 10.6.1.1.1)
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
  // The column of the return address has 24 bits in a rule set.
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
    let known = true;
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
      else if (letter !== "G") known = false;
      // Without a known letter the data of those behind it cannot be found; its size leads to the instructions anyway.
      if (!known) break;
    }
    cursor.end = end;
    if (Number.isNaN(pointerEncoding)) return "the augmentation data is too short";
    if (!known && !encodingSeen) return "an unknown augmentation may hide the encoding of pointers";
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
  // Not followed: only its size matters here.
  if (encoding !== DW_EH_PE.omit) cursor.encodedPointer(encoding & ~DW_EH_PE.indirect);
}
