import { firstRowOf } from "../../../../explain/measures/waste.ts";
import { formatLeastPercent, formatPercent } from "../../../../profile/model/format.ts";
import type { WasteFile, WasteValue } from "../../../../profile/model/waste/waste.ts";

/** Part of a site's redundant loads below which a value is not worth telling. */
const LEAST_VALUE = 0.01;

/** What the redundant loads of some rows found: `98.3 % find 0`; empty where the run did not look. */
export function loadedValues(file: WasteFile, rows: readonly number[]): string[] {
  const first = firstRowOf(file, "loads");
  const loads = rows.flatMap((row) => file.loads[row - first] ?? []);
  const redundant = loads.reduce((sum, { nof_silent, nof_redundant = nof_silent }) => sum + nof_redundant, 0);
  const byValue = new Map<string, WasteValue>();
  for (const { values = [] } of loads)
    for (const { value, loads: count, exact } of values) {
      const known = byValue.get(value);
      byValue.set(value, {
        value,
        loads: count + (known?.loads ?? 0),
        exact: exact && known?.exact !== false,
      });
    }
  const found = [...byValue.values()]
    .filter((one) => one.loads >= LEAST_VALUE * redundant)
    .sort((a, b) => b.loads - a.loads)
    .flatMap((one) => {
      const part = (one.exact ? formatPercent : formatLeastPercent)(one.loads, redundant);
      return part === undefined ? [] : [`${part} find ${one.value}`];
    });
  const known = loads.filter(({ bytes_zero }) => bytes_zero !== undefined);
  const zero = known.reduce((sum, { bytes_zero = 0 }) => sum + bytes_zero, 0);
  const loaded = known.reduce((sum, { bytes_loaded }) => sum + bytes_loaded, 0);
  if (zero > 0) found.push(`${formatPercent(Math.round((1000 * zero) / loaded), 1000)} of the bytes are 0`);
  return found;
}
