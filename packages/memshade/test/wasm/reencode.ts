import { ByteWriter } from "../../src/bytes/writer.ts";
import {
  bytesOf,
  decodeLocals,
  encodeDataEntry,
  encodeExportEntry,
  encodeGlobalEntry,
  encodeImportEntry,
  encodeMemoryEntry,
  encodeModule,
  encodeTableEntry,
  encodeVectorPayload,
  SectionId,
  type WasmModule,
} from "../../src/wasm/index.ts";
import {
  encodeBody,
  encodeElementEntry,
  encodeFunctionEntry,
  encodeTagEntry,
  writeTypeEntry,
} from "../support/module-entries.ts";

/**
 * Writes the module from its decoded form: every section but the custom ones is built anew, with all integers
 * of the structure in their shortest encoding; instructions are copied. The result means the same.
 */
export function reencodeModule(module: WasmModule): Uint8Array {
  const sections = new Map<number, Uint8Array>();
  for (const { id } of module.sections) {
    if (id !== SectionId.Custom) sections.set(id, encodeDecodedSection(module, id));
  }
  return encodeModule(module, { sections });
}

function encodeDecodedSection(module: WasmModule, id: number): Uint8Array {
  switch (id) {
    case SectionId.Type:
      return encodeTypePayload(module);
    case SectionId.Import:
      return encodeVectorPayload(module.imports.map(encodeImportEntry));
    case SectionId.Function:
      return encodeVectorPayload(module.functions.map(encodeFunctionEntry));
    case SectionId.Table:
      return encodeVectorPayload(
        module.tables.map((table) =>
          encodeTableEntry(table, table.initial === undefined ? undefined : bytesOf(module, table.initial)),
        ),
      );
    case SectionId.Memory:
      return encodeVectorPayload(module.memories.map(encodeMemoryEntry));
    case SectionId.Tag:
      return encodeVectorPayload(module.tags.map(({ typeIndex }) => encodeTagEntry(typeIndex)));
    case SectionId.Global:
      return encodeVectorPayload(
        module.globals.map((global) => encodeGlobalEntry(global, bytesOf(module, global.initial))),
      );
    case SectionId.Export:
      return encodeVectorPayload(module.exports.map(encodeExportEntry));
    case SectionId.Start:
      return encodeFunctionEntry(module.start as number);
    case SectionId.Element:
      return encodeElementPayload(module);
    case SectionId.DataCount:
      return encodeFunctionEntry(module.dataCount as number);
    case SectionId.Code:
      return encodeVectorPayload(
        module.bodies.map((body) =>
          encodeBody(decodeLocals(module, body), module.bytes.subarray(body.codeStart, body.end)),
        ),
      );
    default:
      return encodeDataPayload(module);
  }
}

function encodeTypePayload(module: WasmModule): Uint8Array {
  const writer = new ByteWriter(1024);
  writer.u32Leb(module.typeGroups.length);
  for (const { first, count, explicit } of module.typeGroups) {
    if (explicit) writer.u8(0x4e).u32Leb(count);
    for (let i = first; i < first + count; i++) writeTypeEntry(writer, module.types[i], module.subtypes[i]);
  }
  return writer.finish();
}

function encodeElementPayload(module: WasmModule): Uint8Array {
  return encodeVectorPayload(
    module.elements.map((segment) => {
      const { items } = segment;
      return encodeElementEntry({
        ...segment,
        offset: segment.offset === undefined ? undefined : bytesOf(module, segment.offset),
        items:
          items.kind === "functions"
            ? items
            : { kind: "expressions", expressions: items.expressions.map((range) => bytesOf(module, range)) },
      });
    }),
  );
}

function encodeDataPayload(module: WasmModule): Uint8Array {
  return encodeVectorPayload(
    module.data.map((segment) =>
      encodeDataEntry({
        ...segment,
        offset: segment.offset === undefined ? undefined : bytesOf(module, segment.offset),
        content: bytesOf(module, segment),
      }),
    ),
  );
}
