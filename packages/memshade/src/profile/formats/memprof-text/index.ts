// The YAML reader is exported only by read-yaml.ts: its parser costs memory that writers of texts do not need.

export { isMemprofYaml } from "./fast-yaml.ts";
export { rawProfileText } from "./raw-text.ts";
export { sectionText } from "./section-text.ts";
export { indexedProfileText, profileText } from "./yaml-text.ts";
