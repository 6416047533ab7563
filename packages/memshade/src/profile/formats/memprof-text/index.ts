// The reader of YAML is in read-yaml.ts alone: its parser takes memory that few who write texts want to spend.

export { isMemprofYaml } from "./is-yaml.ts";
export { rawProfileText } from "./raw-text.ts";
export { sectionText } from "./section-text.ts";
export { indexedProfileText, profileText } from "./yaml-text.ts";
