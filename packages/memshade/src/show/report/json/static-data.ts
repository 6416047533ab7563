import type { StaticObject, StaticsReport } from "../../../explain/analyses/statics.ts";
import { RankedList } from "./text.ts";

/** Accessed static data. */
export interface StaticDataJson
  extends Pick<StaticsReport, "bytes" | "untouchedBytes" | "unreadBytes" | "accesses" | "elsewhere"> {
  /** True if counters may have overflowed: there may have been more accesses. */
  readonly accessesAtLeast?: true;
  /** Objects, the most accessed first. */
  readonly objects: RankedList<StaticObjectJson>;
}

/** Variable, literal, unnamed stretch of data, or a few bytes that several of them share. */
interface StaticObjectJson
  extends Pick<
    StaticObject,
    "module" | "kind" | "name" | "bytes" | "accesses" | "use" | "untouchedBytes" | "unreadBytes"
  > {
  /** Linker's name, if `name` is a different one. */
  readonly linkageName?: string;
  /** Declaration, if known. */
  readonly file?: string;
  readonly line?: number;
  /** Address, hexadecimal. */
  readonly address: string;
}

/** Returns static data as a part of the heap's report (docs/report-json.md). */
export function staticDataJson(statics: StaticsReport): StaticDataJson {
  const { bytes, untouchedBytes, unreadBytes, accesses, elsewhere, atLeast, objects } = statics;
  return {
    bytes,
    untouchedBytes,
    unreadBytes,
    accesses,
    ...(atLeast ? { accessesAtLeast: true as const } : {}),
    elsewhere,
    objects: RankedList.of(objects, staticObjectJson),
  };
}

/** Returns a piece of static data with all known properties. */
export function staticObjectJson({
  file,
  line,
  linkageName,
  address,
  members,
  isBrought: _,
  ...object
}: StaticObject): StaticObjectJson {
  return {
    ...object,
    ...(linkageName === undefined ? {} : { linkageName }),
    ...(file === undefined ? {} : { file }),
    ...(line === 0 ? {} : { line }),
    address: `0x${address.toString(16)}`,
  };
}
