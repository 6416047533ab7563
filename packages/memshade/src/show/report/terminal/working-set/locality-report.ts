import {
  binned,
  binStart,
  COMMON_CACHES,
  LINE_BYTES,
  ValueHistogram,
} from "../../../../explain/analyses/locality/index.ts";
import { formatBytes, formatCount, formatPercent, plural } from "../../../../profile/model/format.ts";
import type { LocalityRecord } from "../../../../profile/model/working-set/working-set.ts";
import { curveSizes, footprintOf, linesOf, missRatioCurve } from "../../json/locality.ts";
import type { Screen } from "../common/screen.ts";
import { sparkline } from "../common/sparkline.ts";
import { bar, padLeft, padRight } from "../common/text.ts";
import { nameOf } from "./working-set-names.ts";

const DEFAULT_SITES = 10;
/** Fewer sampled lines than this are no good sample. */
const FEW_LINES = 20;
const NAME_WIDTH = 51;
const REUSE_WIDTH = 20;
/** Caches that hold everything say nothing new: one of them is enough. */
const CACHES_BEYOND = 1;

/** Miss ratios of caches, footprints and the instructions that miss: what `--locality` recorded. */
export function printLocality(screen: Screen, locality: LocalityRecord, rows: number | undefined): void {
  const { paint } = screen;
  const { references, rate, method } = locality;
  const lines = linesOf(locality);
  const how =
    method === "exact"
      ? "exact"
      : `SHARDS, ${formatPercent(rate, 1)}: ${formatCount(locality.sampled)} references`;
  screen.print("", paint.strong("Locality"));
  screen.print(paint.faint(`${formatCount(references)} references to ${plural(lines, "line")}; ${how}`));
  if (method === "shards" && locality.cold < FEW_LINES)
    screen.print(
      paint.warning(
        `A sample of ${plural(Math.round(locality.cold), "line")} says little: --locality exact follows all of them.`,
      ),
    );
  printCurve(screen, locality);
  printFootprint(screen, locality);
  printReuse(screen, locality);
  printSites(screen, locality, rows ?? DEFAULT_SITES);
}

function printCurve(screen: Screen, locality: LocalityRecord): void {
  const { paint } = screen;
  const curve = missRatioCurve(locality);
  const sizes = curveSizes(locality);
  const ratios = sizes.map((size) => curve.at(size));
  const [first] = sizes;
  const last = sizes.at(-1) ?? first;
  screen.print(
    `misses of fully associative LRU caches, ${formatBytes(first * LINE_BYTES)} to ${formatBytes(last * LINE_BYTES)}: ${formatPercent(ratios[0], 1)} to ${formatPercent(ratios.at(-1) ?? 0, 1)}`,
    `  ${paint.bar(sparkline(ratios, screen.width - 2))}`,
  );
  let beyond = 0;
  for (const { name, bytes } of COMMON_CACHES) {
    const size = bytes / LINE_BYTES;
    if (size >= linesOf(locality) && beyond++ === CACHES_BEYOND) break;
    const ratio = curve.at(size);
    screen.print(
      `  ${padRight(name, 42)} ${padLeft(formatPercent(ratio, 1), 7)} ${paint.bar(bar(ratio, Math.max(ratios[0], ratio), 20))}`,
    );
  }
}

/** A few windows, longest last. */
function printFootprint(screen: Screen, locality: LocalityRecord): void {
  const points = footprintOf(locality);
  if (points.length === 0) return;
  screen.print(
    screen.paint.faint("footprint: lines in so many references, on average"),
    `  ${screen.paint.bar(
      sparkline(
        points.map(({ lines }) => lines),
        screen.width - 2,
      ),
    )}`,
  );
  const step = Math.max(1, Math.ceil(points.length / 4));
  const shown = points.filter((_, i) => (points.length - 1 - i) % step === 0);
  screen.print(
    `  ${shown.map(({ references, lines }) => `${formatCount(references)}: ${formatBytes(lines * LINE_BYTES)}`).join("   ")}`,
  );
}

/** Reuse distances and times by powers of two, as two lines of blocks. */
function printReuse(screen: Screen, locality: LocalityRecord): void {
  const total = locality.distances.reduce((sum, [, weight]) => sum + weight, 0);
  if (total <= 0) return;
  for (const [title, entries, unit] of [
    ["reuse distance", locality.distances, "lines"],
    ["reuse time", locality.times, "references"],
  ] as const) {
    const histogram = new ValueHistogram();
    for (const [value, weight] of entries) histogram.add(value, weight);
    const bins = binned(histogram);
    const most = bins.indexOf(Math.max(...bins));
    screen.print(
      `${padRight(title, 15)} ${screen.paint.bar(padRight(sparkline(bins, REUSE_WIDTH), Math.min(REUSE_WIDTH, bins.length)))}  ${screen.paint.faint(`0 to ${formatCount(binStart(bins.length))} ${unit}, mostly from ${formatCount(binStart(most))}`)}`,
    );
  }
}

function printSites(screen: Screen, locality: LocalityRecord, rows: number): void {
  const { sites, otherSites, sitesAtLines, rate } = locality;
  const missing = sites.filter(({ misses }) => misses > 0);
  if (missing.length === 0) return;
  const { paint } = screen;
  const total = sites.reduce((sum, { misses }) => sum + misses, otherSites.misses);
  screen.print("", paint.strong(`Most misses of a cache of ${formatBytes(sitesAtLines * LINE_BYTES)}`));
  screen.print(
    paint.faint(`  ${padLeft("misses", 8)} ${padLeft("part", 7)} ${padLeft("cold", 8)}  instruction`),
  );
  for (const site of missing.slice(0, rows)) {
    const { misses, cold } = site;
    screen.print(
      `  ${padLeft(formatCount(misses / rate), 8)} ${padLeft(formatPercent(misses, total), 7)} ${padLeft(formatCount(cold / rate), 8)}  ${nameOf(screen, site, NAME_WIDTH)}`,
    );
  }
  const omitted = Math.max(0, missing.length - rows) + (otherSites.misses > 0 ? otherSites.sites : 0);
  if (omitted > 0) screen.print(paint.faint(`  ${plural(omitted, "more instruction")}`));
}
