import { LEAST_BYTES } from "../../../analyses/findings/heap-blocks.ts";
import { typeName } from "../../../analyses/objects/names.ts";
import { unreadFields, unreadTypes } from "../../../analyses/objects/unread.ts";
import type { ObjectsProfile } from "../../../model/objects/objects.ts";
import { formatBytes, plural } from "../../format.ts";
import type { Screen } from "../common/screen.ts";
import { displayWidth, padLeft } from "../common/text.ts";

export const DEFAULT_ROWS = 15;

/** Fields that nobody reads, `Node.debugName: 4 B in 1.2 M objects, never read`, and types of which nobody reads anything. */
export function printUnread(screen: Screen, profile: ObjectsProfile, rows: number | undefined): void {
  const { strong, faint, amount } = screen.paint;
  if (!profile.fields) {
    screen.print("", faint("Reads and writes of fields were not counted (--no-fields)."));
    return;
  }
  const fields = unreadFields(profile);
  if (fields.length > 0)
    screen.print("", strong("Fields that nobody reads") + faint("  (bytes of all objects that were made)"));
  const shownFields = shown(fields, ({ bytes }) => bytes, rows);
  for (const { name, each, bytes, objects, written, isOfLanguage } of shownFields) {
    const whose = isOfLanguage ? " (the language's)" : "";
    const says = `${formatBytes(each)} in ${plural(objects, "object")}, ${written ? "only written" : "never read"}${whose}`;
    const fitting = screen.fit(name, screen.width - 15 - displayWidth(says));
    screen.print(`  ${amount(padLeft(formatBytes(bytes), 9))}  ${strong(fitting)}: ${says}`);
  }
  more(screen, fields.length - shownFields.length, "field");
  const types = unreadTypes(profile);
  if (types.length > 0)
    screen.print("", strong("Types that nobody reads") + faint("  (no field or element of any object)"));
  const shownTypes = shown(types, ({ type }) => type.bytes, rows);
  for (const { type } of shownTypes) {
    const isWritten = type.fields.some(({ unwritten }) => !unwritten);
    const says = `${plural(type.objects, "object")}, ${isWritten ? "only written" : "never read"}`;
    const fitting = screen.fit(typeName(type), screen.width - 15 - displayWidth(says));
    screen.print(`  ${amount(padLeft(formatBytes(type.bytes), 9))}  ${strong(fitting)}: ${says}`);
  }
  more(screen, types.length - shownTypes.length, "type");
}

/** As many as were asked for, else those that would be findings. */
function shown<Row>(
  all: readonly Row[],
  bytesOf: (row: Row) => number,
  rows: number | undefined,
): readonly Row[] {
  return rows === undefined
    ? all.filter((row) => bytesOf(row) >= LEAST_BYTES).slice(0, DEFAULT_ROWS)
    : all.slice(0, rows);
}

function more(screen: Screen, left: number, noun: string): void {
  if (left > 0) screen.print(screen.paint.faint(`  … and ${plural(left, `more ${noun}`)}: -n N shows them`));
}
