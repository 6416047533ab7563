import {
  appendFunctionNames,
  appendToVectorSection,
  encodeConstantExpression,
  encodeDataEntry,
  encodeExportEntry,
  encodeGlobalEntry,
  encodeImportEntry,
  encodeMemoryEntry,
  encodeModule,
  I32,
  type MemoryType,
  memoryCount,
  readNames,
  SectionId,
  type SectionView,
  sectionPayload,
  type WasmModule,
} from "../../code/wasm/index.ts";
import { ByteWriter } from "../../ground/bytes/writer.ts";
import type { CarriedWord } from "../contexts/wrap-entries.ts";
import type { AppendedFunctions } from "../rewrite/write/appended-functions.ts";
import { BRANCH_HINT_SECTION, branchHints } from "../rewrite/write/branch-hints.ts";
import type { FunctionWriter } from "../rewrite/write/function-writer.ts";
import { ModuleSections } from "../rewrite/write/module-sections.ts";
import type { RewrittenBodies } from "../rewrite/write/rewritten-bodies.ts";
import { addSmallFunctions } from "../rewrite/write/small-functions.ts";
import { infoSection } from "./describe.ts";
import { HIDDEN_EXPORT_PREFIX } from "./host-interface.ts";
import type { HostTable } from "./host-table.ts";
import type { InstrumentedInfo } from "./options.ts";
import type { WovenTool } from "./tool.ts";

const PAGE_BYTES = 65536;
/** Debug information and hints hold code offsets of the original module. */
const OUTDATED_SECTION = /^(\.debug_|reloc\.|metadata\.code\.)|^(sourceMappingURL|external_debug_info)$/;

interface HiddenExport {
  name: string;
  kind: "memory" | "table" | "function" | "global";
  index: number;
}

/** A rewritten module and what it says of itself. */
export interface Instrumented {
  bytes: Uint8Array;
  info: InstrumentedInfo;
}

/** The code of a module with the tools in it, before its last function is written. */
export interface Rewritten {
  writer: FunctionWriter;
  bodies: RewrittenBodies;
  /** What runs first, −1: what ran first before. */
  start: number;
}

/** What a module is put together of, besides its code. */
export interface ModuleParts {
  module: WasmModule;
  /** The memory that is followed. */
  memory: number;
  tools: readonly WovenTool[];
  appended: AppendedFunctions;
  hostTable: HostTable;
  /** Global that calls by reference from inside set, behind those of the tools; −1: there is none. */
  inside: number;
  carried: CarriedWord | undefined;
  /** Whether other threads read the tools' memories. */
  sharesShadow: boolean;
  /** What it says of itself, when all else is known. */
  describe(hiddenExports: string[]): InstrumentedInfo;
}

/** Writes the last functions of a module, and puts its sections together. */
export function assembleModule(parts: ModuleParts, rewritten: Rewritten): Instrumented {
  return new Assembly(parts).assemble(rewritten);
}

class Assembly {
  readonly #parts: ModuleParts;

  constructor(parts: ModuleParts) {
    this.#parts = parts;
  }

  /** Its sections with what the tools add to each. */
  assemble({ writer, bodies, start }: Rewritten): Instrumented {
    const { module, appended, hostTable } = this.#parts;
    const sections = new ModuleSections(module);
    const exported = this.#hiddenExports();
    if (hostTable.isUsed) sections.append(SectionId.Table, [hostTable.entry()]);
    this.#addGlobals(sections);
    sections.append(SectionId.Export, exported.map(encodeExportEntry));
    appended.writeBodies(writer);
    addSmallFunctions(appended, writer, module.importedFunctionCount);
    // What tools know of functions is complete now.
    this.#addMemories(sections);
    this.#addData(sections);
    const code = writer.finish(module.bodies.length + appended.count);
    sections.set(SectionId.Code, code);
    sections.set(
      SectionId.Function,
      appendToVectorSection(this.#functionSection(bodies), appended.count, appended.functionEntries()),
    );
    sections.append(SectionId.Type, appended.types);
    if (start >= 0) sections.setNumber(SectionId.Start, start);
    return this.#encode(
      sections,
      writer,
      code,
      exported.map(({ name }) => name),
    );
  }

  #encode(
    sections: ModuleSections,
    writer: FunctionWriter,
    code: Uint8Array,
    hiddenExports: string[],
  ): Instrumented {
    const { module, appended } = this.#parts;
    const hints = branchHints(code, writer.rare, module.importedFunctionCount);
    // Stack traces name functions that moved as they did before.
    const names = appendFunctionNames(module, appended.names(readNames(module).functions));
    let info: InstrumentedInfo | undefined;
    const bytes = encodeModule(module, {
      sections: sections.payloads,
      dropCustom: ({ name = "" }: SectionView) =>
        OUTDATED_SECTION.test(name) || (name === "name" && names !== undefined),
      customsBeforeCode: writer.rare.length > 0 ? [{ name: BRANCH_HINT_SECTION, content: hints }] : [],
      customs: (codeStart) => {
        this.#tellMarks(writer, codeStart);
        info = this.#parts.describe(hiddenExports);
        const own = infoSection(info);
        return names === undefined ? [own] : [{ name: "name", content: names }, own];
      },
    });
    return { bytes, info: { ...(info as unknown as InstrumentedInfo), rewrittenBytes: bytes.length } };
  }

  /** Tells the tools where the places are that they marked. */
  #tellMarks(writer: FunctionWriter, codeStart: number): void {
    const { codePayloadStart } = this.#parts.module;
    for (const tool of this.#parts.tools)
      tool.codeWritten?.({
        offsets: writer.marks.map((offset) => offset + codeStart),
        originals: writer.markPositions.map((at) => (at < 0 ? at : at - codePayloadStart)),
      });
  }

  #addGlobals(sections: ModuleSections): void {
    const globals = this.#parts.tools.flatMap((tool) => tool.globals ?? []);
    const entries = globals.map(({ type, initial, mutable = true }) =>
      encodeGlobalEntry({ type, mutable }, initial),
    );
    if (this.#parts.inside >= 0)
      entries.push(encodeGlobalEntry({ type: I32, mutable: true }, encodeConstantExpression(I32, 0)));
    sections.append(SectionId.Global, entries);
  }

  /** The tools' memories, behind the module's own: those that instances share are imported. */
  #addMemories(sections: ModuleSections): void {
    const shared = this.#parts.sharesShadow;
    const imported: Uint8Array[] = [];
    const memories: Uint8Array[] = [];
    for (const { shadowBytes, sharedMemory, tableBytes = [] } of this.#parts.tools) {
      if (sharedMemory !== undefined)
        imported.push(
          encodeImportEntry({ ...sharedMemory, kind: "memory", memory: shadowMemoryType(shadowBytes, true) }),
        );
      else memories.push(encodeMemoryEntry(shadowMemoryType(shadowBytes, shared)));
      for (const bytes of tableBytes) memories.push(encodeMemoryEntry(shadowMemoryType(bytes, shared)));
    }
    sections.append(SectionId.Import, imported);
    const limited = this.#limitMemory();
    if (limited === undefined) sections.append(SectionId.Memory, memories);
    else sections.setEntries(SectionId.Memory, [...limited, ...memories]);
  }

  /** The module's own memories, the followed one no larger than the tools can follow. */
  #limitMemory(): readonly Uint8Array[] | undefined {
    const limits = this.#parts.tools.flatMap(({ memoryLimit }) => memoryLimit ?? []);
    const own = this.#parts.memory - this.#parts.module.importedMemoryCount;
    if (limits.length === 0 || own < 0) return undefined;
    return this.#parts.module.memories.map((memory, index) => {
      const most = Math.floor(Math.min(...limits) / 2 ** memory.pageSizeLog2);
      return encodeMemoryEntry(
        index === own ? { ...memory, maximum: Math.max(memory.minimum, most) } : memory,
      );
    });
  }

  #addData(sections: ModuleSections): void {
    const data = this.#parts.tools.flatMap((tool) => tool.data?.() ?? []);
    sections.append(SectionId.Data, data.map(encodeDataEntry));
    const { dataCount } = this.#parts.module;
    if (data.length > 0 && dataCount !== undefined)
      sections.setNumber(SectionId.DataCount, dataCount + data.length);
  }

  /** The module's function section with the types that functions get which hand on a word; their wrappers keep the old ones. */
  #functionSection(bodies: RewrittenBodies): Uint8Array | undefined {
    const types = this.#parts.carried?.types;
    if (types === undefined) return sectionPayload(this.#parts.module, SectionId.Function);
    const { functions, importedFunctionCount } = this.#parts.module;
    const writer = new ByteWriter(functions.length * 2 + 5).u32Leb(functions.length);
    for (const [defined, type] of functions.entries()) {
      const index = defined + importedFunctionCount;
      const isWrapper = bodies.replacementOf(index) !== undefined;
      writer.u32Leb((isWrapper ? undefined : types.get(index)) ?? type);
    }
    return writer.finish();
  }

  /** The tools' memories, functions and globals for the host, and the table through which it is called. */
  #hiddenExports(): HiddenExport[] {
    const exported: HiddenExport[] = [];
    const add = (name: string, kind: HiddenExport["kind"], index: number): void => {
      exported.push({ name: HIDDEN_EXPORT_PREFIX + name, kind, index });
    };
    let memory = memoryCount(this.#parts.module);
    for (const { name, exports = {}, exportedMemory = name, tableBytes = [] } of this.#parts.tools) {
      if (exportedMemory !== false) add(exportedMemory, "memory", memory);
      memory++;
      for (const table of tableBytes.keys()) add(`${name}.${table + 1}`, "memory", memory++);
      for (const [key, index] of Object.entries(exports)) add(`${name}.${key}`, "function", index);
    }
    if (this.#parts.tools.some(({ exportsProgram }) => exportsProgram === true))
      add("program", "memory", this.#parts.memory);
    if (this.#parts.hostTable.isUsed) add("table", "table", this.#parts.hostTable.index);
    for (const { name, index } of this.#parts.tools.flatMap(({ globalExports = [] }) => globalExports))
      add(name, "global", index);
    return exported;
  }
}

function shadowMemoryType(bytes: number, shared: boolean): MemoryType {
  const pages = bytes / PAGE_BYTES;
  return { minimum: pages, maximum: pages, shared, index64: false, pageSizeLog2: 16 };
}
