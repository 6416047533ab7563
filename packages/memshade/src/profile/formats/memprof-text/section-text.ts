import { FrameTable, placeOf, RankedBits, StackChains, SummaryBuilder } from "../../model/memprof/index.ts";
import { mibFromFields } from "../../model/memprof/merge/block-merge.ts";
import { MIB_FIELDS } from "../../model/mib-fields.ts";
import { type Cursor, type LinearSection, readCallees, schemaBytes } from "../memprof-indexed/index.ts";
import { documentText, LINES, wordsText } from "./yaml-text.ts";

/**
 * Yields the text of a memprof section of version 3 or 4, equal to `indexedProfileText` of `readIndexed`. Only pieces
 * of the file and the stacks are in memory. Everything is checked before the function returns.
 *
 * @throws FormatError as `readIndexed`
 */
export function sectionText(section: LinearSection): Generator<string> {
  const head = check(section);
  return documentText(head, recordTexts(section));
}

function check(section: LinearSection) {
  const { schema, version } = section;
  const frames = new FrameTable(false);
  const ids = section.frames.map((frame) => frames.intern(placeOf(frame)));
  const chains = new StackChains();
  const stacks = section.stacksOf((parent, frame) => chains.child(parent, ids[frame]!));
  const blockBytes = schemaBytes(schema);
  const seenGuids = new Set<bigint>();
  const seen = new RankedBits();
  const summary = new SummaryBuilder();
  for (const { guid, entry } of section.records()) {
    if (seenGuids.has(guid)) throw entry.error(`function ${guid} has two records`);
    seenGuids.add(guid);
    for (let remaining = entry.count(4, "alloc sites"); remaining > 0; remaining--) {
      const stack = stacks.at(entry.u32());
      const at = entry.next(blockBytes);
      if (seen.has(stack)) continue;
      seen.set(stack);
      const block = mibFromFields(entry.window.view, at, schema);
      summary.add(block.allocCount, block.totalSize, block.totalLifetime, block.totalLifetimeAccessDensity);
    }
    for (let remaining = entry.count(4, "call sites"); remaining > 0; remaining--) {
      stacks.at(entry.u32());
      readCallees(entry, version);
    }
  }
  const dataAccess = section.dataAccess();
  chains.release();
  seen.release();
  return { summary: section.summary ?? summary.build(), records: seenGuids.size, dataAccess };
}

function* recordTexts(section: LinearSection): Generator<string> {
  const frames = section.frames.map(LINES.frame);
  const stacks = section.stacksOf(() => 0);
  const callStack = (entry: Cursor) => {
    let text = "";
    for (const frame of stacks.framesAt(entry.u32())) text += frames[frame]!;
    return text;
  };
  const blockText = blockTexts(section);
  for (const { guid, entry } of section.records()) {
    yield LINES.function(guid);
    let remaining = entry.count(4, "alloc sites");
    if (remaining > 0) yield LINES.allocSites;
    for (; remaining > 0; remaining--)
      yield `${LINES.allocSite}${callStack(entry)}${LINES.block}${blockText(entry)}`;
    remaining = entry.count(4, "call sites");
    if (remaining > 0) yield LINES.callSites;
    for (; remaining > 0; remaining--) {
      yield `${LINES.callSite}${callStack(entry)}`;
      const callees = readCallees(entry, section.version) ?? [];
      if (callees.length > 0) yield LINES.callees(callees);
    }
  }
}

/** Returns a formatter of the block at a cursor; its lines are in tag order. */
function blockTexts({ schema }: LinearSection): (entry: Cursor) => string {
  const fields = MIB_FIELDS.filter((field) => schema.includes(field)).map((field) => ({
    start: LINES.field(field),
    isWide: field.bytes === 8,
    // If a field occurs several times in the schema, the last one counts.
    offset: schemaBytes(schema.slice(0, schema.lastIndexOf(field))),
  }));
  const bytes = schemaBytes(schema);
  return (entry) => {
    const at = entry.next(bytes);
    const { view } = entry.window;
    let text = "";
    for (const { start, isWide, offset } of fields) {
      const high = isWide ? view.getUint32(at + offset + 4, true) : 0;
      text += `${start}${wordsText(view.getUint32(at + offset, true), high)}\n`;
    }
    return text;
  };
}
