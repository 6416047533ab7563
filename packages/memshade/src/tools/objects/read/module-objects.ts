import { readS32Leb, readU32Leb, skipLeb32 } from "../../../bytes/leb128.ts";
import { partitionPoint } from "../../../bytes/partition-point.ts";
import {
  decodeModule,
  IMMEDIATE_KIND,
  ImmediateKind,
  opcodeIdAt,
  skipImmediates,
  skipOpcode,
  type WasmModule,
} from "../../../wasm/index.ts";
import * as Op from "../../../wasm/op.generated.ts";
import { type CounterPlace, decodeEvents } from "../event-table.ts";
import { allocates, fixedLength } from "../instructions.ts";
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

/** An object that a constant expression makes with each instance. */
export interface ConstantObject {
  readonly op: number;
  readonly type: number;
  readonly elements: number;
}

/** What is known of a module without its counters. */
export class KnownObjects {
  readonly module: WasmModule;
  readonly families: TypeFamilies;
  readonly events: readonly ObjectEvent[];
  readonly constants: readonly ConstantObject[];

  constructor(original: Uint8Array, layout: ObjectsLayout) {
    const module = decodeModule(original);
    this.module = module;
    this.families = new TypeFamilies(module);
    const { bytes, bodies, codePayloadStart } = module;
    this.events = decodeEvents(layout.events).map(({ offset, counter, elements }) => {
      const at = offset + codePayloadStart;
      const defined = partitionPoint(0, bodies.length, (body) => bodies[body].end <= at);
      return { ...instructionAt(bytes, at), ...{ offset, defined, counter, elements } };
    });
    this.constants = constantObjects(module);
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

/** Globals, tables and elements begin with objects that their expressions make. */
function constantObjects(module: WasmModule): ConstantObject[] {
  const expressions = [
    ...module.globals.map(({ initial }) => initial),
    ...module.tables.flatMap(({ initial }) => initial ?? []),
    ...module.elements.flatMap(({ items }) => (items.kind === "expressions" ? items.expressions : [])),
  ];
  const found: ConstantObject[] = [];
  for (const { start, end } of expressions) {
    // Behind a length that stands before an array's instruction, -1: none.
    let lengthAt = -1;
    for (let at = start; at < end; ) {
      const op = opcodeIdAt(module.bytes, at);
      const immediates = skipOpcode(module.bytes, at);
      if (allocates(op)) {
        const { first, second } = instructionAt(module.bytes, at);
        const isGiven = op === Op.ARRAY_NEW || op === Op.ARRAY_NEW_DEFAULT;
        const given = lengthAt < 0 ? 0 : readS32Leb(module.bytes, lengthAt) >>> 0;
        found.push({ op, type: first, elements: isGiven ? given : fixedLength(op, second) });
      }
      lengthAt = op === Op.I32_CONST ? immediates : -1;
      at = skipImmediates(module.bytes, immediates, IMMEDIATE_KIND[op]);
    }
  }
  return found;
}
