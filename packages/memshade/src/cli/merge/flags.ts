import type { ContainerVersion, MemprofVersion } from "../../profile/formats/memprof-indexed/index.ts";
import type { HotColdFlags } from "../hot-cold-options.ts";

export type Format = "indexed" | "yaml" | "memshade";
export const FORMATS: readonly Format[] = ["indexed", "yaml", "memshade"];
export const CONTAINERS = ["8", "9", "10", "11", "12", "13"] as const;

export interface MergeFlags extends HotColdFlags {
  output: string;
  binary: string[];
  search: string[];
  format?: Format;
  memprofVersion: MemprofVersion;
  container: ContainerVersion;
  fullSchema?: boolean;
  combine?: boolean;
  skipBad?: boolean;
  force?: boolean;
  threads?: number;
  classify?: boolean;
}
