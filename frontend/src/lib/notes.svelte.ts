// Reading and writing what a person notes. One entry is written at a time; an entry that was changed in another window
// meanwhile is not overwritten.
import type { components } from "../generated/schema";
import { ApiError, changeNotes, fetchNotes } from "./api";
import { names, type Notes } from "./names.svelte";
import type { HeadRef } from "./selection.svelte";

type Schemas = components["schemas"];
export type Entry =
  { pattern: Schemas["PatternNote"] } | { head: Schemas["HeadNote"] } | { selection: Schemas["SavedSelection"] };

export async function loadNotes(): Promise<void> {
  try {
    names.notes = await fetchNotes();
  } catch (error) {
    // the page works without notes, such as an export of an earlier version
    if (!(error instanceof ApiError && error.status === 404)) console.warn(error);
  }
}

/** The stored entry that an entry would replace, as text. */
function stored(notes: Notes, entry: Entry): string {
  if ("head" in entry) {
    const { layer, head } = entry.head;
    return textOf(notes.heads.find((other) => other.layer === layer && other.head === head));
  }
  if ("selection" in entry) return textOf(notes.selections.find(({ name }) => name === entry.selection.name));
  const { clustering, key, pattern } = entry.pattern;
  return textOf(
    notes.patterns.find((other) => other.clustering === clustering && other.key === key && other.pattern === pattern),
  );
}
const textOf = (entry: { name: string; note: string } | undefined) =>
  entry ? JSON.stringify([entry.name, entry.note]) : "";

/** Write an entry. An error says what went wrong; after a conflict, saving again replaces what the other window wrote. */
export async function saveEntry(entry: Entry): Promise<void> {
  const before = stored(names.notes, entry);
  try {
    names.notes = await changeNotes({ revision: names.notes.revision, ...entry });
  } catch (error) {
    if (!(error instanceof ApiError) || error.status !== 409) throw error;
    names.notes = await fetchNotes();
    if (stored(names.notes, entry) !== before)
      throw new ApiError(409, "Changed in another window meanwhile. Save again to replace that.");
    names.notes = await changeNotes({ revision: names.notes.revision, ...entry });
  }
}

/** A pattern of a clustering, which its name and the key of its recipe identify. */
export interface PatternSubject {
  clustering: string;
  key: string;
  pattern: number;
}

/** Change the name or the note of a pattern. */
export function savePattern(subject: PatternSubject, change: { name?: string; note?: string }): Promise<void> {
  const { name = "", note = "" } = names.pattern(subject.clustering, subject.pattern) ?? {};
  return saveEntry({ pattern: { ...subject, name, note, ...change } });
}

/** Change the name or the note of a head. */
export function saveHead({ layer, head }: HeadRef, change: { name?: string; note?: string }): Promise<void> {
  const { name = "", note = "" } = names.head({ layer, head }) ?? {};
  return saveEntry({ head: { layer, head, name, note, ...change } });
}
