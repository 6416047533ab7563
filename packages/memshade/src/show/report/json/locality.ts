import {
  binned,
  binStart,
  COMMON_CACHES,
  FootprintCurve,
  LINE_BYTES,
  MissRatioCurve,
  ReuseTimeModel,
  shardsCurve,
  summarize,
  ValueHistogram,
} from "../../../explain/analyses/locality.ts";
import type { LocalityRecord } from "../../../profile/model/working-set/working-set.ts";

function histogramOf(entries: readonly (readonly [number, number])[]): ValueHistogram {
  const histogram = new ValueHistogram();
  for (const [value, weight] of entries) histogram.add(value, weight);
  return histogram;
}

/** Returns the curve of a recorded stream: exact, or with the correction of SHARDS. */
export function missRatioCurve(locality: LocalityRecord): MissRatioCurve {
  const { method, references, sampled, rate, cold } = locality;
  const distances = histogramOf(locality.distances);
  return method === "exact"
    ? new MissRatioCurve(distances, cold, references)
    : shardsCurve({ references, sampled, rate, cold, distances });
}

/** Smallest cache of a curve from samples: sampling does not resolve shorter distances. */
const SMALLEST_SAMPLED_LINES = 64;
const SMALLEST_SAMPLED_WINDOW = 1024;

/** Returns the cache sizes, in lines, at which a curve is known. */
export function curveSizes(locality: LocalityRecord): number[] {
  const most = linesOf(locality);
  const sizes: number[] = [];
  for (let power = 1; ; power *= 2)
    for (const quarter of power < 4 ? [4] : [4, 5, 6, 7]) {
      const size = (power * quarter) / 4;
      if (locality.method === "exact" || size >= SMALLEST_SAMPLED_LINES) sizes.push(size);
      if (size >= most && sizes.length > 0) return sizes;
    }
}

/** Returns the number of distinct lines of the run, estimated from a sample. */
export function linesOf({ cold, rate }: LocalityRecord): number {
  return Math.round(cold / rate);
}

/** Returns fp(T): the mean number of distinct lines in windows of T references, T in powers of two. */
export function footprintOf(locality: LocalityRecord): { references: number; lines: number }[] {
  const { references, rate, method, cold } = locality;
  const profile = reuseProfile(locality);
  const footprint = new FootprintCurve(profile);
  const model = new ReuseTimeModel(profile);
  const isBounded =
    method === "shards" && Math.abs(locality.lasts.reduce((sum, [, weight]) => sum + weight, 0) - cold) > 0.5;
  const points: { references: number; lines: number }[] = [];
  for (let window = method === "exact" ? 1 : SMALLEST_SAMPLED_WINDOW; window <= references; window *= 2) {
    // Last references of dropped lines are unknown, so the windows are derived from reuse times.
    const lines = isBounded
      ? Math.min(cold, model.expectedDistance(window) + model.survival(0))
      : footprint.at(window);
    points.push({ references: window, lines: Math.min(window, lines / rate) });
  }
  return points;
}

function reuseProfile(locality: LocalityRecord) {
  return {
    references: locality.references,
    lines: locality.cold,
    times: histogramOf(locality.times),
    distances: histogramOf(locality.distances),
    firsts: histogramOf(locality.firsts),
    lasts: histogramOf(locality.lasts),
  };
}

/** Returns curves and histograms as JSON: sizes in lines and bytes, ratios from 0 to 1. */
export function localityJson(locality: LocalityRecord) {
  const { method, rate } = locality;
  const curve = missRatioCurve(locality);
  const distances = histogramOf(locality.distances);
  const times = histogramOf(locality.times);
  const bins = (histogram: ValueHistogram) =>
    binned(histogram).map((weight, bin) => ({ from: binStart(bin), references: weight / rate }));
  const point = (size: number) => ({ lines: size, bytes: size * LINE_BYTES, missRatio: curve.at(size) });
  const model = method === "exact" ? new ReuseTimeModel(reuseProfile(locality)) : undefined;
  return {
    method: method === "exact" ? "exact" : "SHARDS",
    rate,
    references: locality.references,
    lines: linesOf(locality),
    missRatio: curveSizes(locality).map(point),
    caches: COMMON_CACHES.map(({ name, bytes }) => ({ name, ...point(bytes / LINE_BYTES) })),
    reuseDistance: { unit: "lines", ...summarize(distances), bins: bins(distances) },
    reuseTime: { unit: "references", ...summarize(times), bins: bins(times) },
    footprint: footprintOf(locality),
    ...(model === undefined
      ? {}
      : { aet: curveSizes(locality).map((size) => ({ lines: size, missRatio: model.missRatio(size) })) }),
    sites: localitySites(locality),
  };
}

/** Returns the instructions with most misses, as estimates for the whole run. */
export function localitySites(locality: LocalityRecord) {
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
