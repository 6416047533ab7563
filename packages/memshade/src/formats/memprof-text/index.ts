export { type RawTextHead, rawProfileText } from "./raw-text.ts";
export { isMemprofYaml, readMemprofYaml } from "./read-yaml.ts";
export { indexedProfileText } from "./yaml-text.ts";
