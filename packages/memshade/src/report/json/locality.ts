import {
  binned,
  binStart,
  COMMON_CACHES,
  cacheSizesUpTo,
  FootprintCurve,
  LINE_BYTES,
  MissRatioCurve,
  ReuseTimeModel,
  shardsCurve,
  summarize,
  ValueHistogram,
} from "../../analyses/locality/index.ts";
import type { LocalityRecord } from "../../model/working-set.ts";

function histogramOf(entries: readonly (readonly [number, number])[]): ValueHistogram {
  const histogram = new ValueHistogram();
  for (const [value, weight] of entries) histogram.add(value, weight);
  return histogram;
}

/** The curve of a recorded stream: exact, or corrected as SHARDS has it. */
export function missRatioCurve(locality: LocalityRecord): MissRatioCurve {
  const { references, sampled, rate, cold } = locality;
  const distances = histogramOf(locality.distances);
  return rate === 1
    ? new MissRatioCurve(distances, cold, references)
    : shardsCurve({ references, sampled, rate, cold, distances });
}

/** Curves and histograms as JSON: sizes in lines and bytes, ratios from 0 to 1. */
export function localityJson(locality: LocalityRecord) {
  const curve = missRatioCurve(locality);
  const lines = Math.round(locality.cold / locality.rate);
  const distances = histogramOf(locality.distances);
  const times = histogramOf(locality.times);
  const bins = (histogram: ValueHistogram) =>
    binned(histogram).map((references, bin) => ({ from: binStart(bin), references }));
  return {
    method: locality.rate === 1 ? "exact" : "SHARDS",
    rate: locality.rate,
    missRatio: cacheSizesUpTo(lines).map((size) => ({
      lines: size,
      bytes: size * LINE_BYTES,
      missRatio: curve.at(size),
    })),
    caches: COMMON_CACHES.map(({ name, bytes }) => ({
      name,
      bytes,
      missRatio: curve.at(bytes / LINE_BYTES),
    })),
    reuseDistance: { ...summarize(distances), bins: bins(distances) },
    reuseTime: { ...summarize(times), bins: bins(times) },
    ...(locality.rate === 1 ? exactOnly(locality, lines) : {}),
  };
}

/** The footprint needs every line's first and last reference. */
function exactOnly(locality: LocalityRecord, lines: number) {
  const profile = {
    references: locality.references,
    lines,
    times: histogramOf(locality.times),
    distances: histogramOf(locality.distances),
    firsts: histogramOf(locality.firsts),
    lasts: histogramOf(locality.lasts),
  };
  const footprint = new FootprintCurve(profile);
  const model = new ReuseTimeModel(profile);
  const windows = cacheSizesUpTo(locality.references, 1).filter((size) => size < locality.references);
  return {
    footprint: windows.map((window) => ({ references: window, lines: footprint.at(window) })),
    aet: cacheSizesUpTo(lines, 1).map((size) => ({ lines: size, missRatio: model.missRatio(size) })),
  };
}
