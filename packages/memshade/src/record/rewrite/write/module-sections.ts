import {
  appendToVectorSection,
  encodeVectorPayload,
  sectionPayload,
  type WasmModule,
} from "../../../code/wasm/index.ts";
import { ByteWriter } from "../../../ground/bytes/writer.ts";

type Id = number;

/** Payloads of the sections that rewriting changes. */
export class ModuleSections {
  readonly #module: WasmModule;
  /** By section id, as `encodeModule` takes them. */
  readonly payloads = new Map<number, Uint8Array | null>();

  constructor(module: WasmModule) {
    this.#module = module;
  }

  set(id: Id, payload: Uint8Array): void {
    this.payloads.set(id, payload);
  }

  /** Replaces a section that is one number. */
  setNumber(id: Id, value: number): void {
    this.set(id, new ByteWriter(5).u32Leb(value).finish());
  }

  /** Replaces all entries of a section. */
  setEntries(id: Id, entries: readonly Uint8Array[]): void {
    this.set(id, encodeVectorPayload([...entries]));
  }

  /** Puts entries behind the module's own. */
  append(id: Id, entries: readonly Uint8Array[]): void {
    if (entries.length === 0) return;
    const writer = new ByteWriter(256);
    for (const entry of entries) writer.bytes(entry);
    this.set(id, appendToVectorSection(sectionPayload(this.#module, id), entries.length, writer.finish()));
  }
}
