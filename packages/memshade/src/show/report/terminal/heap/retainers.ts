import { bareName, shortPlace } from "../../../../explain/analyses/frames/place-names.ts";
import type {
  Holder,
  NamedRoot,
  Retained,
  RetainedPlace,
  RetainerPath,
} from "../../../../explain/analyses/retainers.ts";
import type { MeasuredFrame } from "../../../../explain/measures/measured-stacks.ts";
import { formatBytes, plural } from "../../../../profile/model/format.ts";
import { printable } from "../../../../profile/model/printable.ts";
import { printGaps, printWrapped } from "../common/header.ts";
import { Screen, type ScreenOptions } from "../common/screen.ts";

/** Paths of a place, and holders of a path, that are printed without `--wide`. */
const MOST_PATHS = 3;
const MOST_HOLDERS = 6;

interface RetainersScreenOptions extends ScreenOptions {
  readonly rows: number;
  readonly notTracked: readonly string[];
  readonly framesAt: (place: number) => readonly MeasuredFrame[];
}

/** Formats the places of live blocks with who holds them. */
export function retainersText(
  { blocks, bytes }: Retained,
  chosen: readonly RetainedPlace[],
  options: RetainersScreenOptions,
): string {
  const screen = new Screen(options);
  const { strong, faint, amount } = screen.paint;
  screen.printEnds(
    "Who holds the live blocks",
    `${formatBytes(bytes)} in ${plural(blocks, "block")}`,
    strong,
  );
  printGaps(screen, options.notTracked);
  for (const place of chosen.slice(0, options.rows)) {
    const { paths } = place;
    screen.print(
      "",
      `${amount(formatBytes(place.bytes))} in ${plural(place.blocks, "block")} by ${strong(placeText(place.place, options))}`,
    );
    const shown = screen.isWide ? paths : paths.slice(0, MOST_PATHS);
    for (const path of shown) {
      const share = paths.length === 1 ? "" : ` (${formatBytes(path.bytes)})`;
      printWrapped(screen, `${pathText(path, options, screen.isWide)}${share}`, "  ", "    ");
      if (!isUnheld(path.root)) printWrapped(screen, fallsText(path), "    ", "    ", faint);
    }
    const hidden = paths.length - shown.length;
    if (hidden > 0) screen.print(faint(`  … and ${plural(hidden, "more path")}: --wide shows them`));
    if (paths.length > 1 && paths.some(({ root }) => !isUnheld(root)))
      screen.print(faint(`  without all these pointers fall ${formatBytes(place.falls)}`));
  }
  const hidden = chosen.length - options.rows;
  if (hidden > 0)
    screen.print("", faint(`… and ${plural(hidden, "more place")}: -n ${chosen.length} shows them`));
  if (chosen.length === 0) screen.print("", "There were no live blocks.");
  screen.printShortened();
  return screen.text();
}

export function placeText(place: number, { framesAt }: Pick<RetainersScreenOptions, "framesAt">): string {
  const [frame] = place < 0 ? [] : framesAt(place);
  if (frame === undefined) return "an unknown place";
  const name = frame.function === undefined ? "a function without a name" : bareName(frame.function);
  const at = shortPlace(frame);
  return at === undefined ? name : `${name} (${printable(at)})`;
}

/** Formats a path: `held by global registry (+16) → table.slots of table_new (table.c:12) → here`. */
function pathText(
  { root, holders }: RetainerPath,
  options: Pick<RetainersScreenOptions, "framesAt">,
  isWhole: boolean,
): string {
  if (holders.length === 0 && isUnheld(root)) return rootText(root);
  const steps = holders.map((holder) => holderText(holder, options));
  const hidden = steps.length - MOST_HOLDERS;
  if (!isWhole && hidden > 0) steps.splice(MOST_HOLDERS / 2, hidden, `… ${plural(hidden, "more place")} …`);
  return [isUnheld(root) ? rootText(root) : `held by ${rootText(root)}`, ...steps, "here"].join(" → ");
}

function holderText(
  { place, member, offset }: Holder,
  options: Pick<RetainersScreenOptions, "framesAt">,
): string {
  const pointer = member === undefined ? (offset === undefined ? "blocks" : `+${offset}`) : printable(member);
  return `${pointer} of ${placeText(place, options)}`;
}

function rootText({ kind, name, module, offset }: NamedRoot): string {
  switch (kind) {
    case "static": {
      const at = offset === undefined ? "" : ` (+${offset})`;
      return name === undefined
        ? `static data of ${printable(module ?? "the program")} at 0x${(offset ?? 0).toString(16)}`
        : `global ${printable(name)}${at}`;
    }
    case "stack":
      return "the stack";
    case "thread":
      return offset === undefined
        ? "a thread's stack or thread-local data"
        : "thread-local data of the first thread";
    case "memory":
      return "memory that the program mapped";
    case "global":
      return `global ${offset} of ${printable(module ?? "the module")}`;
    case "kept":
      return "the dynamic linker or the system";
    case "lost":
      return "lost: no pointer holds them";
    case "host":
      return "only JavaScript may hold them";
    case "beyond":
      return "not stored: the tables were full";
  }
}

function isUnheld({ kind }: NamedRoot): boolean {
  return kind === "lost" || kind === "host" || kind === "beyond";
}

function fallsText({ root, falls, fallsWithRoot }: RetainerPath): string {
  const own = `falls if cleared: ${formatBytes(falls)}`;
  return falls === fallsWithRoot || root.name === undefined
    ? own
    : `${own}; if ${printable(root.name)} is: ${formatBytes(fallsWithRoot)}`;
}
