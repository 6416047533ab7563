import { ownPlace } from "../../../../explain/analyses/frames/own-place.ts";
import { placeOf } from "../../../../explain/analyses/frames/place-names.ts";
import { objectsByPlace } from "../../../../explain/analyses/waste/blocks-by-place.ts";
import { fieldOrder } from "../../../../explain/analyses/waste/field-order.ts";
import { fieldNames } from "../../../../explain/findings/waste/members.ts";
import { blocksOf } from "../../../../explain/findings/waste/waste-words.ts";
import {
  formatBytes,
  formatCount,
  formatMean,
  formatPercent,
  plural,
} from "../../../../profile/model/format.ts";
import type { WasteField, WasteFile, WasteIp, WasteObjects } from "../../../../profile/model/waste/waste.ts";
import { printWrapped } from "../common/header.ts";
import type { Screen } from "../common/screen.ts";
import { printable } from "../common/text.ts";

const LABEL_WIDTH = 15;
/** Places that are named of those whose stores die in a site's blocks, that store to them, and that load from them. */
const ACCESSING_PLACES = 3;
/** EfficiencySanitizer reports structs from this ratio on. */
const NOTABLE_DISPARITY = 1024;

/** What happened to the blocks of the sites with most dead bytes, and to the members of their types. */
export function printObjects(screen: Screen, file: WasteFile, rows: number): void {
  const sites = objectsByPlace(file.objects ?? []);
  screen.print("", screen.paint.heading("Blocks by allocation site"));
  if (sites.length === 0) screen.print("  No blocks were allocated.");
  const shown = sites.slice(0, rows);
  const names = siteNames(shown);
  shown.forEach((site, i) => {
    printSite(screen, names[i], site, file);
  });
  if (sites.length > rows)
    screen.print(screen.paint.faint(`  … and ${plural(sites.length - rows, "more site")}: -n shows them`));
}

/** The places that reached most into a site's blocks, with bytes: several instructions of one place are one. */
function places(accesses: readonly { readonly ips: readonly WasteIp[]; readonly bytes: number }[]): string {
  const bytesOf = new Map<string, number>();
  for (const { ips, bytes } of accesses) bytesOf.set(placeOf(ips), (bytesOf.get(placeOf(ips)) ?? 0) + bytes);
  return [...bytesOf]
    .sort(([, a], [, b]) => b - a)
    .slice(0, ACCESSING_PLACES)
    .map(([place, bytes]) => `${place} ${formatBytes(bytes)}`)
    .join(", ");
}

/** Places that allocate; those of one name, copies of an inlined function, with what they are inlined into as far as it differs. */
function siteNames(sites: readonly WasteObjects[]): string[] {
  const named = sites.map(({ ips }) => ({ name: placeOf(ips), around: framesAround(ips) }));
  return named.map(({ name, around }) => {
    const twins = named.filter((other) => other.name === name);
    const alike = (depth: number) =>
      twins.filter((twin) => twin.around.slice(0, depth).join() === around.slice(0, depth).join()).length;
    let depth = 0;
    while (depth < around.length && alike(depth) > 1) depth++;
    return [name, ...around.slice(0, depth)].join(" in ");
  });
}

/** What the program's own place is inlined into, the innermost first. */
function framesAround(ips: readonly WasteIp[]): string[] {
  const own = ownPlace(ips);
  const frames = [ips[0], ...(ips[0]?.inlined ?? [])];
  const at = own === undefined ? -1 : frames.indexOf(own.frame as WasteIp);
  return at < 0 ? [] : frames.slice(at + 1).map((frame) => placeOf([{ ...frame, address: 0 }]));
}

function printSite(screen: Screen, name: string, site: WasteObjects, file: WasteFile): void {
  const row = (label: string, value: string): void =>
    printWrapped(
      screen,
      printable(value),
      `    ${screen.paint.faint(label.padEnd(LABEL_WIDTH))}`,
      " ".repeat(LABEL_WIDTH + 4),
    );
  const dead = site.bytesDead === 0 ? "nothing dead" : `${formatBytes(site.bytesDead)} dead`;
  printWrapped(screen, printable(`${name}: ${blocksOf(site)}, ${dead}`), "  ", "    ");
  const part = (value: number) => formatPercent(Math.round(value * 1000), 1000);
  if (site.usage !== undefined && site.usefulLifetime !== undefined)
    row(
      "used",
      `${part(site.usage)} of their bytes, and from the first access to the last ${part(site.usefulLifetime)} of their time`,
    );
  if (site.ratioRead !== undefined && site.ratioWritten !== undefined)
    row(
      "accessed",
      `${formatMean(site.ratioRead)} ${formatMean(site.ratioRead) === "1" ? "byte" : "bytes"} read and ${formatMean(site.ratioWritten)} written per byte allocated`,
    );
  const { deadBy = [], writtenBy = [], readBy = [] } = site;
  const storesOf = (by: typeof deadBy) =>
    by.map(({ store, bytes }) => ({ ips: file.stores[store]?.ips ?? [], bytes }));
  const byAccess = [
    ["dead from", storesOf(deadBy)],
    ["written by", storesOf(writtenBy)],
    ["read by", readBy.map(({ load, bytes }) => ({ ips: file.loads[load]?.ips ?? [], bytes }))],
  ] as const;
  for (const [label, by] of byAccess) if (by.length > 0) row(label, places(by));
  // Where blocks differ and no type is known, an offset means nothing.
  if (site.varies && site.type === undefined) return;
  const named = site.type === undefined ? site.fields : site.fields.filter(({ name }) => name !== undefined);
  const sizeOf = (fields: readonly WasteField[]) => fields.reduce((sum, { size }) => sum + size, 0);
  const list = (label: string, fields: readonly WasteField[]): void => {
    if (fields.length === 0) return;
    const [names, sum] = [fieldNames(fields, site.type), `(${plural(sizeOf(fields), "byte")})`];
    row(label, names.endsWith(sum) ? names : `${names} ${sum}`);
  };
  if (!site.tail)
    list(
      "never read",
      named.filter(({ reads, writes }) => reads === 0 && writes > 0),
    );
  list(
    "never touched",
    named.filter(({ reads, writes }) => reads === 0 && writes === 0),
  );
  const padding = site.type === undefined ? 0 : sizeOf(site.fields.filter(({ name }) => name === undefined));
  if (padding > 0) row("padding", `${padding} of ${site.type?.size} bytes`);
  const order = fieldOrder(site);
  if (order === undefined) return;
  const { lines, hot, hotBytes, disparity, accesses } = order;
  if (lines.after < lines.before)
    row(
      "order",
      `${fieldNames(hot, site.type)} have ${formatPercent(
        hot.reduce((sum, field) => sum + (field.accesses ?? 0), 0),
        accesses,
      )} of the accesses: side by side their ${hotBytes} bytes need ${plural(lines.after, "line")} instead of ${lines.before}`,
    );
  if (disparity >= NOTABLE_DISPARITY)
    row("disparity", `${formatCount(disparity)}: hot members stand beside cold ones`);
}
