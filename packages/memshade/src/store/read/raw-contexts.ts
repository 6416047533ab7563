import { entryOf } from "../../ground/bytes/entries.ts";
import { hexOf } from "../../ground/bytes/numbers.ts";
import type { ProfiledBinaries } from "../../names/memprof/binaries.ts";
import { functionGuid } from "../../profile/formats/memprof/index.ts";
import { readRaw } from "../../profile/formats/memprof-raw/index.ts";
import { OWN_FIELDS, type OwnField } from "../../profile/formats/parquet-store.ts";
import { type UnresolvedPlace, unresolvedName, unresolvedPlace } from "../../profile/model/memprof/index.ts";
import { type Mib, mergeMib } from "../../profile/model/mib.ts";
import type { Run, RunFunction, RunHost, RunModule, RunSite } from "../../profile/model/run.ts";
import { frameText } from "../keys.ts";
import type { StoredContext, StoredFrame } from "../stored-run.ts";

/**
 * Data that many profiles of one program share: frames of places in modules with a binary, and whole paths.
 */
export class SharedFrames {
  /** Frames by place and module. */
  readonly places = new Map<string, readonly StoredFrame[]>();
  readonly #numbers = new Map<string, number>();
  readonly #numberOfFrame = new WeakMap<StoredFrame, number>();
  readonly #paths = new Map<string, readonly StoredFrame[]>();

  /** Returns one shared array for all paths whose frames have the same keys. */
  path(frames: readonly StoredFrame[]): readonly StoredFrame[] {
    let key = "";
    for (const frame of frames) key += `${this.#numberOf(frame)} `;
    const path = this.#paths.get(key);
    if (path !== undefined) return path;
    this.#paths.set(key, frames);
    return frames;
  }

  #numberOf(frame: StoredFrame): number {
    const cached = this.#numberOfFrame.get(frame);
    if (cached !== undefined) return cached;
    const text = frameText(frame);
    const number = entryOf(this.#numbers, text, () => this.#numbers.size);
    this.#numberOfFrame.set(frame, number);
    return number;
  }
}

/**
 * Reads the contexts of a raw profile. Frames come from debug information, as in LLVM; without it, from the
 * run's function names; without these, they are places in the module.
 *
 * @param run description beside the profile, if there is one
 */
export function rawContexts(
  bytes: Uint8Array,
  run: Run | undefined,
  binaries: ProfiledBinaries,
  shared: SharedFrames = new SharedFrames(),
): { readonly contexts: StoredContext[]; readonly modules: readonly string[] } {
  const raw = readRaw(bytes);
  const { modules, unresolved } = binaries.match(raw.segments);
  const places = [...modules, ...unresolved].sort((a, b) => a.start - b.start);
  const names = run === undefined ? undefined : new RunNames(run);
  const framesOfPc = new Map<bigint, readonly StoredFrame[]>();
  const framesAt = (pc: bigint): readonly StoredFrame[] => {
    return entryOf(framesOfPc, pc, () => framesOf(Number(pc)));
  };
  const framesOf = (pc: number): readonly StoredFrame[] => {
    const module = places.find(({ start, end }) => pc > start && pc <= end);
    const described = module === undefined || unresolved.includes(module) ? [] : sharedFrames(module, pc);
    if (described.length > 0) return described;
    const named = names?.frameAt(pc);
    if (named !== undefined) return [named];
    // If a module has debug information, places without it are left out, as LLVM does.
    return module !== undefined && unresolved.includes(module)
      ? module.framesAt(pc + module.shift).map(asPlace)
      : [];
  };
  const sharedFrames = ({ key, shift, framesAt: find }: (typeof modules)[number], pc: number) => {
    const place = `${pc + shift} ${key}`;
    const frames = entryOf(shared.places, place, () => find(pc + shift));
    return frames;
  };
  const sites = new Map(run?.heap?.sites.map((site) => [BigInt(site.stackId), site]));
  const contexts = new Map<
    readonly StoredFrame[],
    { frames: readonly StoredFrame[]; mib: Mib; own: OwnFigures | undefined }
  >();
  for (const { stackId, mib, pcs } of raw.contexts) {
    const found = pcs.flatMap(framesAt);
    if (found.length === 0) continue;
    const frames = shared.path(found);
    const site = run?.heap === undefined ? undefined : figuresOf(sites.get(stackId));
    const context = contexts.get(frames);
    if (context === undefined) contexts.set(frames, { frames, mib: { ...mib }, own: site });
    else {
      mergeMib(context.mib, mib);
      addFigures(context.own, site);
    }
  }
  return { contexts: [...contexts.values()], modules: raw.segments.map(({ buildId }) => hexOf(buildId)) };
}

/** Adds the place to a frame whose name encodes one. */
export function asPlace(frame: StoredFrame): StoredFrame {
  const place: UnresolvedPlace | undefined = unresolvedPlace(frame.name);
  return place === undefined ? frame : { ...frame, place };
}

type OwnFigures = Partial<Record<OwnField, number>>;

function figuresOf(site: RunSite | undefined): OwnFigures {
  return Object.fromEntries(
    OWN_FIELDS.flatMap((field) => {
      const value = site?.[field];
      return value === undefined ? [] : [[field, value]];
    }),
  );
}

function addFigures(to: OwnFigures | undefined, from: OwnFigures | undefined): void {
  if (to === undefined || from === undefined) return;
  for (const field of OWN_FIELDS) if (from[field] !== undefined) to[field] = (to[field] ?? 0) + from[field];
}

class RunNames {
  readonly #modules: readonly (Pick<RunModule, "buildId"> & {
    readonly start: number;
    readonly address: number;
    readonly functions: readonly RunFunction[];
  })[];
  readonly #host: RunHost | undefined;

  constructor({ modules, host }: Run) {
    this.#modules = modules.map(({ buildId, start, functions, object }) => ({
      buildId,
      start: Number(start),
      address: object?.address ?? 0,
      functions,
    }));
    this.#host = host;
  }

  frameAt(pc: number): StoredFrame | undefined {
    const host = this.#host === undefined ? -1 : pc - Number(this.#host.start) - 1;
    const script = this.#host?.frames[host];
    if (script !== undefined) {
      const {
        name,
        file = "",
        line = 0,
        column = 0,
      } = script.source === undefined ? script : { ...script, ...script.source };
      const place = { buildId: file, offset: line };
      return { ...placeFrame(name ?? script.name, line, place), file, line, column };
    }
    for (const { buildId, start, address, functions } of this.#modules) {
      const offset = pc - start + address;
      const found = functions.find((candidate) => candidate.offset <= offset && offset < candidate.end);
      if (pc < start || found === undefined) continue;
      const place = { buildId, offset: offset - found.offset };
      return placeFrame(found.name ?? unresolvedName({ buildId, offset: found.offset }), place.offset, place);
    }
    return undefined;
  }
}

function placeFrame(name: string, lineOffset: number, place: StoredFrame["place"]): StoredFrame {
  return { guid: functionGuid(name), lineOffset, column: 0, inline: false, name, place };
}
