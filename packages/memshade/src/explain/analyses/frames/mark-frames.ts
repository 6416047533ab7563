import type { HeapProfile } from "../../../profile/model/heap-profile.ts";
import { NONE } from "../../../profile/model/indices.ts";
import type { ObjectsProfile } from "../../../profile/model/objects.ts";
import type { RunModule } from "../../../profile/model/run.ts";
import { MODULE_SPAN, type WasteFile, type WasteIp } from "../../../profile/model/waste.ts";
import type { StackFrame, WorkingSetProfile } from "../../../profile/model/working-set/working-set.ts";
import type { FrameRules } from "./frame-rules.ts";
import { LAYER, type NamedFrame, packageOf, START_UP } from "./libraries.ts";
import { SourcelessCode } from "./sourceless-code.ts";

/** Returns the profile with the library of each frame, and with sites named by the program's own code. */
export function withOwnSites(profile: HeapProfile, rules: FrameRules): HeapProfile {
  const judged = judgeFrames(profile, rules);
  const library = judged.map((frame) => frame.library);
  const { stacks, contexts } = profile;
  // Callers precede callees.
  const own = new Int32Array(stacks.length);
  const inPackage = new Int32Array(stacks.length);
  const nameless = new Int32Array(stacks.length);
  const start = new Int32Array(stacks.length);
  const layer = new Int32Array(stacks.length);
  for (let row = 0; row < stacks.length; row++) {
    const frameLibrary = library[stacks.frame[row]!];
    const caller = stacks.prefix[row]!;
    const { isOwnInPackage, isNameless } = judged[stacks.frame[row]!]!;
    own[row] = frameLibrary === undefined && !isNameless ? row : caller === NONE ? NONE : own[caller]!;
    inPackage[row] = isOwnInPackage && !isNameless ? row : caller === NONE ? NONE : inPackage[caller]!;
    nameless[row] = isNameless ? row : caller === NONE ? NONE : nameless[caller]!;
    start[row] = frameLibrary === START_UP ? row : caller === NONE ? NONE : start[caller]!;
    const outer = caller === NONE ? NONE : layer[caller]!;
    layer[row] = outer === NONE && frameLibrary === LAYER ? row : outer;
  }
  const siteOf = (stack: number): number => {
    if (stack === NONE) return NONE;
    const named = [own, inPackage, nameless, start, layer]
      .map((rows) => rows[stack]!)
      .find((row) => row !== NONE);
    return named ?? stack;
  };
  const siteStack = Int32Array.from(contexts.stack, siteOf);
  return {
    ...profile,
    frames: { ...profile.frames, library },
    contexts: { ...contexts, siteStack: siteStack as unknown as typeof contexts.stack },
  };
}

interface Judgement {
  library: string | undefined;
  /** True if only the package of its module makes it a library's. */
  isOwnInPackage: boolean;
  /** True if it is no library's but unnamed, so that its caller in the host is more informative. */
  isNameless: boolean;
}

function judgeFrames(profile: HeapProfile, rules: FrameRules): Judgement[] {
  const { frames, functions, strings, modules } = profile;
  const textOf = (string: number): string | undefined => (string === NONE ? undefined : strings[string]);
  // A script that calls the allocator itself is the requester.
  const layers = modules.map(
    ({ allocator }) =>
      new Set([
        ...(allocator?.layers ?? []),
        ...(frames.host === undefined ? [] : (allocator?.functions ?? []).map(({ index }) => index)),
      ]),
  );
  // Module code is the only candidate for own code if callers in the host were not recorded.
  const packages = modules.map(({ path, script }) => {
    const file = path ?? script;
    return frames.host === undefined || file === undefined || rules.isNamedOwn({ file })
      ? undefined
      : packageOf(file);
  });
  const rows = Array.from({ length: frames.length }, (_, row) => {
    const at = frames.function[row]!;
    const module = functions.module[at]!;
    const frame = {
      function: textOf(functions.name[at]!),
      file: textOf(frames.file[row]!),
      module: module === NONE ? undefined : (modules[module]!.path ?? modules[module]!.name),
      host: frames.host?.[row],
    };
    const isLayer = layers[module]?.has(functions.wasmIndex[at]!) === true;
    return { frame, isLayer, isInlined: frames.inlined[row] === 1, ofPackage: packages[module] };
  });
  // An inlined copy of a layer is also a layer.
  const named = new Set(
    rows.flatMap(({ frame, isLayer, isInlined }) => (isLayer && !isInlined ? keyOf(frame) : [])),
  );
  const sourceless = new SourcelessCode(rules);
  rows.forEach(({ frame }, row) => {
    const at = frames.function[row]!;
    if (frame.host === undefined) sourceless.add(functions.module[at]!, at, frame.file);
  });
  return rows.map(({ frame, isLayer, isInlined, ofPackage }, row) => {
    const library = rules.libraryOf(frame);
    const isCopy =
      frames.handsOutMemory?.[row] === 1 ||
      (isInlined && frame.function !== undefined && named.has(keyOf(frame)));
    const isOwn = rules.isNamedOwn(frame);
    const at = frames.function[row]!;
    const ownLibrary =
      library === undefined && (isLayer || isCopy) && !isOwn
        ? LAYER
        : (library ??
          (frame.host === undefined ? sourceless.libraryOf(functions.module[at]!, at, frame) : undefined));
    const isNameless =
      ownLibrary === undefined &&
      frames.host !== undefined &&
      frame.function === undefined &&
      frame.file === undefined;
    if (ownLibrary !== undefined || ofPackage === undefined || isOwn)
      return { library: ownLibrary, isOwnInPackage: false, isNameless };
    return { library: ofPackage, isOwnInPackage: true, isNameless };
  });
}

function keyOf({ function: name, file }: NamedFrame): string {
  return `${name}\n${file}`;
}

/**
 * Marks the places of a waste profile with their libraries.
 *
 * @param modules modules of a script's run, by their index; code of a package's module is then not the program's own
 */
export function markWaste(file: WasteFile, rules: FrameRules, modules: readonly RunModule[] = []): void {
  const { stores, loads, reallocations, objects, blocks, ends } = file;
  const allocationIps = ipsOf(
    reallocations,
    objects,
    blocks,
    stores.filter((store) => store.class === "calloc"),
  );
  const ips = [...allocationIps, ...ipsOf(stores, loads, ends)];
  const sourceless = new SourcelessCode(rules);
  const packages = modules.map((module) => packageOfModule(module, rules));
  const names = new Map(file.modules?.map(({ index, name }) => [index, name]));
  // An access without a line is generated by the compiler, even if its function is known.
  for (const ip of ips) sourceless.add(moduleOf(ip), ip.address, ip.file);
  for (const ip of ips) {
    const module = names.get(moduleOf(ip));
    for (const frame of [ip, ...(ip.inlined ?? [])]) frame.library = rules.libraryOf({ ...frame, module });
    if (ip.inlined === undefined) ip.library ??= sourceless.libraryOf(moduleOf(ip), ip.address, ip);
    const ofPackage = packages[moduleOf(ip)];
    for (const frame of ofPackage === undefined ? [] : [ip, ...(ip.inlined ?? [])])
      if (!rules.isNamedOwn(frame)) frame.library ??= ofPackage;
  }
  // An inlined copy of a layer is also a layer.
  const layers = new Set(
    allocationIps.flatMap((ip) => (ip.layer && ip.inlined === undefined ? keyOf(ip) : [])),
  );
  for (const ip of allocationIps)
    for (const frame of [ip, ...(ip.inlined ?? [])]) {
      const isLayer =
        ip.layer === true ||
        frame.handsOutMemory === true ||
        (frame.function !== undefined && layers.has(keyOf(frame)));
      if (isLayer && !rules.isNamedOwn(frame)) frame.library ??= LAYER;
    }
}

function ipsOf(
  ...parts: readonly (readonly { readonly ips: readonly WasteIp[] }[] | undefined)[]
): WasteIp[] {
  return parts.flatMap((part) => part ?? []).flatMap(({ ips }) => ips);
}

function moduleOf({ address }: WasteIp): number {
  return Math.floor(address / MODULE_SPAN);
}

/** Returns the package that a module belongs to. Its functions are not the program's own when scripts call them. */
function packageOfModule(
  module: Pick<RunModule, "path" | "script"> | undefined,
  rules: FrameRules,
): string | undefined {
  const file = module?.path ?? module?.script;
  return file === undefined || file === null || rules.isNamedOwn({ file }) ? undefined : packageOf(file);
}

/** Marks code called by the program's scripts as a library's, if it belongs to a package or is unnamed. */
function markCalledByScripts(
  stack: readonly StackFrame[],
  ofPackage: string | undefined,
  rules: FrameRules,
): void {
  if (!stack.some(({ host, library }) => host !== undefined && library === undefined)) return;
  for (const frame of stack)
    if (frame.host === undefined && !rules.isNamedOwn({ function: frame.name, file: frame.file }))
      frame.library ??= ofPackage ?? (frame.name === undefined ? "code without names" : undefined);
}

export function markObjects(
  profile: ObjectsProfile,
  rules: FrameRules,
  modules: readonly RunModule[] = [],
): void {
  for (const { module, sites, frames } of profile.parts) {
    const ofSites = sites.flatMap(({ frame }) => (frame === undefined ? [] : frame));
    for (const frame of [...ofSites, ...frames])
      frame.library = rules.libraryOf({ function: frame.name, file: frame.file, host: frame.host });
    const ofPackage = packageOfModule(
      modules.find(({ index: at }) => at === profile.modules[module]?.index),
      rules,
    );
    markCalledByScripts(frames, ofPackage, rules);
  }
}

/**
 * Marks the frames of a working set with their libraries. Frames of allocations are also marked as layers on the
 * allocator, from the run's modules.
 */
export function markWorkingSet(
  profile: WorkingSetProfile,
  rules: FrameRules,
  modules: readonly RunModule[] = [],
): void {
  for (const { module, stacks, firstTouch, owners, locality } of profile.instances) {
    const attributed = [firstTouch, owners].flatMap((part) => part?.contexts ?? []);
    for (const frame of [...stacks, ...attributed.map(({ stack }) => stack)].flat())
      frame.library = rules.libraryOf({ ...frame, function: frame.name });
    const ofPackage = packageOfModule(
      modules.find(({ index: at }) => at === profile.modules[module]?.index),
      rules,
    );
    for (const stack of stacks) markCalledByScripts(stack, ofPackage, rules);
    for (const { frame, file } of locality?.sites ?? [])
      if (frame !== undefined) frame.library = rules.libraryOf({ function: frame.name, file });
    const index = profile.modules[module]?.index;
    const layers = new Set(modules.find((candidate) => candidate.index === index)?.allocator.layers);
    for (const frame of owners?.contexts.flatMap(({ stack }) => stack) ?? [])
      if (layers.has(frame.function) && !rules.isNamedOwn({ function: frame.name, file: frame.file }))
        frame.library ??= LAYER;
  }
}
