// Every sentence and number of the page, made from typed values. Sentences are never parsed.
export * from "./changes";
export * from "./clusters";
export * from "./compare";
export * from "./examples";
export * from "./facts";
export * from "./findings";
export * from "./heads";
export * from "./maps";
export * from "./nulls";
export * from "./numbers";
export * from "./pairs";
export * from "./parts";
export * from "./patterns";
export * from "./qk";
export * from "./state";
