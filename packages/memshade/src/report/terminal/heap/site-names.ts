import type { ContextGroups, GroupBy } from "../../../analyses/groups.ts";
import type { HeapProfile } from "../../../model/heap-profile.ts";
import type { IndexIntoContextTable, IndexIntoFrameTable } from "../../../model/indices.ts";
import { siteFrameOfContext } from "../../../model/site-frame.ts";
import { describeFrame, type FrameDescription, ofModule } from "../../frames.ts";
import type { Screen } from "../common/screen.ts";
import { displayWidth, printable } from "../common/text.ts";

/** What a row of a table is. */
export const GROUP_NOUNS: { readonly [Key in GroupBy]: string } = {
  path: "call path",
  site: "site",
  function: "function",
};

/**
 * Names for the rows of a table: the function that allocates. Where one function allocates at several
 * places, each has its place behind the name: `parse @0x1a2b`, `parse :120`. Where the host allocates through
 * an export with a name of its own, the role is there: `Ia (malloc)`.
 */
export class SiteNames {
  private readonly profile: HeapProfile;
  private readonly groups: ContextGroups;
  private readonly placesOf = new Map<string, Set<IndexIntoFrameTable>>();

  constructor(profile: HeapProfile, groups: ContextGroups) {
    this.profile = profile;
    this.groups = groups;
    for (let context = 0; context < profile.contexts.length; context++) {
      const leaf = siteFrameOfContext(profile, context as IndexIntoContextTable);
      if (leaf !== undefined) {
        const key = this.keyOf(describeFrame(profile, leaf));
        this.placesOf.set(key, (this.placesOf.get(key) ?? new Set()).add(leaf));
      }
    }
  }

  /** The painted name of a group in at most `width` columns. */
  paint(screen: Screen, group: number, width: number): string {
    const frame = siteFrame(this.profile, this.groups.contexts[group]!);
    if (frame === undefined) {
      return screen.paint.strong("(call path not recorded)");
    }
    const module = printable(ofModule(this.profile, frame));
    const place = module + (frame.calledByHost ? this.roleOf(frame) : this.placeOf(frame));
    const name = screen.fit(frame.function, width - displayWidth(place));
    return screen.paint.strong(name) + screen.paint.faint(place);
  }

  /** What the host called: ` (malloc)` behind a name that does not say so itself. */
  private roleOf({ module, index, function: name }: FrameDescription): string {
    const { allocator } = this.profile.modules.find((candidate) => candidate.name === module) ?? {};
    const role = allocator?.functions.find((hooked) => hooked.index === index)?.role;
    return role === undefined || name.includes(role) ? "" : ` (${role})`;
  }

  private keyOf(frame: FrameDescription): string {
    return frame.function + ofModule(this.profile, frame);
  }

  private placeOf(frame: FrameDescription): string {
    const { index, offset, line } = frame;
    if (this.groups.by === "function" || index === null || this.placesOf.get(this.keyOf(frame))!.size === 1) {
      return "";
    }
    return line === undefined ? ` @0x${offset.toString(16)}` : ` :${line}`;
  }
}

/** The frame that names the site of contexts that have one in common. */
export function siteFrame(
  profile: HeapProfile,
  contexts: readonly IndexIntoContextTable[],
): FrameDescription | undefined {
  const leaf = siteFrameOfContext(profile, contexts[0]!);
  return leaf === undefined ? undefined : describeFrame(profile, leaf);
}

/** Where a site lies, in words: file and line, else module and code offset. */
export function placeInWords(
  profile: HeapProfile,
  { file, line, column, module, offset }: FrameDescription,
): string {
  if (file !== undefined) {
    return printable(
      line === undefined ? file : `${file}:${line}${column === undefined ? "" : `:${column}`}`,
    );
  }
  const place = `code offset 0x${offset.toString(16)}`;
  return profile.modules.length > 1 && module !== undefined ? `${printable(module)} ${place}` : place;
}
