import { entryOf } from "../../ground/bytes/entries.ts";
import type { BinaryPlaces } from "../../names/memprof/binaries.ts";
import { InputMerger } from "../../names/memprof/input-merger.ts";
import {
  type DataAccessProfile,
  frameAt,
  framesOfStack,
  type MemprofProfile,
  ProfileMerger,
} from "../../profile/model/memprof/index.ts";
import type { MibField } from "../../profile/model/mib-fields.ts";
import { MIB_FIELDS, zeroMib } from "../../profile/model/mib-fields.ts";
import { contextKey, frameKey } from "../keys.ts";
import { callSitesOf, type StoredCallSite, type StoredContext, type StoredFrame } from "../stored-run.ts";
import { asPlace } from "./raw-contexts.ts";

export interface MergedContexts {
  readonly contexts: readonly StoredContext[];
  readonly callSites: readonly StoredCallSite[] | undefined;
  readonly fields: readonly MibField[];
  readonly dataAccess: DataAccessProfile | undefined;
}

/** Reads the contexts of a symbolized profile: an indexed one, YAML, or a memshade profile. */
export async function mergedContexts(path: string, places: BinaryPlaces): Promise<MergedContexts> {
  const input = new InputMerger(places, { fields: MIB_FIELDS, keepsSources: true, keepsUnresolved: true });
  await input.add({ path, modules: [] }, 0);
  const { profile: named } = input.take();
  // LLVM treats frames with different names and files as equal, and so do keys.
  const merger = new ProfileMerger(MIB_FIELDS, false, true);
  merger.addProfile(named, 0);
  const { profile } = merger.build();
  return contextsOf(profile, new SourcesOfFrames(named));
}

function contextsOf(profile: MemprofProfile, sources: SourcesOfFrames): MergedContexts {
  const { records, blocks, stacks, frames } = profile;
  const knownFrames = Array.from({ length: frames.length }, (_, index) =>
    sources.withSource(frameAt(frames, index)),
  );
  const framesOf = (stack: number) => framesOfStack(stacks, stack).map((frame) => knownFrames[frame]!);
  const contexts = new Map<number, StoredContext & { functions: bigint[] }>();
  const callSites: StoredCallSite[] = [];
  for (let record = 0; record < records.length; record++) {
    const guid = records.guid[record]!;
    for (let site = records.allocStart[record]!; site < records.allocStart[record + 1]!; site++) {
      const block = records.allocBlock[site]!;
      const context = entryOf(contexts, block, () => {
        const mib = zeroMib();
        for (const [index, field] of blocks.fields.entries()) {
          const value = blocks.columns[index]![block]!;
          if (field.bytes === 4) mib[field.name] = Number(value);
          else mib[field.name] = BigInt(value);
        }
        return { frames: framesOf(records.allocStack[site]!), mib, functions: [] };
      });
      context.functions.push(guid);
    }
    for (let site = records.callStart[record]!; site < records.callStart[record + 1]!; site++)
      callSites.push({
        guid,
        frames: framesOf(records.callStack[site]!),
        callees: records.callees.get(site) ?? [],
      });
  }
  const rows = Array.from(contexts.values(), ({ functions, ...context }) => ({
    ...context,
    otherFunctions: functions.filter(
      (guid) => !innermostCall(context.frames).some((frame) => frame.guid === guid),
    ),
  }));
  return {
    contexts: rows,
    callSites: isDerived(callSites, rows) ? undefined : callSites,
    fields: blocks.fields,
    dataAccess: profile.dataAccess,
  };
}

function innermostCall(frames: readonly StoredFrame[]): readonly StoredFrame[] {
  const named = frames.filter(({ place }) => place === undefined);
  const end = named.findIndex(({ inline }) => !inline);
  return end < 0 ? named : named.slice(0, end + 1);
}

function isDerived(callSites: readonly StoredCallSite[], contexts: readonly StoredContext[]): boolean {
  const keyOf = ({ guid, frames, callees }: StoredCallSite) =>
    `${guid} ${contextKey(frames.map(frameKey))} ${callees.join(",")}`;
  const derived = new Set(contexts.flatMap(({ frames }) => callSitesOf(frames)).map(keyOf));
  return callSites.length === derived.size && callSites.every((site) => derived.has(keyOf(site)));
}

/** Names, files and lines of frames. Among frames that LLVM treats as equal, the first one's are used. */
class SourcesOfFrames {
  readonly #byKey = new Map<bigint, StoredFrame>();

  constructor({ frames }: MemprofProfile) {
    for (let index = 0; index < frames.length; index++) {
      const frame = asPlace(frameAt(frames, index));
      const key = frameKey(frame);
      if (!this.#byKey.has(key)) this.#byKey.set(key, frame);
    }
  }

  withSource(frame: StoredFrame): StoredFrame {
    return this.#byKey.get(frameKey(frame)) ?? frame;
  }
}
