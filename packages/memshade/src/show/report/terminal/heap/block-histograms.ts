import {
  type BlockHistogram,
  coarser,
  lifetimeHistogram,
  sizeHistogram,
} from "../../../../explain/analyses/block-histograms.ts";
import {
  clockUnit,
  formatBytes,
  formatCount,
  formatLifetime,
  formatMean,
  formatPercent,
} from "../../../../profile/model/format.ts";
import type { HeapProfile } from "../../../../profile/model/heap-profile.ts";
import type { Screen } from "../common/screen.ts";
import { bar, padLeft, padRight } from "../common/text.ts";

const MOST_BINS = 8;
const LABEL_WIDTH = 23;
const COUNT_WIDTH = 10;
const PERCENT_WIDTH = 8;
const BAR_WIDTH = 14;

/** Prints histograms of block sizes and lifetimes. */
export function printBlockHistograms(screen: Screen, profile: HeapProfile): void {
  const { clock } = profile.description;
  print(screen, "How large blocks are", sizeHistogram(profile), formatBytes);
  const lifetimes = lifetimeHistogram(profile);
  if (clock.kind === "virtual")
    print(screen, `How long they live, in ${clockUnit(clock)}`, lifetimes, formatMean);
  else print(screen, "How long they live", lifetimes, (time) => formatLifetime(time, clock));
}

function print(
  screen: Screen,
  title: string,
  histogram: BlockHistogram | undefined,
  format: (value: number) => string,
): void {
  if (histogram === undefined) return;
  const { bins, isExact } = coarser(histogram, MOST_BINS);
  if (bins.length === 0) return;
  const { paint } = screen;
  const total = bins.reduce((sum, { blocks }) => sum + blocks, 0);
  const largest = Math.max(...bins.map(({ blocks }) => blocks));
  screen.print("");
  screen.printEnds(title, isExact ? "" : "blocks of one call path at their mean", paint.heading);
  screen.print(paint.faint("─".repeat(screen.width)));
  for (const { from, to, blocks, bytes } of bins) {
    const label = from === to ? format(from) : `${format(from)} to ${format(to)}`;
    screen.print(
      padLeft(label, LABEL_WIDTH) +
        paint.amount(padLeft(formatCount(blocks), COUNT_WIDTH)) +
        padLeft(formatPercent(blocks, total), PERCENT_WIDTH) +
        `  ${paint.bar(padRight(bar(blocks, largest, BAR_WIDTH), BAR_WIDTH))}  ` +
        formatBytes(bytes),
    );
  }
}
