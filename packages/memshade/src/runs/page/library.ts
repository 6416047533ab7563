import type { ReportPageOptions } from "./run-page.ts";

export type { ReportPageOptions };

/**
 * Writes the report page of a run, one HTML file that needs no network, as `memshade report --html` does.
 *
 * @param input folder of a run, as `writeRunFolder` writes it, or a MemProf file
 * @returns the path of the page
 * @throws UserError in one line if there is no run, or the page cannot be written
 */
export async function writeReportPage(input: string, options: ReportPageOptions = {}): Promise<string> {
  // Loaded on demand, because profiling does not need the report.
  const page = await import("./run-page.ts");
  return page.writeReportPage(input, options);
}
