import { type FuncType, functionType, I32, I64, type WasmModule } from "../../../code/wasm/index.ts";
import { entryOf } from "../../../ground/bytes/entries.ts";
import type { AllocatorFunction, AllocatorRole, OperandPositions } from "./plan.ts";

export interface HookDetails {
  pointerOffset?: number;
  sizeOffset?: number;
  /** name by which the function was recognized, if it has several */
  name?: string | undefined;
}

/** Functions to hook, at most one entry per index. The first entry is kept. */
export class Hooks {
  readonly #byIndex = new Map<number, AllocatorFunction>();
  readonly #nameOf: (index: number) => string | undefined;

  constructor(nameOf: (index: number) => string | undefined) {
    this.#nameOf = nameOf;
  }

  add(
    index: number,
    role: AllocatorRole,
    operands: OperandPositions,
    details: HookDetails = {},
  ): AllocatorFunction {
    return entryOf(this.#byIndex, index, () => this.describe(index, role, operands, details));
  }

  /** Returns the entry that `add` would add. */
  describe(
    index: number,
    role: AllocatorRole,
    operands: OperandPositions,
    { pointerOffset = 0, sizeOffset = 0, name = this.#nameOf(index) }: HookDetails = {},
  ): AllocatorFunction {
    const { kind, sizeParam, countParam, pointerParam, outPointerParam } = operands;
    return {
      index,
      name,
      role,
      kind,
      sizeParam,
      countParam,
      pointerParam,
      outPointerParam,
      pointerOffset,
      sizeOffset,
    };
  }

  get(index: number): AllocatorFunction | undefined {
    return this.#byIndex.get(index);
  }

  has(index: number): boolean {
    return this.#byIndex.has(index);
  }

  delete(index: number): void {
    this.#byIndex.delete(index);
  }

  ofRole(...roles: AllocatorRole[]): AllocatorFunction[] {
    return this.sorted().filter(({ role }) => roles.includes(role));
  }

  ofKind(kind: AllocatorFunction["kind"]): AllocatorFunction[] {
    return this.sorted().filter((entry) => entry.kind === kind);
  }

  sorted(): AllocatorFunction[] {
    return [...this.#byIndex.values()].sort((a, b) => a.index - b.index);
  }

  get size(): number {
    return this.#byIndex.size;
  }
}

const isAddress = (type: number) => type === I32 || type === I64;

/** True if a function of this type can have these operands: addresses and sizes are integers. */
export function fitsOperands(type: FuncType, operands: OperandPositions): boolean {
  const { kind, sizeParam, countParam, pointerParam, outPointerParam } = operands;
  for (const position of [sizeParam, countParam, pointerParam, outPointerParam])
    if (position >= 0 && !isAddress(type.params[position])) return false;
  if (kind === "release") return type.results.length <= 1;
  return type.results.length === 1 && isAddress(type.results[0]);
}

export function definedType(module: WasmModule, index: number): FuncType | undefined {
  return index < module.importedFunctionCount ? undefined : functionType(module, index);
}
