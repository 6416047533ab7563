import fs from "node:fs";
import path from "node:path";
import { groupContexts } from "../explain/analyses/groups.ts";
import {
  type NamedRoot,
  type Retained,
  type RetainerNames,
  retainedPlaces,
} from "../explain/analyses/retainers.ts";
import { stacksOf } from "../explain/measures/index.ts";
import { type MeasuredFrame, placePath } from "../explain/measures/measured-stacks.ts";
import { entryOf } from "../ground/bytes/entries.ts";
import { UserError } from "../ground/bytes/errors.ts";
import { loadDemangler } from "../names/load/demangler.ts";
import { readRegular } from "../names/load/file.ts";
import type { BlockType } from "../profile/model/block-type.ts";
import type { HeapProfile } from "../profile/model/heap-profile.ts";
import { type IndexIntoContextTable, NONE } from "../profile/model/indices.ts";
import { type RetainerRoot, readRetainers } from "../profile/model/retainers.ts";
import type { Run } from "../profile/model/run.ts";
import { framesOfContext } from "../profile/model/stacks.ts";
import { LIKELY_RULES } from "../profile/model/waste.ts";
import { loadHeap } from "./heap.ts";
import { type OriginalPlaces, RunSymbols } from "./run-symbols.ts";
import type { OwnCode } from "./suppressions.ts";

export interface LoadedRetainers {
  readonly profile: HeapProfile;
  readonly retained: Retained;
  /** Returns the frames of a place, the program's own first. */
  readonly framesAt: (place: number) => readonly MeasuredFrame[];
}

/** Calls outwards from the allocator's that may have the type of a block. */
const CALLS = 3;
/** Types of numbers in C, C++ and Rust. */
const NUMBER =
  /^(?:(?:const|volatile|unsigned|signed|long|short|int|char|bool|_Bool|float|double|[iu](?:8|16|32|64|128|size)|f(?:32|64)|u?int\d+_t|size_t)(?: |$))+$/;

/**
 * Loads the retainers of a run's live blocks.
 *
 * @throws UserError in one line if the input is no run, or has no retainers
 */
export async function loadRetainers(
  input: string,
  places: OriginalPlaces & OwnCode = {},
): Promise<LoadedRetainers> {
  const { profile, run } = await loadHeap(input, places);
  if (run === undefined) throw new UserError(`${input} is no run of memshade: retainers need one`);
  const folder = path.basename(input) === "run.json" ? path.dirname(input) : input;
  const text = textOf(input, folder, run);
  const file = readFileOf(text, path.join(folder, run.files.retainers!));
  const groups = groupContexts(profile, "site");
  const stacks = stacksOf("heap", { heap: profile })!;
  return {
    profile,
    retained: retainedPlaces(file, new Names(profile, run, places, groups.groupOf)),
    framesAt: (place) => placePath(stacks, groups.contexts[place]![0]!),
  };
}

function textOf(input: string, folder: string, { files, heap }: Run): string {
  if (files.retainers === undefined) {
    const reason = heap?.notTracked?.find((sentence) => sentence.startsWith("Whether "));
    throw new UserError(
      `${input} does not tell who holds its live blocks. ${reason ?? "Record the run again: an earlier version of memshade has written it."}`,
    );
  }
  const name = path.join(folder, files.retainers);
  if (!fs.existsSync(name)) throw new UserError(`${input} is incomplete: ${files.retainers} is missing`);
  return readRegular(name).toString();
}

function readFileOf(text: string, name: string): ReturnType<typeof readRetainers> {
  try {
    return readRetainers(text);
  } catch (error) {
    throw error instanceof UserError ? new UserError(`${name}: ${error.message}`) : error;
  }
}

interface Variable {
  readonly address: number;
  readonly bytes?: number | undefined;
  readonly name?: string | undefined;
}

type TypesOfModule = ReturnType<RunSymbols["blockTypesOf"]>;

class Names implements RetainerNames {
  readonly #profile: HeapProfile;
  readonly #run: Run;
  readonly #symbols: RunSymbols;
  readonly #groupOf: ArrayLike<number>;
  readonly #variables = new Map<number, (address: number) => Variable | undefined>();
  readonly #types = new Map<number, TypesOfModule>();
  readonly #typeOfSite = new Map<number, BlockType | undefined>();

  constructor(profile: HeapProfile, run: Run, places: OriginalPlaces, groupOf: ArrayLike<number>) {
    this.#profile = profile;
    this.#run = run;
    this.#symbols = new RunSymbols(places, run.modules);
    this.#groupOf = groupOf;
  }

  root({ kind, module: index, address }: RetainerRoot): NamedRoot {
    const module = index === undefined ? undefined : this.#run.modules[index];
    if (kind === "lost" && this.#run.heap?.reach?.hostMayHold === true) return { kind: "host" };
    if (module === undefined || address === undefined) return { kind, offset: address };
    if (kind !== "static") return { kind, module: module.name, offset: address };
    const variable = entryOf(this.#variables, index!, () => this.#variablesOf(index!))(address);
    return variable?.name === undefined
      ? { kind, module: module.name, offset: address }
      : { kind, module: module.name, name: variable.name, offset: address - variable.address };
  }

  placeOf(site: number): number {
    return this.#groupOf[site] ?? -1;
  }

  memberAt(site: number, offset: number): string | undefined {
    if (!this.#typeOfSite.has(site)) this.#typeOfSite.set(site, this.#findType(site));
    const type = this.#typeOfSite.get(site);
    if (type === undefined) return undefined;
    const inside = offset % type.size;
    const member = type.members.find((each) => inside >= each.offset && inside < each.offset + each.size);
    // A pointer in a number shows that the type is another one, as of an array beside its struct.
    return member === undefined || NUMBER.test(member.type) ? undefined : `${type.name}.${member.name}`;
  }

  #variablesOf(index: number): (address: number) => Variable | undefined {
    const module = this.#run.modules[index]!;
    const object = this.#symbols.objectOf(module);
    if (object === undefined) return () => undefined;
    const demangle = loadDemangler();
    if (object.kind === "elf")
      return (address) => {
        const symbol = object.symbolAt(address);
        return symbol?.kind === "data" ? { address: symbol.address, name: demangle(symbol.name) } : undefined;
      };
    const variables = this.#symbols.dataVariablesOf(module);
    return (address) =>
      variables.find((each) => address >= each.address && address < each.address + (each.bytes ?? 1));
  }

  #findType(site: number): BlockType | undefined {
    const { frames, functions, contexts } = this.#profile;
    const [smallest, largest] = [contexts.mibs.minSize[site]!, contexts.mibs.maxSize[site]!];
    let calls = 0;
    for (const frame of framesOfContext(this.#profile, site as IndexIntoContextTable)) {
      const module = functions.module[frames.function[frame]!]!;
      if (module === NONE || calls === CALLS) return undefined;
      if (frames.inlined[frame] !== 0) continue;
      calls++;
      const recorded = this.#run.modules[module];
      const types = recorded && entryOf(this.#types, module, () => this.#symbols.blockTypesOf(recorded));
      const type = types?.(frames.offset[frame]!, smallest, largest);
      // A type that is only likely would give wrong names to arrays.
      if (type !== undefined) return LIKELY_RULES.has(type.by) ? undefined : type;
    }
    return undefined;
  }
}
