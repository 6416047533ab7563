import type { ObjectFile } from "../../objects/types.ts";
import { unwindTarget } from "../architecture.ts";
import { CfiCursor } from "./cursor.ts";
import { FrameHeader } from "./frame-header.ts";
import type { CodeLayout } from "./reader.ts";
import type { CfiSection } from "./section.ts";

const SHT_PROGBITS = 1;
const SHT_X86_64_UNWIND = 0x7000_0001;
const PT_GNU_EH_FRAME = 0x6474_e550;
const PF_X = 1;

/** What a reader needs of an object: its sections with call frame information, those to be preferred first. */
export interface ObjectCfi extends CodeLayout {
  readonly sections: readonly CfiSection[];
  /** `.eh_frame_hdr`, if there is one that can be searched. It covers `sections[0]`. */
  readonly header: FrameHeader | undefined;
}

/** Finds the sections with call frame information, in files without section headers too. */
export function cfiOfObject(object: ObjectFile): ObjectCfi {
  const layout = codeLayout(object);
  const addressSize = object.addressSize;
  const addressOf = (name: string) => object.sections.find((section) => section.name === name)?.address;
  const readPointer = (address: number): number | undefined => {
    const bytes = object.bytesAt(address, addressSize);
    if (bytes.length < addressSize) return undefined;
    const cursor = new CfiCursor({ kind: "eh_frame", bytes, address, addressSize });
    cursor.end = bytes.length;
    return cursor.unsigned(addressSize);
  };
  const common = {
    addressSize,
    textAddress: addressOf(".text"),
    dataAddress: addressOf(".got"),
    readPointer,
  };

  const sections: CfiSection[] = [];
  if (unwindTarget(object.architecture) === undefined) return { ...layout, sections, header: undefined };
  for (const kind of ["eh_frame", "debug_frame"] as const)
    for (const section of object.sections) {
      if (section.name !== `.${kind}` && !(kind === "debug_frame" && section.name === ".zdebug_frame"))
        continue;
      if (section.type !== SHT_PROGBITS && section.type !== SHT_X86_64_UNWIND) continue;
      const bytes = object.contentOf(section);
      if (bytes !== undefined && bytes.length > 0)
        sections.push({ ...common, kind, bytes, address: section.address });
    }
  const segment = object.programHeaders.find(({ type }) => type === PT_GNU_EH_FRAME);
  const header =
    segment && FrameHeader.open(object.bytesAt(segment.address, segment.memorySize), segment.address, common);
  const frames = sections.filter(({ kind }) => kind === "eh_frame");
  const isIn = ({ address, bytes }: CfiSection, at: number): boolean =>
    at >= address && at - address < bytes.length;
  // No section, or a file with more frames than its sections know of.
  if (header !== undefined && !frames.some((section) => isIn(section, header.frameAddress))) {
    const found = sectionBehindHeader(object, header, common);
    if (found !== undefined) sections.unshift(found);
  }
  const isWhole = sections.filter(({ kind }) => kind === "eh_frame").length === Math.max(frames.length, 1);
  const covered = isWhole && sections[0]?.kind === "eh_frame" && sections[0].address === header?.frameAddress;
  return { ...layout, sections, header: covered ? header : undefined };
}

/** `.eh_frame` of a file without section headers: all that follows in its segment, up to its terminator. */
function sectionBehindHeader(
  object: ObjectFile,
  header: FrameHeader,
  common: Omit<CfiSection, "kind" | "bytes" | "address">,
): CfiSection | undefined {
  const address = header.frameAddress;
  const segment = object.segments.find(
    (candidate) => address >= candidate.address && address < candidate.address + candidate.fileSize,
  );
  if (segment === undefined) return undefined;
  const bytes = object.bytesAt(address, segment.address + segment.fileSize - address);
  // A terminator in front of an entry that the header knows ends only one linked piece.
  const lastKnown = header.lastFdeAddress() - address;
  return { ...common, kind: "eh_frame", bytes, address, terminatedAfter: lastKnown };
}

function codeLayout({ segments }: ObjectFile): CodeLayout {
  let base = Number.POSITIVE_INFINITY;
  for (const { address } of segments) base = Math.min(base, address);
  // Object files have no segments yet.
  if (segments.length === 0) base = 0;
  let start = Number.POSITIVE_INFINITY;
  let end = 0;
  for (const { address, memorySize, flags } of segments) {
    if ((flags & PF_X) === 0) continue;
    start = Math.min(start, address - base);
    end = Math.max(end, address - base + memorySize);
  }
  if (segments.length === 0) return { base, code: { start: 0, end: 2 ** 32 } };
  return { base, code: { start, end: Math.min(end, 2 ** 32) } };
}
