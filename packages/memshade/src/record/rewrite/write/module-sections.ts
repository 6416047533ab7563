import {
  appendToVectorSection,
  encodeVectorPayload,
  sectionPayload,
  type WasmModule,
} from "../../../code/wasm/index.ts";
import { ByteWriter } from "../../../ground/bytes/writer.ts";

type Id = number;

export class ModuleSections {
  readonly #module: WasmModule;
  /** Payloads by section id, as `encodeModule` takes them. */
  readonly payloads = new Map<number, Uint8Array | null>();

  constructor(module: WasmModule) {
    this.#module = module;
  }

  set(id: Id, payload: Uint8Array): void {
    this.payloads.set(id, payload);
  }

  /** Replaces a section that consists of one number. */
  setNumber(id: Id, value: number): void {
    this.set(id, new ByteWriter(5).u32Leb(value).finish());
  }

  setEntries(id: Id, entries: readonly Uint8Array[]): void {
    this.set(id, encodeVectorPayload([...entries]));
  }

  append(id: Id, entries: readonly Uint8Array[]): void {
    if (entries.length === 0) return;
    const writer = new ByteWriter(256);
    for (const entry of entries) writer.bytes(entry);
    this.set(id, appendToVectorSection(sectionPayload(this.#module, id), entries.length, writer.finish()));
  }
}
