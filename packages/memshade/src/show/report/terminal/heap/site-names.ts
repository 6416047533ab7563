import { LAYER } from "../../../../explain/analyses/frames/libraries.ts";
import { bareName, shortPlace } from "../../../../explain/analyses/frames/place-names.ts";
import type { ContextGroups, GroupBy } from "../../../../explain/analyses/groups.ts";
import type { HeapProfile } from "../../../../profile/model/heap-profile.ts";
import {
  type IndexIntoContextTable,
  type IndexIntoFrameTable,
  NONE,
} from "../../../../profile/model/indices.ts";
import { framesInsideSite, siteFrameOfContext } from "../../../../profile/model/site-frame.ts";
import { describeFrame, type FrameDescription, ofModule } from "../../frames.ts";
import { type Screen, shortenName } from "../common/screen.ts";
import { cutStart, displayWidth, printable } from "../common/text.ts";

/** Nouns for the rows of a table. */
export const GROUP_NOUNS: { readonly [Key in GroupBy]: string } = {
  path: "call path",
  site: "site",
  function: "function",
};

/** Part of a name's columns that the function keeps beside the library function it called. */
const NAME_PART = 0.55;
/** Largest part of a row's columns for a location. */
const PLACE_PART = 0.8;
/** Least columns for the library function; with fewer, it is left out. */
const LEAST_VIA = 12;

/**
 * Names of table rows: the program's own function with its location, and the library or layer through which
 * it allocates: `load (load.cc:7) via std::vector::push_back`. Without debug information, offsets distinguish
 * the locations of one function: `parse @0x1a2b`. If the host allocates through an export with a name of its
 * own, the role is added: `Ia (malloc)`.
 */
export class SiteNames {
  readonly #profile: HeapProfile;
  readonly #groups: ContextGroups;
  /** Columns of frames (of frames without lines: the frames), keyed by the name without them. */
  readonly #placesOf = new Map<string, Set<number>>();

  constructor(profile: HeapProfile, groups: ContextGroups) {
    this.#profile = profile;
    this.#groups = groups;
    for (let context = 0; context < profile.contexts.length; context++) {
      const leaf = siteFrameOfContext(profile, context as IndexIntoContextTable);
      if (leaf !== undefined) {
        const frame = describeFrame(profile, leaf);
        const key = this.#keyOf(frame);
        this.#placesOf.set(key, (this.#placesOf.get(key) ?? new Set()).add(frame.column ?? leaf));
      }
    }
  }

  /** Returns the painted name of a group in at most `width` columns. */
  paint(screen: Screen, group: number, width: number): string {
    const contexts = this.#groups.contexts[group]!;
    const frame = siteFrame(this.#profile, contexts);
    if (frame === undefined) return screen.paint.strong("(call path not recorded)");
    const module = printable(ofModule(this.#profile, frame));
    const whole = module + (frame.calledByHost ? this.#roleOf(frame) : this.#placeOf(frame, screen.isWide));
    const place = screen.shorten(whole, (columns) => cutStart(whole, columns), Math.ceil(width * PLACE_PART));
    const room = width - displayWidth(place);
    const via = this.#via(screen, contexts, frame, room);
    const name =
      (frame.file === undefined && via === "") || screen.isWide
        ? screen.fit(frame.function, room - displayWidth(via))
        : screen.shorten(
            frame.function,
            (columns) => shortenName(bareName(frame.function), columns),
            room - displayWidth(via),
          );
    return screen.paint.strong(name) + screen.paint.faint(place + via);
  }

  /** Formats ` via std::vector::push_back`: the function that the site called. A group may have several. */
  #via(
    screen: Screen,
    contexts: readonly IndexIntoContextTable[],
    frame: FrameDescription,
    room: number,
  ): string {
    if (this.#groups.by === "function") return "";
    const inner = this.#heaviestFirst(contexts).map((context) => calledFrame(this.#profile, context));
    const names = new Set(
      inner.flatMap((called) => (called === undefined ? [] : this.#calledName(called, screen.isWide))),
    );
    const [first] = names;
    if (first === undefined) return "";
    const otherNames = names.size === 1 ? "" : ` and ${names.size - 1} more`;
    if (screen.isWide) return ` via ${[...names].join(", ")}`;
    const own = Math.min(displayWidth(bareName(frame.function)), Math.ceil(room * NAME_PART));
    const roomForName = room - own - displayWidth(` via ${otherNames}`);
    if (roomForName < Math.min(LEAST_VIA, displayWidth(first))) {
      screen.isShortened = true;
      return "";
    }
    return ` via ${screen.shorten(first, (columns) => shortenName(first, columns), roomForName)}${otherNames}`;
  }

  /** Sorts contexts by bytes for JavaScript, whose callers usually call several functions. */
  #heaviestFirst(contexts: readonly IndexIntoContextTable[]): readonly IndexIntoContextTable[] {
    if (this.#profile.frames.host === undefined) return contexts;
    const { totalSize } = this.#profile.contexts.mibs;
    return contexts.toSorted((a, b) => Number(totalSize[b]! - totalSize[a]!));
  }

  /** Formats a function that the program called to allocate; a function of a layer gets its location too. */
  #calledName(called: IndexIntoFrameTable, isWide: boolean): string {
    const frame = describeFrame(this.#profile, called);
    const place = frame.library === LAYER ? shortPlace(frame) : undefined;
    const name = isWide ? printable(frame.function) : bareName(frame.function);
    return name + (place === undefined ? "" : ` (${printable(place)})`);
  }

  /**
   * Formats the role of a function that the host called: ` (malloc)`. Empty if the name contains the role.
   */
  #roleOf({ module, index, function: name }: FrameDescription): string {
    const { allocator } = this.#profile.modules.find((candidate) => candidate.name === module) ?? {};
    const role = allocator?.functions.find((hooked) => hooked.index === index)?.role;
    return role === undefined || name.includes(role) ? "" : ` (${role})`;
  }

  #keyOf(frame: FrameDescription): string {
    return frame.function + ofModule(this.#profile, frame) + (shortPlace(frame) ?? "");
  }

  #placeOf(frame: FrameDescription, isWide: boolean): string {
    const { index, offset, column } = frame;
    if (this.#groups.by === "function") return "";
    const place = shortPlace(frame);
    const isAlone = this.#placesOf.get(this.#keyOf(frame))!.size === 1;
    if (place !== undefined && isWide) return ` (${placeInWords(this.#profile, frame)})`;
    if (place !== undefined)
      return ` (${printable(place)}${isAlone || column === undefined ? "" : `:${column}`})`;
    return index === null || isAlone ? "" : ` @0x${offset.toString(16)}`;
  }
}

/** Shorter names are usually minified exports. */
const SHORTEST_TELLING = 3;

/**
 * Returns the function that a context's site called. For JavaScript callers this is the module function that
 * the call entered, if it has a name: frames between are glue code.
 */
function calledFrame(profile: HeapProfile, context: IndexIntoContextTable): IndexIntoFrameTable | undefined {
  const { frames, functions, strings } = profile;
  const inside = framesInsideSite(profile, context);
  const site = siteFrameOfContext(profile, context);
  if (site === undefined || frames.host?.[site] === undefined) return inside.at(-1);
  const entered = inside.findLast((frame) => frames.host?.[frame] === undefined);
  const name = entered === undefined ? NONE : functions.name[frames.function[entered]!]!;
  return name !== NONE && strings[name]!.length >= SHORTEST_TELLING ? entered : inside.at(-1);
}

/** Describes the frame that names the site shared by all `contexts`. */
export function siteFrame(
  profile: HeapProfile,
  contexts: readonly IndexIntoContextTable[],
): FrameDescription | undefined {
  const leaf = siteFrameOfContext(profile, contexts[0]!);
  return leaf === undefined ? undefined : describeFrame(profile, leaf);
}

/** Formats the location of a site: file and line, else module and code offset. */
export function placeInWords(
  profile: HeapProfile,
  { file, line, column, module, offset }: FrameDescription,
): string {
  if (file !== undefined)
    return printable(
      line === undefined ? file : `${file}:${line}${column === undefined ? "" : `:${column}`}`,
    );
  const place = `code offset 0x${offset.toString(16)}`;
  return profile.modules.length > 1 && module !== undefined ? `${printable(module)} ${place}` : place;
}
