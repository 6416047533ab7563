import { F32, F64, type FuncType, I32, I64, V128, type ValType } from "../../src/code/wasm/index.ts";
import { ByteWriter } from "../../src/ground/bytes/writer.ts";

/** Types that represent a value which JavaScript would change or cannot hold: its bits, vectors low half first. */
const BITS: Readonly<Record<ValType, readonly ValType[]>> = {
  [F32]: [I32],
  [F64]: [I64],
  [V128]: [I64, I64],
};
const I64X2_SPLAT = [0xfd, 0x12];
const I64X2_REPLACE_HIGH = [0xfd, 0x1e, 1];
const I64X2_EXTRACT = [0xfd, 0x1d];
const LOCAL_GET = 0x20;
const LOCAL_SET = 0x21;
const FROM_BITS: Readonly<Record<ValType, number>> = { [F32]: 0xbe, [F64]: 0xbf };
const TO_BITS: Readonly<Record<ValType, number>> = { [F32]: 0xbc, [F64]: 0xbd };

type Call = (...bits: unknown[]) => unknown;
type Signature = Pick<FuncType, "params" | "results">;

/** True if a function of this type needs `byBits`. A function with references to types of its own module can only be called directly. */
export function losesBits({ params, results }: Signature): boolean {
  const types = [...params, ...results];
  return types.some((type) => type in BITS) && types.every((type) => type < 0x80);
}

const modules = new Map<string, WebAssembly.Module>();

/**
 * A wrapper of `target` that takes and returns the bits of floating-point numbers and vectors. Returns `target` itself if only modules
 * with the same type section can import its type.
 */
export function byBits(target: WebAssembly.ExportValue, type: Signature): Call {
  const key = `${type.params}>${type.results}`;
  const module = modules.get(key) ?? new WebAssembly.Module(invoker(type));
  modules.set(key, module);
  try {
    return new WebAssembly.Instance(module, { "": { f: target } }).exports.f as Call;
  } catch (error) {
    if (!(error instanceof WebAssembly.LinkError)) throw error;
    return target as Call;
  }
}

function invoker({ params, results }: Signature): Uint8Array<ArrayBuffer> {
  const outside = params.flatMap(bitsOf);
  const body = code(params, results, outside.length);
  const writer = new ByteWriter(256 + body.length);
  const section = (id: number, payload: readonly number[]) =>
    writer.bytes(Uint8Array.of(id, ...leb(payload.length), ...payload));
  const type = (from: readonly ValType[], to: readonly ValType[]) => [
    0x60,
    ...leb(from.length),
    ...from,
    ...leb(to.length),
    ...to,
  ];
  writer.bytes(Uint8Array.of(0, 0x61, 0x73, 0x6d, 1, 0, 0, 0));
  section(1, [2, ...type(params, results), ...type(outside, results.flatMap(bitsOf))]);
  section(2, [1, 0, 1, 0x66, 0, 0]);
  section(3, [1, 1]);
  section(7, [1, 1, 0x66, 0, 1]);
  section(10, [1, ...leb(body.length), ...body]);
  return writer.finish().slice();
}

function code(params: readonly ValType[], results: readonly ValType[], firstLocal: number): number[] {
  const bytes = [...leb(results.length), ...results.flatMap((type) => [1, type])];
  let local = 0;
  const get = (index: number) => [LOCAL_GET, ...leb(index)];
  for (const type of params) {
    bytes.push(...get(local++));
    if (FROM_BITS[type] !== undefined) bytes.push(FROM_BITS[type]);
    if (type === V128) bytes.push(...I64X2_SPLAT, ...get(local++), ...I64X2_REPLACE_HIGH);
  }
  bytes.push(0x10, 0);
  for (const i of [...results.keys()].reverse()) bytes.push(LOCAL_SET, ...leb(firstLocal + i));
  for (const [i, type] of results.entries()) {
    bytes.push(...get(firstLocal + i));
    if (TO_BITS[type] !== undefined) bytes.push(TO_BITS[type]);
    if (type === V128) bytes.push(...I64X2_EXTRACT, 0, ...get(firstLocal + i), ...I64X2_EXTRACT, 1);
  }
  return [...bytes, 0x0b];
}

function bitsOf(type: ValType): readonly ValType[] {
  return BITS[type] ?? [type];
}

function leb(value: number): Uint8Array {
  return new ByteWriter(5).u32Leb(value).finish();
}
