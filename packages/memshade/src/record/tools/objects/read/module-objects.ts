import {
  decodeModule,
  IMMEDIATE_KIND,
  ImmediateKind,
  opcodeIdAt,
  skipImmediates,
  skipOpcode,
  type WasmModule,
} from "../../../../code/wasm/index.ts";
import { readU32Leb, skipLeb32 } from "../../../../ground/bytes/leb128.ts";
import { partitionPoint } from "../../../../ground/bytes/partition-point.ts";
import { constantObjects } from "../constant-objects.ts";
import { type CounterPlace, decodeEvents, FIRST_COUNTER, placeInTable } from "../event-table.ts";
import type { ObjectsLayout } from "../memory-plan.ts";
import { TypeFamilies } from "./type-families.ts";

/** A counted instruction of a module. */
export interface ObjectEvent {
  /** In the code section. */
  readonly offset: number;
  readonly op: number;
  /** Its type, and its field, second type or length. */
  readonly first: number;
  readonly second: number;
  /** Number of its function among the defined ones. */
  readonly defined: number;
  readonly counter: CounterPlace;
  /** Counter of elements, 0: none. */
  readonly elements: CounterPlace;
}

/** An object that a constant expression makes with each instance, by the number of its elements or the counter that has it. */
export interface KnownConstant {
  readonly type: number;
  readonly elements: number;
  readonly counter: CounterPlace;
}

/** What is known of a module without its counters. */
export class KnownObjects {
  readonly module: WasmModule;
  readonly families: TypeFamilies;
  readonly events: readonly ObjectEvent[];
  readonly constants: readonly KnownConstant[];

  constructor(original: Uint8Array, layout: ObjectsLayout) {
    const module = decodeModule(original);
    this.module = module;
    this.families = new TypeFamilies(module);
    const { bytes, bodies, codePayloadStart } = module;
    this.events = decodeEvents(layout.events).map(({ offset, counter, elements }) => {
      const at = offset + codePayloadStart;
      const defined = partitionPoint(0, bodies.length, (body) => bodies[body].end <= at);
      return { ...instructionAt(bytes, at), offset, defined, counter, elements };
    });
    let counters = 0;
    this.constants = constantObjects(module).map(({ type, elements }) =>
      typeof elements === "number"
        ? { type, elements, counter: 0 }
        : { type, elements: 0, counter: placeInTable(FIRST_COUNTER + counters++) },
    );
  }
}

function instructionAt(bytes: Uint8Array, at: number): { op: number; first: number; second: number } {
  const op = opcodeIdAt(bytes, at);
  const immediates = skipOpcode(bytes, at);
  if (IMMEDIATE_KIND[op] === ImmediateKind.None) return { op, first: -1, second: -1 };
  const behind = skipLeb32(bytes, immediates);
  const end = skipImmediates(bytes, immediates, IMMEDIATE_KIND[op]);
  return { op, first: readU32Leb(bytes, immediates), second: behind < end ? readU32Leb(bytes, behind) : -1 };
}
