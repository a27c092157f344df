"""Every address of the API, declared once.

The server's routes, the files of an export, the OpenAPI schema and the page's generated `paths.ts` are all derived from
this table. Each address looks like a file, so that an export can write its response as one.

>>> ENDPOINTS.means.path(clustering="kmeans")
'api/clusterings/kmeans/means.bin'
>>> ENDPOINTS.full_map.path(example=3, layer=0, head=7), ENDPOINTS.full_map.path(key="0a", layer=0, head=7)
('api/examples/3/full/0.7.bin', 'api/try/0a/full/0.7.bin')

Needs FastAPI and pydantic only: the functions that make the responses are imported when they are called.
"""

from __future__ import annotations

from collections.abc import Iterator

from headatlas.web.api.endpoint import JSON, OPENAPI, PARAMETERS, PNG, PREFIX, TEXT, Endpoint, expand, parameters
from headatlas.web.api.payloads.atlas import AtlasCard, Heads
from headatlas.web.api.payloads.averages import Average
from headatlas.web.api.payloads.changes import Changes
from headatlas.web.api.payloads.clusters import Cluster, Clusters, Profiles
from headatlas.web.api.payloads.compare import ComparedHead, Comparison, Comparisons, ComparisonStep, KeptExamples
from headatlas.web.api.payloads.examples import (
    Computed,
    CustomText,
    Example,
    Examples,
    TextPatterns,
    Texts,
    TextStatistics,
)
from headatlas.web.api.payloads.findings import Findings
from headatlas.web.api.payloads.neighbors import Neighbors
from headatlas.web.api.payloads.notes import Notes, NotesChange
from headatlas.web.api.payloads.probe import (
    Distances,
    FoundHeads,
    HeadProbe,
    Measures,
    Probe,
    Relations,
    Roles,
    SearchKey,
    SearchRequest,
    TableRows,
)
from headatlas.web.api.payloads.qk import EmbeddedTokens, Embedding, Honesty, NearPoints
from headatlas.web.api.payloads.trees import Tree
from headatlas.web.api.payloads.tsne import Progress, Tsne
from headatlas.web.api.payloads.unlike import Unlike

__all__ = ["ENDPOINTS", "JSON", "OPENAPI", "PARAMETERS", "PNG", "PREFIX", "TEXT", "Endpoint", "expand", "parameters"]


class Endpoints:
    """The table. Where two templates match an address, the first is taken."""

    atlas = Endpoint(
        "atlas.json", "views.cards:card", "Everything the atlas holds: the first thing a page asks for.", AtlasCard,
        over="atlas",
    )  # fmt: skip
    heads = Endpoint("heads.json", "views.cards:heads", "All heads with their statistics.", Heads, over="atlas")
    head_maps = Endpoint(
        "heads/maps.bin", "views.cards:head_maps", "Attention (layer, head, r, r): the mean pooled map of every head.",
        over="atlas",
    )  # fmt: skip
    average = Endpoint(
        "heads/{layer}.{head}/average.json", "views.averages:average",
        "Mean attention of a head by distance and by position, with intervals over texts.", Average, over="heads",
    )  # fmt: skip
    positions = Endpoint(
        "projections/{projection}.bin", "views.projections:positions", "Positions of all maps.", over="projections"
    )
    trust = Endpoint(
        "projections/{projection}/trust.bin", "views.projections:trust",
        "How reliable the position of each map is: amounts from 0 to 1.", over="projections",
    )  # fmt: skip
    neighbors = Endpoint(
        "projections/{projection}/neighbors/{example}/{layer}.{head}.json", "views.neighbors:neighbors",
        "The maps nearest to a map by the vectors that were projected.", Neighbors,
    )  # fmt: skip
    column = Endpoint(
        "columns/{column}.bin", "views.columns:column", "What maps can be colored by: a value per map, or per example.",
        over="columns",
    )  # fmt: skip
    clusters = Endpoint(
        "clusterings/{clustering}/clusters.json", "views.clusters:clusters", "All clusters of a clustering.", Clusters,
        over="clusterings",
    )  # fmt: skip
    profiles = Endpoint(
        "clusterings/{clustering}/profiles.json", "views.clusters:profiles", "The clusters of every head.", Profiles,
        over="correlated clusterings",
    )  # fmt: skip
    means = Endpoint(
        "clusterings/{clustering}/means.bin", "views.clusters:means",
        "Attention (cluster, r, r): the mean map of each cluster.", over="clusterings",
    )  # fmt: skip
    exemplars = Endpoint(
        "clusterings/{clustering}/exemplars.bin", "views.clusters:exemplar_maps",
        "Attention (exemplar, r, r): maps that are typical or atypical of a cluster.",
        over="clusterings with exemplars",
    )  # fmt: skip
    cluster = Endpoint(
        "clusterings/{clustering}/clusters/{cluster}.json", "views.clusters:cluster",
        "Where the maps of a cluster come from, and how they differ from the others.", Cluster, over="clusters",
    )  # fmt: skip
    tree = Endpoint(
        "clusterings/{clustering}/tree.json", "views.trees:tree",
        "The tree of a clustering: all nodes that are patterns at some level.", Tree, over="trees",
    )  # fmt: skip
    tree_means = Endpoint(
        "clusterings/{clustering}/tree.bin", "views.trees:means",
        "Attention (node, r, r): the mean map of each node of a tree.", over="trees",
    )  # fmt: skip
    changes = Endpoint(
        "clusterings/{clustering}/changes/{layer}.{head}.json", "views.changes:changes",
        "With which columns a head changes, and in what.", Changes, over="heads of correlated clusterings",
    )  # fmt: skip
    findings = Endpoint(
        "clusterings/{clustering}/findings.json", "views.findings:findings",
        "What the input changes: heads that switch to another pattern or change, with which column.", Findings,
        over="correlated clusterings",
    )  # fmt: skip
    unlike = Endpoint(
        "clusterings/{clustering}/unlike/{example}.json", "views.unlike:unlike",
        "The heads that treat an example unlike others, and in what.", Unlike,
        over="examples of clusterings that know unlike maps",
    )  # fmt: skip
    examples = Endpoint(
        "examples.json", "views.examples:listed", "All examples, column by column.", Examples, over="atlas"
    )
    computed = Endpoint(
        "computed.json", "views.examples:computed",
        "Columns computed from the texts, and which examples have one source.", Computed, over="atlas",
    )  # fmt: skip
    texts = Endpoint("texts.json", "views.examples:texts", "The full text of every example.", Texts, over="atlas")
    example = Endpoint(
        "examples/{example}.json", "views.examples:example", "An example with its tokens.", Example, over="examples",
        warms_model=True,
    )  # fmt: skip
    pooled = Endpoint(
        "examples/{example}/pooled.bin", "views.examples:pooled",
        "Attention (layer, head, r, r): all pooled maps of an example.", over="examples with pooled maps",
    )  # fmt: skip
    layer_vectors = Endpoint(
        "examples/{example}/vectors/{layer}.bin", "views.example_vectors:layer_vectors",
        "Halves: queries (query, head, feature), keys (key, key head, feature), norms of values (key, key head).",
        over="examples with queries and keys",
    )  # fmt: skip
    image = Endpoint(
        "examples/{example}/image.png", "views.examples:image", "The image of an example.", over="examples with images"
    )
    thumbnail = Endpoint(
        "examples/{example}/thumbnail.png", "views.examples:thumbnail", "The image of an example, small.",
        over="examples with images",
    )  # fmt: skip
    notes = Endpoint(
        "notes.json", "views.notes:notes", "Names and notes that a person wrote, and saved selections.", Notes,
        over="atlas", cached=False,
    )  # fmt: skip
    change_notes = Endpoint(
        "notes/change.json", "views.notes:change",
        "Change one entry of the notes; only with `headatlas serve --edit`.", Notes, body=NotesChange, cached=False,
        edits=True,
    )  # fmt: skip
    pooled_map = Endpoint(
        "maps/{example}/{layer}.{head}.bin", "views.examples:pooled_map", "Attention (r, r): one pooled map."
    )
    custom_text = Endpoint(
        "try.json", "compute.custom_text:read", "A custom text as the model reads it.", Example, body=CustomText,
        cached=False, compressed=False,
    )  # fmt: skip
    full_map = Endpoint(
        "{text}/full/{layer}.{head}.bin", "compute.full_maps:full_map",
        "Attention (query, key): the full map of a head.", compressed=False,
    )  # fmt: skip
    layer_maps = Endpoint(
        "{text}/layers/{layer}.bin", "compute.full_maps:layer_maps",
        "Attention (head, query, key): the full maps of all heads of a layer.", over="full maps", compressed=False,
    )  # fmt: skip
    custom_pooled = Endpoint(
        "try/{key}/pooled.bin", "compute.custom_maps:pooled",
        "Attention (layer, head, r, r): all pooled maps of a custom text.",
    )  # fmt: skip
    custom_patterns = Endpoint(
        "try/{key}/patterns/{clustering}.json", "compute.custom_patterns:patterns",
        "The pattern of every head on a custom text.", TextPatterns,
    )  # fmt: skip
    custom_statistics = Endpoint(
        "try/{key}/statistics.json", "compute.custom_patterns:statistics",
        "The statistics of every head on a custom text.", TextStatistics,
    )  # fmt: skip
    tsne = Endpoint(
        "{text}/{variant}.json", "compute.tsne:layouts", "The layouts of a text for every head.", Tsne, over="t-SNE"
    )
    tsne_progress = Endpoint(
        "{text}/{variant}/progress.json", "compute.tsne:progress", "How many layouts are finished; starts nothing.",
        Progress, cached=False,
    )  # fmt: skip
    tsne_maximum = Endpoint(
        "{text}/{variant}/maximum/{layer}.bin", "compute.tsne:maximum",
        "Maximum attention of a layer (head, key), then the query it comes from (code, head, key).",
        over="t-SNE by layer",
    )  # fmt: skip
    tsne_positions = Endpoint(
        "{text}/{variant}/{layouts}.bin", "compute.tsne:positions",
        "Positions in all layouts of a text, of heads or of hidden states.", over="t-SNE positions",
    )  # fmt: skip
    qk = Endpoint(
        "qk/{embedding}.json", "views.qk:embedding", "Queries and keys in one space: heads with their trust, columns.",
        Embedding, over="embeddings",
    )  # fmt: skip
    qk_tokens = Endpoint(
        "qk/{embedding}/tokens.json", "views.qk:tokens", "The tokens whose queries and keys are drawn.", EmbeddedTokens,
        over="embeddings",
    )  # fmt: skip
    qk_column = Endpoint(
        "qk/{embedding}/columns/{column}.bin", "views.qk:column", "What points can be colored by: a value per token.",
        over="columns of embeddings",
    )  # fmt: skip
    qk_sample = Endpoint(
        "qk/{embedding}/positions.bin", "views.qk_points:sampled_positions",
        "Positions (layer, head, point, axis) of a sample of the points of every head.", over="embeddings",
    )  # fmt: skip
    qk_positions = Endpoint(
        "qk/{embedding}/positions/{layer}.bin", "views.qk_points:positions",
        "Positions (head, point, axis) of all points of a layer; each head has a scale of its own.",
        over="layers of embeddings",
    )  # fmt: skip
    qk_keys = Endpoint(
        "qk/{embedding}/keys/{layer}.{head}.bin", "views.qk_vectors:strongest_keys",
        "The strongest keys (query, rank) of each query in its example, counted from its first token; then attention.",
        over="heads of embeddings",
    )  # fmt: skip
    qk_sampled_amounts = Endpoint(
        "qk/{embedding}/{measure}.bin", "views.qk_points:sampled_amounts",
        "Norms, trust or kept neighbors (layer, head, point) of a sample of the points of every head.",
        over="measures of embeddings",
    )  # fmt: skip
    qk_amounts = Endpoint(
        "qk/{embedding}/{measure}/{layer}.bin", "views.qk_points:amounts",
        "Norms, trust or kept neighbors (head, point) of all points of a layer.",
        over="measures of layers of embeddings",
    )  # fmt: skip
    qk_honesty = Endpoint(
        "qk/{embedding}/honesty/{layer}.{head}.json", "views.qk_vectors:honesty",
        "How far distances mirror products in a head, and what its points are grouped by.", Honesty,
        over="heads of embeddings",
    )  # fmt: skip
    qk_neighbors = Endpoint(
        "qk/{embedding}/neighbors/{layer}.{head}/{point}.json", "views.qk_vectors:neighbors",
        "The points nearest to a point by their vectors.", NearPoints,
    )  # fmt: skip

    probe = Endpoint(
        "probe.json", "views.probe:probe", "What heads look at and write: all analyses with their findings.", Probe,
        over="atlas",
    )  # fmt: skip
    probe_head = Endpoint(
        "heads/{layer}.{head}/probe.json", "views.probe:head", "What each analysis says about a head.", HeadProbe,
        over="heads",
    )  # fmt: skip
    probe_measures = Endpoint(
        "probe/measures/{table}.json", "views.probe:measures", "The measures of an analysis, for every head.", Measures,
        over="measures of heads",
    )  # fmt: skip
    probe_roles = Endpoint(
        "probe/roles/{table}.json", "views.probe_roles:roles", "Roles of heads: numbers of every head, by role.", Roles,
        over="roles of heads",
    )  # fmt: skip
    probe_rows = Endpoint(
        "probe/tables/{table}.json", "views.probe:rows", "The first rows of a table of an analysis.", TableRows,
        over="rows of heads",
    )  # fmt: skip
    probe_relations = Endpoint(
        "probe/relations.json", "views.probe:relations",
        "Relations of a treebank with their best heads, and words where these are right and wrong.", Relations,
        over="relations",
    )  # fmt: skip
    probe_distances = Endpoint(
        "probe/distances.json", "views.probe:distances", "Distances of heads: as points, and for all pairs.", Distances,
        over="distances of heads",
    )  # fmt: skip
    search = Endpoint(
        "probe/search.json", "compute.search:ask", "Remember a search over heads; gives its key.", SearchKey,
        body=SearchRequest, cached=False, compressed=False,
    )  # fmt: skip
    search_results = Endpoint(
        "probe/search/{key}.json", "compute.search:results",
        "Heads by their attention between the tokens of a search.", FoundHeads, cached=False,
    )  # fmt: skip
    search_progress = Endpoint(
        "probe/search/{key}/progress.json", "compute.search:progress",
        "How many examples of a search are done; starts nothing.", Progress, cached=False,
    )  # fmt: skip

    compare = Endpoint(
        "compare.json", "views.compare:comparisons", "All comparisons with other models.", Comparisons, over="atlas"
    )
    comparison = Endpoint(
        "compare/{comparison}.json", "views.compare:comparison", "What holds for all steps of a comparison.",
        Comparison, over="comparisons",
    )  # fmt: skip
    compare_examples = Endpoint(
        "compare/{comparison}/examples.json", "views.compare:examples", "The examples whose maps are kept.",
        KeptExamples, over="comparisons",
    )  # fmt: skip
    compare_step = Endpoint(
        "compare/{comparison}/steps/{step}.json", "views.compare:step",
        "What changed from the first model to a step: findings, layers, heads, patterns.", ComparisonStep,
        over="steps of comparisons",
    )  # fmt: skip
    compare_head = Endpoint(
        "compare/{comparison}/heads/{layer}.{head}.json", "views.compare:head",
        "The statistics of a head before and after, at every step.", ComparedHead, over="heads of comparisons",
    )  # fmt: skip
    compare_means = Endpoint(
        "compare/{comparison}/means/{model}.bin", "views.compare_maps:means",
        "Attention (layer, head, r, r): the mean pooled map of every head of a compared model.",
        over="models of comparisons",
    )  # fmt: skip
    compare_maps = Endpoint(
        "compare/{comparison}/maps/{place}/{layer}.bin", "views.compare_maps:maps",
        "Attention (model, head, r, r): pooled maps of a layer on a kept example, of the first model and every step.",
        over="kept maps of comparisons",
    )  # fmt: skip

    def __iter__(self) -> Iterator[Endpoint]:
        return (endpoint for endpoint in vars(Endpoints).values() if isinstance(endpoint, Endpoint))


ENDPOINTS = Endpoints()
