// Names that a person gave to patterns and heads. Responses get them as they arrive, so that every part of the page
// shows them; the automatic name stays beside them in `automatic`.
import type { components } from "../generated/schema";
import { cutAt, numberOf } from "./levels";

type Schemas = components["schemas"];
export type Notes = Schemas["Notes"];
/** `automatic` is the automatic name of a pattern that a person renamed. */
export type ClusterRow = Schemas["ClusterRow"] & { automatic?: string };
export type Clusters = Omit<Schemas["Clusters"], "clusters"> & { clusters: ClusterRow[] };
export type NodeRow = Schemas["NodeRow"] & { automatic?: string };
export type Tree = Omit<Schemas["Tree"], "nodes"> & { nodes: NodeRow[] };
export type Profiles = Schemas["Profiles"];

const EMPTY: Notes = { editable: false, problem: "", revision: 0, patterns: [], heads: [], selections: [] };

class Names {
  notes = $state.raw<Notes>(EMPTY);

  /** What was written about a pattern of the current clustering of this name. */
  pattern(clustering: string, number: number) {
    return this.notes.patterns.find(
      (entry) => entry.current && entry.clustering === clustering && entry.pattern === number,
    );
  }
  head({ layer, head }: { layer: number; head: number }) {
    return this.notes.heads.find((entry) => entry.layer === layer && entry.head === head);
  }
}

export const names = new Names();

/** A sentence names a pattern in quotation marks. */
const renamed = (sentence: string, largest: { name: string; automatic?: string } | undefined) =>
  largest?.automatic ? sentence.replace(`“${largest.automatic}”`, `“${largest.name}”`) : sentence;

const largestOf = <Row extends { maps: number }>(rows: Row[]) =>
  rows.reduce<Row | undefined>((best, row) => (best && best.maps >= row.maps ? best : row), undefined);

function withName<Row extends { name: string }>(row: Row, clustering: string, number: number) {
  const name = names.pattern(clustering, number)?.name;
  return name ? { ...row, name, automatic: row.name } : row;
}

export function namedClusters(clusters: Schemas["Clusters"]): Clusters {
  const rows: ClusterRow[] = clusters.clusters.map((row) => withName(row, clusters.clustering, row.cluster));
  const largest = largestOf(rows.filter((row) => row.cluster >= 0));
  return { ...clusters, clusters: rows, sentence: renamed(clusters.sentence, largest) };
}

export function namedTree(tree: Schemas["Tree"]): Tree {
  const nodes: NodeRow[] = tree.nodes.map((node) => withName(node, tree.clustering, numberOf(node)));
  const named = { ...tree, nodes };
  const sentences = tree.sentences.map((sentence, at) => renamed(sentence, largestOf(cutAt(named, at + 1))));
  return { ...named, sentences };
}

export function namedProfiles(profiles: Profiles, clustering: string): Profiles {
  const heads = profiles.heads.map((profile) => {
    const name = profile.main_cluster === null ? "" : names.pattern(clustering, profile.main_cluster)?.name;
    return name ? { ...profile, name } : profile;
  });
  return { ...profiles, heads };
}

export function namedFindings(findings: Schemas["Findings"]): Schemas["Findings"] {
  const columns = findings.columns.map((column) => ({
    ...column,
    switches: column.switches.map((entry) => ({
      ...entry,
      pattern: names.pattern(findings.clustering, entry.cluster)?.name || entry.pattern,
    })),
  }));
  return { ...findings, columns };
}
