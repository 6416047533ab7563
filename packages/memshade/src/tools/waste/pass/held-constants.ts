import { sizeOfS64Leb } from "../../../bytes/leb128.ts";
import { NO_LOCAL } from "../../../rewrite/walk/operand-stack.ts";
import type { SnippetSink } from "../../../rewrite/write/snippet-sink.ts";
import { I32, type ValType } from "../../../wasm/index.ts";
import * as Op from "../../../wasm/op.generated.ts";

/** Bytes of a `local.get` or `local.set`, and of what declares a local. */
const LOCAL_BYTES = 2;
const DECLARATION_BYTES = 2;

/** An integer of a type. */
export interface Constant {
  type: ValType;
  value: bigint;
}

/**
 * Constants that a function says so often that a local is set to them when it begins: that is shorter, and engines that
 * optimise see the constants still.
 */
export class HeldConstants {
  readonly #wanted = new Map<string, Constant & { saved: number }>();
  readonly #locals = new Map<string, number>();

  /** A function begins that has nothing in locals. */
  forget(): void {
    this.#wanted.clear();
    this.#locals.clear();
  }

  /** Somewhere in the function `saved` bytes less would do if a local had a constant. */
  want(type: ValType, value: bigint, saved: number): void {
    const key = keyOf(type, value);
    const known = this.#wanted.get(key);
    if (known === undefined) this.#wanted.set(key, { type, value, saved });
    else known.saved += saved;
  }

  /** Those that take less bytes with a local than without. */
  worthHolding(): Constant[] {
    return [...this.#wanted.values()].filter(
      ({ value, saved }) => saved > sizeOfConstant(value) + LOCAL_BYTES + DECLARATION_BYTES,
    );
  }

  /** From now on a local has the constant. */
  hold({ type, value }: Constant, local: number): void {
    this.#locals.set(keyOf(type, value), local);
  }

  /** The local that has a constant, NO_LOCAL: none does. */
  localOf(type: ValType, value: bigint): number {
    return this.#locals.get(keyOf(type, value)) ?? NO_LOCAL;
  }

  /** Pushes a constant, from its local if it has one. */
  push(sink: SnippetSink, type: ValType, value: bigint): void {
    const local = this.localOf(type, value);
    if (local === NO_LOCAL) pushConstant(sink, { type, value });
    else sink.local(Op.LOCAL_GET, local);
  }
}

/** At the beginning of a function: gives a local its constant. */
export function setConstant(sink: SnippetSink, constant: Constant, local: number): void {
  pushConstant(sink, constant);
  sink.local(Op.LOCAL_SET, local);
}

/** Bytes that each place gets shorter by that only pushes a constant. */
export function savedByHolding(value: bigint): number {
  return sizeOfConstant(value) - LOCAL_BYTES;
}

/** Bytes of the instruction that pushes a signed integer. */
function sizeOfConstant(value: bigint): number {
  return 1 + sizeOfS64Leb(value);
}

function pushConstant(sink: SnippetSink, { type, value }: Constant): void {
  if (type === I32) sink.i32(Number(value));
  else sink.i64(value);
}

function keyOf(type: ValType, value: bigint): string {
  return `${type} ${value}`;
}
