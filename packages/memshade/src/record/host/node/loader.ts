// `memshade/loader` in Node: as in web pages, and the callers in JavaScript stand where they were written.
import "./node-scripts.ts";

export * from "../loader.ts";
