import { FormatError } from "../../../ground/bytes/errors.ts";
import { ByteReader } from "../../../ground/bytes/reader.ts";
import { SECTION_IDS_IN_ORDER, SectionId, sectionName } from "../sections.ts";
import type { SectionView, WasmModule } from "../types.ts";
import { decodeCodeSection } from "./code.ts";
import {
  decodeDataCountSection,
  decodeExportSection,
  decodeFunctionSection,
  decodeGlobalSection,
  decodeImportSection,
  decodeMemorySection,
  decodeStartSection,
  decodeTableSection,
  decodeTagSection,
} from "./declarations.ts";
import { checkHeader, HEADER_BYTES } from "./header.ts";
import { decodeDataSection, decodeElementSection } from "./segments.ts";
import { decodeTypeSection } from "./types-section.ts";

type SectionDecoder = (reader: ByteReader, module: WasmModule) => void;

const SECTION_DECODERS: ReadonlyMap<number, SectionDecoder> = new Map([
  [SectionId.Type, decodeTypeSection],
  [SectionId.Import, decodeImportSection],
  [SectionId.Function, decodeFunctionSection],
  [SectionId.Table, decodeTableSection],
  [SectionId.Memory, decodeMemorySection],
  [SectionId.Tag, decodeTagSection],
  [SectionId.Global, decodeGlobalSection],
  [SectionId.Export, decodeExportSection],
  [SectionId.Start, decodeStartSection],
  [SectionId.Element, decodeElementSection],
  [SectionId.DataCount, decodeDataCountSection],
  [SectionId.Code, decodeCodeSection],
  [SectionId.Data, decodeDataSection],
]);

/**
 * Decodes the sections of a core module. The result refers to `bytes`, which must not change afterwards;
 * function bodies are found, not walked. Time and memory are bounded by the length of the input.
 *
 * Throws `FormatError` for anything that is not a well-formed module of version 1. It does not validate:
 * indices may be out of range and instructions ill-typed.
 */
export function decodeModule(bytes: Uint8Array): WasmModule {
  checkHeader(bytes);
  const module = emptyModule(bytes);
  const reader = new ByteReader(bytes, HEADER_BYTES);
  let nextRank = 0;
  while (!reader.atEnd) {
    const section = readSectionHeader(reader);
    module.sections.push(section);
    if (section.id === SectionId.Custom) {
      readCustomName(bytes, section);
      module.customs.push(section);
      continue;
    }
    const rank = rankOf(section, nextRank);
    nextRank = rank + 1;
    const payload = new ByteReader(bytes, section.payloadStart, section.payloadEnd);
    SECTION_DECODERS.get(section.id)?.(payload, module);
    if (!payload.atEnd)
      throw new FormatError(
        "malformed",
        payload.position,
        `${sectionName(section.id)} section`,
        `${payload.remaining} bytes are left after its last entry`,
      );
  }
  checkCounts(module);
  return module;
}

function emptyModule(bytes: Uint8Array): WasmModule {
  return {
    bytes,
    sections: [],
    types: [],
    subtypes: [],
    typeGroups: [],
    imports: [],
    functions: [],
    tables: [],
    memories: [],
    tags: [],
    globals: [],
    exports: [],
    start: undefined,
    elements: [],
    dataCount: undefined,
    bodies: [],
    data: [],
    customs: [],
    importedFunctionCount: 0,
    importedTableCount: 0,
    importedMemoryCount: 0,
    importedGlobalCount: 0,
    importedTagCount: 0,
    codePayloadStart: 0,
  };
}

function readSectionHeader(reader: ByteReader): SectionView {
  const start = reader.position;
  const id = reader.u8("section");
  const size = reader.u32Leb();
  const payloadStart = reader.skip(size, `${sectionName(id)} section`);
  return { id, start, payloadStart, payloadEnd: payloadStart + size };
}

function readCustomName(bytes: Uint8Array, section: SectionView): void {
  const reader = new ByteReader(bytes, section.payloadStart, section.payloadEnd);
  section.name = reader.name("custom section name");
  section.contentStart = reader.position;
}

/** Place of the section in the prescribed order; throws unless it is at least `lowestRank`. */
function rankOf(section: SectionView, lowestRank: number): number {
  const construct = `${sectionName(section.id)} section`;
  const rank = SECTION_IDS_IN_ORDER.indexOf(section.id);
  if (rank < 0) throw new FormatError("malformed", section.start, construct, "there is no such section id");
  if (rank >= lowestRank) return rank;
  const detail = rank === lowestRank - 1 ? "the section appears twice" : "the section is out of order";
  throw new FormatError("malformed", section.start, construct, detail);
}

function checkCounts(module: WasmModule): void {
  const { functions, bodies, dataCount, data, bytes } = module;
  if (functions.length !== bodies.length) {
    const detail = `${functions.length} functions are declared and ${bodies.length} have a body`;
    throw new FormatError("malformed", module.codePayloadStart || bytes.length, "code section", detail);
  }
  if (dataCount !== undefined && dataCount !== data.length) {
    const detail = `${dataCount} segments are announced and ${data.length} follow`;
    throw new FormatError("malformed", bytes.length, "data section", detail);
  }
}
