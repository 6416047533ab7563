import type { RawSegment } from "../../../../profile/model/raw-profile.ts";
import {
  type RunFunction,
  type RunModule,
  type RunStackTakes,
  TRAMPOLINE_BYTES,
} from "../../../../profile/model/run.ts";
import { ModuleFunctions } from "../../module-functions.ts";
import { tellingExports } from "../../module-names.ts";
import type { InstrumentedInfo } from "../../options.ts";
import type { LinesOf } from "../../session.ts";
import { runPlaces } from "../../source-places.ts";
import { LEFT_BY_EXCEPTION } from "../layout.ts";
import type { MergedContext } from "./context-table.ts";
import { type DescribeHostFrame, type HostCallers, isHostSite } from "./host-callers.ts";
import type { TakenStack } from "./stack-takes.ts";

/** Distance between the segments of two modules in the profile's address space. */
export const MODULE_SPAN = 2n ** 32n;
/** Stands at offset 0 of a code section, where no instruction can be: contexts beyond the tables' bounds. */
export const OVERFLOW_FUNCTION: RunFunction = {
  index: -1,
  name: "[calling contexts beyond --max-contexts]",
  offset: 0,
  end: 1,
};

/** A module of a run. */
export interface SessionModule {
  info: InstrumentedInfo;
  original: Uint8Array | (() => Uint8Array);
  path: string | null;
  instances: number;
}

export function bytesOf(original: SessionModule["original"]): Uint8Array {
  return typeof original === "function" ? original() : original;
}

export function segmentOf(module: SessionModule, index: number): RawSegment {
  const start = BigInt(index) * MODULE_SPAN;
  const { buildId, codeBytes } = module.info;
  const bytes = Uint8Array.from(buildId.match(/../g) ?? [], (digits) => Number.parseInt(digits, 16));
  return { start, end: start + BigInt(codeBytes), offset: start, buildId: bytes.subarray(0, 32) };
}

export function describeModule(
  module: SessionModule,
  { index, name, isAlone }: { index: number; name: string; isAlone: boolean },
  confirmation: { confirmed: boolean | null; refused?: string },
  contexts: readonly MergedContext[],
  linesOf: LinesOf | undefined,
): RunModule {
  const { info } = module;
  const own = contexts.filter((context) => context.module === index);
  const sites = new Set(own.flatMap((context) => context.sites.filter((site) => !isHostSite(site))));
  const original = bytesOf(module.original);
  const functions = sites.size === 0 ? [] : new ModuleFunctions(original).containing(sites);
  const places = sites.size === 0 ? [] : runPlaces(linesOf, original, sites);
  if (own.some((context) => context.sites.length === 0)) functions.unshift(OVERFLOW_FUNCTION);
  const refused = confirmation.refused ?? info.allocator.refused;
  // Glue code makes modules for single functions: beside a module that is followed they are no news.
  const negligible = info.codeBytes <= TRAMPOLINE_BYTES && info.allocator.how === "none" && !isAlone;
  return {
    index,
    name,
    path: module.path,
    ...(module.path === null && info.script !== undefined ? { script: info.script } : {}),
    buildId: info.buildId,
    bytes: info.originalBytes,
    codeBytes: info.codeBytes,
    instances: module.instances,
    ...(module.path === null ? { exports: tellingExports(original) } : {}),
    start: `0x${(BigInt(index) * MODULE_SPAN).toString(16)}`,
    allocator: {
      how: info.allocator.how as RunModule["allocator"]["how"],
      confirmed: confirmation.confirmed,
      functions: info.allocator.functions,
      ...(refused === undefined || negligible ? {} : { refused }),
      ...(confirmation.refused === undefined && info.allocator.doubtful !== true ? {} : { doubtful: true }),
      ...(info.allocator.further === undefined ? {} : { further: info.allocator.further }),
      ...(info.allocator.layers === undefined ? {} : { layers: info.allocator.layers }),
    },
    functions,
    ...(places.length === 0 ? {} : { places }),
    ...(info.notRecorded === undefined || negligible ? {} : { notRecorded: info.notRecorded }),
    notTracked: negligible ? [] : info.notTracked,
  };
}

/** What callers have taken of the stacks of a module: of each, what it took of the instance that it took from most often. */
export function describeStackTakes(
  instances: readonly { taken: TakenStack; thread: number | undefined }[],
  original: () => Uint8Array,
  callers: HostCallers,
  describeFrame: DescribeHostFrame,
): RunStackTakes[] {
  const found = new Map<string, RunStackTakes & { mover: number }>();
  for (const { taken, thread } of instances)
    for (const { mover, caller, calls, bytes } of taken.takes) {
      // What is taken once is kept for a purpose, as the arguments of a program are.
      if (calls < 2) continue;
      const frames =
        thread === undefined || caller === 0 ? [] : callers.framesOfTold(thread, caller).map(describeFrame);
      const key = JSON.stringify([mover, frames]);
      if (calls <= (found.get(key)?.calls ?? 0)) continue;
      found.set(key, { mover, frames, calls, bytes, stackBytes: taken.stackBytes });
    }
  if (found.size === 0) return [];
  const functions = new ModuleFunctions(original());
  return [...found.values()].map(({ mover, ...takes }) => ({
    ...takes,
    ...(mover === LEFT_BY_EXCEPTION ? {} : { function: functions.at([mover])[0]?.name ?? `func[${mover}]` }),
  }));
}
