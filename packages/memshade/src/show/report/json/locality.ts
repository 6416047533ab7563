import {
  binned,
  binStart,
  COMMON_CACHES,
  FootprintCurve,
  type MissRatioCurve,
  type Summary,
  shardsCurve,
  summarize,
  ValueHistogram,
} from "../../../explain/analyses/locality.ts";
import { LINE_BYTES } from "../../../ground/bytes/sizes.ts";
import type { LocalityRecord } from "../../../profile/model/working-set/working-set.ts";

function histogramOf(entries: readonly (readonly [number, number])[]): ValueHistogram {
  const histogram = new ValueHistogram();
  for (const [value, weight] of entries) histogram.add(value, weight);
  return histogram;
}

/** Returns the curve of a sampled stream, with the correction of SHARDS. */
export function missRatioCurve(locality: LocalityRecord): MissRatioCurve {
  const { references, sampled, rate, cold } = locality;
  return shardsCurve({ references, sampled, rate, cold, distances: histogramOf(locality.distances) });
}

/** Smallest cache of a curve from samples: sampling does not resolve shorter distances. */
const SMALLEST_SAMPLED_LINES = 64;
const SMALLEST_SAMPLED_WINDOW = 1024;

/** Returns the cache sizes, in lines, at which a curve is known. */
export function curveSizes(locality: LocalityRecord): number[] {
  const most = linesOf(locality);
  const sizes: number[] = [];
  for (let power = SMALLEST_SAMPLED_LINES; ; power *= 2)
    for (const quarter of [4, 5, 6, 7]) {
      const size = (power * quarter) / 4;
      sizes.push(size);
      if (size >= most) return sizes;
    }
}

/** Returns the number of distinct lines of the run, estimated from a sample. */
export function linesOf({ cold, rate }: LocalityRecord): number {
  return Math.round(cold / rate);
}

/** Returns fp(T): the mean number of distinct lines in windows of T references, T in powers of two. */
export function footprintOf(locality: LocalityRecord): { references: number; lines: number }[] {
  const { references, rate } = locality;
  const footprint = new FootprintCurve({
    references,
    lines: locality.cold,
    times: histogramOf(locality.times),
    firsts: histogramOf(locality.firsts),
    lasts: histogramOf(locality.lasts),
  });
  const points: { references: number; lines: number }[] = [];
  for (let window = SMALLEST_SAMPLED_WINDOW; window <= references; window *= 2)
    points.push({ references: window, lines: Math.min(window, footprint.at(window) / rate) });
  return points;
}

/** Curves of locality, as estimates for the whole run. */
export interface CurvesJson {
  /** Method of sampling. */
  method: "SHARDS";
  /** Part of the lines that was sampled at the end. */
  rate: number;
  /** All references. */
  references: number;
  /** Distinct lines. */
  lines: number;
  /** Miss ratio of LRU caches of growing size. */
  missRatio: MissRatioJson[];
  /** Miss ratio of common caches. */
  caches: (MissRatioJson & { name: string })[];
  /** Distances between references to the same line, in distinct lines. */
  reuseDistance: ReuseJson;
  /** Times between references to the same line, in references. */
  reuseTime: ReuseJson;
  /** Mean number of distinct lines in windows of so many references. */
  footprint: { references: number; lines: number }[];
  /** Instructions with most misses in one cache. */
  sites: MissSitesJson;
}

interface MissRatioJson {
  /** Size of the cache. */
  lines: number;
  bytes: number;
  /** Part of the references that misses, 0…1. */
  missRatio: number;
}

/** Histogram of followed values, with their mean, median and standard deviation. */
interface ReuseJson extends Summary {
  /** Unit of the values. */
  unit: "lines" | "references";
  /** Bins: smallest value, and number of references. */
  bins: { from: number; references: number }[];
}

interface MissSitesJson {
  /** Size of the cache, and all its misses. */
  cacheBytes: number;
  misses: number;
  /** Instructions, most misses first. */
  rows: MissSiteJson[];
  /** Number of instructions left out. */
  rowsOmitted: number;
}

interface MissSiteJson {
  /** Function, and its index; null for bulk instructions. */
  function: string | null;
  functionIndex: number | null;
  /** Offset in the original code section payload. */
  offset: number | null;
  /** Source position. */
  file: string | null;
  line: number | null;
  /** References, misses, and first references to a line. */
  references: number;
  misses: number;
  cold: number;
  /** Part of all misses, 0…1. */
  part: number;
}

/** Returns curves and histograms as JSON: sizes in lines and bytes, ratios from 0 to 1. */
export function localityJson(locality: LocalityRecord): CurvesJson {
  const { rate } = locality;
  const curve = missRatioCurve(locality);
  const distances = histogramOf(locality.distances);
  const times = histogramOf(locality.times);
  const bins = (histogram: ValueHistogram) =>
    binned(histogram).map((weight, bin) => ({ from: binStart(bin), references: weight / rate }));
  const point = (size: number) => ({ lines: size, bytes: size * LINE_BYTES, missRatio: curve.at(size) });
  return {
    method: "SHARDS",
    rate,
    references: locality.references,
    lines: linesOf(locality),
    missRatio: curveSizes(locality).map(point),
    caches: COMMON_CACHES.map(({ name, bytes }) => ({ name, ...point(bytes / LINE_BYTES) })),
    reuseDistance: { unit: "lines", ...summarize(distances), bins: bins(distances) },
    reuseTime: { unit: "references", ...summarize(times), bins: bins(times) },
    footprint: footprintOf(locality),
    sites: localitySites(locality),
  };
}

/** Returns the instructions with most misses, as estimates for the whole run. */
export function localitySites(locality: LocalityRecord): MissSitesJson {
  const { rate, sites, sitesAtLines } = locality;
  const misses = sites.reduce((sum, site) => sum + site.misses, locality.otherSites.misses);
  return {
    cacheBytes: sitesAtLines * LINE_BYTES,
    misses: misses / rate,
    rows: sites.map(({ frame, file, line, ...counts }) => ({
      function: frame?.name ?? null,
      functionIndex: frame?.function ?? null,
      offset: frame?.offset ?? null,
      file: file ?? null,
      line: line ?? null,
      references: counts.references / rate,
      misses: counts.misses / rate,
      cold: counts.cold / rate,
      part: misses > 0 ? counts.misses / misses : 0,
    })),
    rowsOmitted: locality.otherSites.sites,
  };
}
