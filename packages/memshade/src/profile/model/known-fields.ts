import type { HeapProfile, SiteField } from "./heap-profile.ts";
import type { Mib } from "./mib.ts";

/** Whether a profile recorded a field of its blocks: where it did not, the column is 0 and means nothing. */
export function knowsField({ description }: HeapProfile, field: keyof Mib): boolean {
  return description.unknownFields?.includes(field) !== true;
}

/** A column beside the blocks; undefined where the profile did not record it. */
export function siteColumn(
  { contexts, description }: HeapProfile,
  field: SiteField,
): Float64Array | undefined {
  return description.unknownSiteFields?.includes(field) === true ? undefined : contexts.site?.[field];
}

/** Whether a profile is of a native program, with objects of a system in the place of WebAssembly modules. */
export function isOfNativeProgram({ modules }: Pick<HeapProfile, "modules">): boolean {
  return modules.some(({ objectAddress }) => objectAddress !== undefined);
}
