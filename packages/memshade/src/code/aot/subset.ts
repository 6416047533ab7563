import { FormatError } from "../../ground/bytes/errors.ts";
import { ImmediateKind } from "../wasm/immediates.ts";
import {
  ACCESS_BYTES,
  ACCESS_KIND,
  AccessKind,
  IMMEDIATE_KIND,
  OPCODES,
  RESULT_TYPE,
} from "../wasm/opcodes.ts";
import { I32, I64 } from "../wasm/types.ts";

/** Lowering of an instruction: the name of its rule, and the rule's parameters. */
export interface Lowering {
  rule: string;
  name: string;
  wide: boolean;
  bytes: number;
  signed: boolean;
}

/**
 * All supported instructions except loads and stores of integers: the rule, then after the colon the instructions
 * with the rule's parameter. `i.` means both `i32.` and `i64.`. Instructions without a colon have a rule of their
 * own.
 */
const TABLE: readonly string[] = [
  "unreachable nop block loop if else end br br_if br_table return call drop select local.get local.set local.tee",
  "global.get global.set i32.const i64.const memory.fill memory.copy i32.wrap_i64 i64.extend_i32_u atomic.fence",
  "v128.const v128.load v128.store",
  "add: i.add=add",
  "sub: i.sub=sub",
  "arithmetic: i.mul=imul i.and=and i.or=or i.xor=xor",
  "shift left: i.shl=shl",
  "shift: i.shr_s=sar i.shr_u=shr i.rotl=rol i.rotr=ror",
  "divide: i.div_s=div_s i.div_u=div_u i.rem_s=rem_s i.rem_u=rem_u",
  "count: i.clz=clz i.ctz=ctz i.popcnt=popcnt",
  "compare: i.eq=e i.ne=ne i.lt_s=l i.lt_u=b i.gt_s=g i.gt_u=a i.le_s=le i.le_u=be i.ge_s=ge i.ge_u=ae",
  "compare with zero: i.eqz",
  "extend: i.extend8_s=1 i.extend16_s=2 i64.extend32_s=4 i64.extend_i32_s=4",
  "exchange: i.atomic.rmw.add=lock_xadd i.atomic.rmw.xchg=xchg",
  "compare exchange: i.atomic.rmw.cmpxchg",
  "vector: i8x16.add=paddb i16x8.add=paddw i32x4.add=paddd i64x2.add=paddq i8x16.sub=psubb i16x8.sub=psubw",
  "vector: i32x4.sub=psubd i64x2.sub=psubq i8x16.add_sat_u=paddusb i16x8.add_sat_u=paddusw i8x16.sub_sat_u=psubusb",
  "vector: i16x8.sub_sat_u=psubusw i16x8.mul=pmullw i32x4.mul=pmulld v128.and=pand v128.or=por v128.xor=pxor",
  "vector: i8x16.eq=pcmpeqb i16x8.eq=pcmpeqw i32x4.eq=pcmpeqd i64x2.eq=pcmpeqq",
  "vector: i8x16.gt_s=pcmpgtb i16x8.gt_s=pcmpgtw i32x4.gt_s=pcmpgtd",
  "vector: i8x16.min_u=pminub i16x8.min_u=pminuw i32x4.min_u=pminud i8x16.max_u=pmaxub i16x8.max_u=pmaxuw",
  "vector: i32x4.max_u=pmaxud i8x16.min_s=pminsb i32x4.min_s=pminsd i8x16.max_s=pmaxsb i32x4.max_s=pmaxsd",
  "vector: i8x16.narrow_i16x8_s=packsswb i8x16.narrow_i16x8_u=packuswb",
  "vector: i16x8.narrow_i32x4_s=packssdw i16x8.narrow_i32x4_u=packusdw",
  "swapped: i8x16.lt_s=pcmpgtb i16x8.lt_s=pcmpgtw i32x4.lt_s=pcmpgtd",
  "not equal: i8x16.ne=pcmpeqb i16x8.ne=pcmpeqw i32x4.ne=pcmpeqd i64x2.ne=pcmpeqq",
  "unsigned greater: i8x16.gt_u=pminub_pcmpeqb i16x8.gt_u=pminuw_pcmpeqw i32x4.gt_u=pminud_pcmpeqd",
  "unsigned greater: i8x16.lt_u=pmaxub_pcmpeqb i16x8.lt_u=pmaxuw_pcmpeqw i32x4.lt_u=pmaxud_pcmpeqd",
  "unsigned at most: i8x16.le_u=pminub_pcmpeqb i16x8.le_u=pminuw_pcmpeqw i32x4.le_u=pminud_pcmpeqd",
  "unsigned at most: i8x16.ge_u=pmaxub_pcmpeqb i16x8.ge_u=pmaxuw_pcmpeqw i32x4.ge_u=pmaxud_pcmpeqd",
  "negate: i8x16.neg=psubb i16x8.neg=psubw i32x4.neg=psubd i64x2.neg=psubq",
  "vector not: v128.not",
  "vector and not: v128.andnot",
  "bit select: v128.bitselect",
  "any true: v128.any_true",
  "all true: i8x16.all_true=pcmpeqb i16x8.all_true=pcmpeqw i32x4.all_true=pcmpeqd i64x2.all_true=pcmpeqq",
  "bit mask: i8x16.bitmask=pmovmskb i32x4.bitmask=movmskps i64x2.bitmask=movmskpd",
  "shift lanes: i16x8.shl=psllw i32x4.shl=pslld i64x2.shl=psllq i16x8.shr_u=psrlw i32x4.shr_u=psrld",
  "shift lanes: i64x2.shr_u=psrlq i16x8.shr_s=psraw i32x4.shr_s=psrad",
  "add pairs: i16x8.extadd_pairwise_i8x16_u=8_psrlw_paddw i32x4.extadd_pairwise_i16x8_u=16_psrld_paddd",
  "shuffle: i8x16.shuffle",
  "splat: i8x16.splat=1 i16x8.splat=2 i32x4.splat=4 i64x2.splat=8",
  "load splat: v128.load8_splat=1 v128.load16_splat=2 v128.load32_splat=4 v128.load64_splat=8",
  "load zero: v128.load32_zero=4 v128.load64_zero=8",
  "load lane: v128.load8_lane=1 v128.load16_lane=2 v128.load32_lane=4 v128.load64_lane=8",
  "store lane: v128.store8_lane=1 v128.store16_lane=2 v128.store32_lane=4 v128.store64_lane=8",
  "extract: i8x16.extract_lane_u=1 i16x8.extract_lane_u=2 i32x4.extract_lane=4 i64x2.extract_lane=8",
  "extract signed: i8x16.extract_lane_s=1 i16x8.extract_lane_s=2",
  "replace: i8x16.replace_lane=1 i16x8.replace_lane=2 i32x4.replace_lane=4 i64x2.replace_lane=8",
];

let subset: ReadonlyMap<number, Lowering> | undefined;

/**
 * Returns the lowering of each supported instruction, by its id. The map is built at the first call, so that
 * importing the module stays cheap.
 */
export function loweringsById(): ReadonlyMap<number, Lowering> {
  subset ??= new Map([...TABLE.flatMap(rowsOf), ...accesses()]);
  return subset;
}

function rowsOf(line: string): [number, Lowering][] {
  const [rule, list] = line.includes(": ") ? line.split(": ") : [undefined, line];
  return list.split(" ").flatMap((entry): [number, Lowering][] => {
    const [name, detail = ""] = entry.split("=");
    const names = name.startsWith("i.") ? [`i32${name.slice(1)}`, `i64${name.slice(1)}`] : [name];
    return names.flatMap((mnemonic) =>
      idsOf(mnemonic).map((id): [number, Lowering] => [id, lowering(mnemonic, rule ?? mnemonic, detail, id)]),
    );
  });
}

/** Opcodes of that name; two instructions are called `select`. */
function idsOf(name: string): number[] {
  const ids = OPCODES.filter(([, other]) => other === name).map(([id]) => id);
  if (ids.length === 0) throw new FormatError("malformed", 0, "instruction", `there is no ${name}`);
  return ids;
}

function lowering(name: string, rule: string, detail: string, id: number): Lowering {
  const wide = name.startsWith("i64");
  const bytes = rule === "extend" ? Number(detail) : wide ? 8 : 4;
  const parameter =
    IMMEDIATE_KIND[id] === ImmediateKind.ValTypes ? "typed" : detail.replaceAll(/_(?=p|xadd)/g, " ");
  return { rule, name: parameter, wide, bytes, signed: rule === "extend" };
}

/**
 * Loads and stores of integers. An atomic store is an exchange whose result is not read, since later loads may pass
 * a plain store.
 */
function accesses(): [number, Lowering][] {
  return OPCODES.flatMap(([id, name]): [number, Lowering][] => {
    const isAtomic = name.includes(".atomic.");
    const isNarrow = isAtomic && /\.(?:load|store)\d/.test(name);
    if (!/^i(?:32|64)\./.test(name) || isNarrow) return [];
    const common = {
      name: "",
      wide: name.startsWith("i64"),
      bytes: ACCESS_BYTES[id],
      signed: name.endsWith("_s"),
    };
    if (ACCESS_KIND[id] === AccessKind.Load && [I32, I64].includes(RESULT_TYPE[id]))
      return [[id, { ...common, rule: "load" }]];
    if (ACCESS_KIND[id] !== AccessKind.Store) return [];
    return [[id, { ...common, rule: isAtomic ? "atomic store" : "store" }]];
  });
}
