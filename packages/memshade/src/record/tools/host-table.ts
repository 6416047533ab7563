import { encodeTableEntry, FUNCREF, I32, type WasmModule } from "../../code/wasm/index.ts";
import type { AppendedFunctions } from "../rewrite/write/appended-functions.ts";
import { BodyBuilder } from "../rewrite/write/body-builder.ts";
import { HostSlot } from "./host-interface.ts";

const SLOTS = Object.keys(HostSlot).length;

/** The table through which an instrumented module reaches its host, if there is one that has filled its slots. */
export class HostTable {
  /** Index of the table in the instrumented module. */
  readonly index: number;
  readonly #appended: AppendedFunctions;
  /** Whether a tool calls the host. */
  isUsed = false;

  constructor(module: WasmModule, appended: AppendedFunctions) {
    this.index = module.importedTableCount + module.tables.length;
    this.#appended = appended;
  }

  /** Function () → () that calls what is in a slot, or () → i32 that says whether there was something. */
  caller(slot: number, answers: boolean): number {
    this.isUsed = true;
    const appended = this.#appended;
    return appended.add(appended.typeIndex([], answers ? [I32] : []), () => {
      const nothing = appended.typeIndex([], []);
      const body = new BodyBuilder();
      body.i32(slot).op("table.get", this.index).op("ref.is_null").open("if");
      if (answers) body.i32(0);
      body.op("return").end();
      body.i32(slot).op("call_indirect", nothing, this.index);
      if (answers) body.i32(1);
      return body.finish();
    });
  }

  /** Its entry in the table section. */
  entry(): Uint8Array {
    return encodeTableEntry({
      element: FUNCREF,
      minimum: SLOTS,
      maximum: SLOTS,
      shared: false,
      index64: false,
    });
  }
}
