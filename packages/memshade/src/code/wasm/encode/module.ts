import { concatenated } from "../../../ground/bytes/file-piece.ts";
import { ByteWriter } from "../../../ground/bytes/writer.ts";
import { HEADER_BYTES } from "../decode.ts";
import { SECTION_IDS_IN_ORDER, SectionId } from "../sections.ts";
import type { ByteRange, SectionView, WasmModule } from "../types.ts";
import { writeCustomSection } from "./sections.ts";

export interface ModuleChanges {
  /** new payloads by section id; a section that the module lacks is inserted, null removes one */
  sections?: ReadonlyMap<number, Uint8Array | null>;
  dropCustom?: (section: SectionView) => boolean;
  customsBeforeCode?: readonly CustomContent[];
  /**
   * custom sections to add at the end, possibly depending on the file offset of the new code section's payload (−1:
   * there is none)
   */
  customs?: readonly CustomContent[] | ((codePayloadStart: number) => readonly CustomContent[]);
}

export interface CustomContent {
  name: string;
  content: Uint8Array;
}

/**
 * Writes the module with the given changes. Sections that `changes` does not name are copied unchanged, so that
 * without changes the result equals the input byte for byte. A new section comes before the first one that must
 * follow it and before trailing custom sections, but never before leading ones.
 */
export function encodeModule(module: WasmModule, changes: ModuleChanges = {}): Uint8Array {
  const { bytes } = module;
  const replaced = changes.sections ?? new Map<number, Uint8Array | null>();
  const present = new Set(module.sections.map(({ id }) => id));
  const added = SECTION_IDS_IN_ORDER.filter((id) => !present.has(id) && replaced.get(id));
  const parts: Uint8Array[] = [bytes.subarray(0, HEADER_BYTES)];

  const lastStandard = module.sections.findLastIndex(({ id }) => id !== SectionId.Custom);
  const writeCustoms = (customs: readonly CustomContent[] = []) => {
    for (const { name, content } of customs) {
      const custom = new ByteWriter(content.length + name.length * 3 + 16);
      writeCustomSection(custom, name, content);
      parts.push(custom.view());
    }
  };
  const writeAddedBefore = (rank: number) => {
    while (added.length > 0 && SECTION_IDS_IN_ORDER.indexOf(added[0]) < rank) {
      const id = added.shift() as number;
      if (id === SectionId.Code) writeCustoms(changes.customsBeforeCode);
      parts.push(...sectionParts(id, replaced.get(id) as Uint8Array));
    }
  };
  module.sections.forEach((section, index) => {
    if (lastStandard >= 0 && index > lastStandard) writeAddedBefore(SECTION_IDS_IN_ORDER.length);
    if (section.id === SectionId.Custom) {
      if (!changes.dropCustom?.(section)) parts.push(bytes.subarray(section.start, section.payloadEnd));
      return;
    }
    writeAddedBefore(SECTION_IDS_IN_ORDER.indexOf(section.id));
    if (section.id === SectionId.Code) writeCustoms(changes.customsBeforeCode);
    const payload = replaced.get(section.id);
    if (payload === undefined) parts.push(bytes.subarray(section.start, section.payloadEnd));
    else if (payload !== null) parts.push(...sectionParts(section.id, payload));
  });
  writeAddedBefore(SECTION_IDS_IN_ORDER.length);
  const { customs = [] } = changes;
  const codeStart = () => startOf(parts, replaced.get(SectionId.Code) ?? undefined);
  writeCustoms(typeof customs === "function" ? customs(codeStart()) : customs);
  return concatenated(parts);
}

/** Returns id and size of a section, and its payload without a copy, as payloads may be large. */
function sectionParts(id: number, payload: Uint8Array): [Uint8Array, Uint8Array] {
  return [new ByteWriter(6).u8(id).u32Leb(payload.length).finish(), payload];
}

function startOf(parts: readonly Uint8Array[], wanted: Uint8Array | undefined): number {
  let at = 0;
  for (const part of parts) {
    if (part === wanted) return at;
    at += part.length;
  }
  return -1;
}

/** Returns the payload of the section with this id as a view; undefined if the module has none. */
export function sectionPayload(module: WasmModule, id: number): Uint8Array | undefined {
  const section = module.sections.find((view) => view.id === id);
  return section === undefined ? undefined : module.bytes.subarray(section.payloadStart, section.payloadEnd);
}

export function bytesOf(module: WasmModule, range: ByteRange): Uint8Array {
  return module.bytes.subarray(range.start, range.end);
}
