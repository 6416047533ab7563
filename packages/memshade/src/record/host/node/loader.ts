// `memshade/loader` in Node: as in web pages, but callers in JavaScript are resolved to their sources.
import "./node-scripts.ts";

export * from "../loader.ts";
