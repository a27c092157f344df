// Every sentence and number of the page, made from typed values. Nothing reads a sentence back.
export * from "./clusters";
export * from "./examples";
export * from "./facts";
export * from "./heads";
export * from "./maps";
export * from "./numbers";
