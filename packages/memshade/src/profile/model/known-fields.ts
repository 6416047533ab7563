import type { HeapProfile, SiteField } from "./heap-profile.ts";
import type { Mib } from "./mib.ts";

/** Returns true if a profile recorded a block field. If it did not, the column is 0 and has no meaning. */
export function knowsField({ description }: HeapProfile, field: keyof Mib): boolean {
  return description.unknownFields?.includes(field) !== true;
}

/** Returns a column of site figures; undefined if the profile did not record it. */
export function siteColumn(
  { contexts, description }: HeapProfile,
  field: SiteField,
): Float64Array | undefined {
  return description.unknownSiteFields?.includes(field) === true ? undefined : contexts.site?.[field];
}

/** Returns true if a profile is of a native program, with system objects instead of WebAssembly modules. */
export function isOfNativeProgram({ modules }: Pick<HeapProfile, "modules">): boolean {
  return modules.some(({ objectAddress }) => objectAddress !== undefined);
}
