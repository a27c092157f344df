"""The addresses of all answers that come from the atlas alone. Each looks like a file: an export writes it as one.

What makes an answer is imported when it is asked for: the schema can be written where neither NumPy nor Zarr is.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

from fastapi import APIRouter, Path, Request, Response

from headatlas.web.api.payloads import AtlasCard, Example, Examples, Failure, Heads, Payload, Texts
from headatlas.web.api.payloads_clusters import Cluster, Clusters, Profiles
from headatlas.web.api.responses import BUFFER, JSON, PNG

if TYPE_CHECKING:
    from headatlas.web.views.site import View

FAILURES: dict[int | str, dict[str, Any]] = {
    "4XX": {"model": Failure, "description": "What is missing, and what to do."},
    "5XX": {"model": Failure, "description": "What went wrong, and what to do."},
}
_bytes = {"schema": {"type": "string", "format": "binary"}}
BUFFERS: dict[int | str, dict[str, Any]] = FAILURES | {
    200: {"description": "u16 values, little-endian; see Encoding.", "content": {BUFFER: _bytes}}
}
PICTURES: dict[int | str, dict[str, Any]] = FAILURES | {200: {"description": "A picture.", "content": {PNG: _bytes}}}
Route = TypeVar("Route", bound=Callable[..., Any])
Name = Annotated[str, Path(min_length=1, max_length=100)]

router = APIRouter(prefix="/api")


def send(request: Request, make: Callable[[View], Payload | bytes], media: str) -> Response:
    """An answer, made or kept."""
    answer: Response = request.app.state.answers.send(request, make, media)
    return answer


def json(path: str, shape: type[Payload]) -> Callable[[Route], Route]:
    """A route that gives JSON of a shape."""
    return router.get(path, response_model=shape, responses=FAILURES)


def buffer(path: str) -> Callable[[Route], Route]:
    """A route that gives a buffer."""
    return router.get(path, response_class=Response, responses=BUFFERS)


@json("/atlas.json", AtlasCard)
def atlas(request: Request) -> Response:
    """What is there: the first thing a page asks for."""
    from headatlas.web.views import cards

    return send(request, cards.card, JSON)


@json("/heads.json", Heads)
def heads(request: Request) -> Response:
    """All heads with their statistics."""
    from headatlas.web.views import cards

    return send(request, cards.heads, JSON)


@buffer("/heads/maps.bin")
def head_maps(request: Request) -> Response:
    """Attention (layer, head, r, r): the mean pooled map of every head."""
    from headatlas.web.views import cards

    return send(request, cards.head_maps, BUFFER)


@buffer("/projections/{name}.bin")
def projection(request: Request, name: Name) -> Response:
    """Positions of all maps."""
    from headatlas.web.views import columns

    return send(request, lambda view: columns.positions(view, name), BUFFER)


@buffer("/projections/{name}/trust.bin")
def trust(request: Request, name: Name) -> Response:
    """How far each point can be trusted: amounts from 0 to 1."""
    from headatlas.web.views import columns

    return send(request, lambda view: columns.trust(view, name), BUFFER)


@buffer("/columns/{name}.bin")
def column(request: Request, name: Name) -> Response:
    """What maps can be coloured by: a value for each map, or each example."""
    from headatlas.web.views import columns

    return send(request, lambda view: columns.column(view, name), BUFFER)


@json("/clusterings/{name}/clusters.json", Clusters)
def clusters(request: Request, name: Name) -> Response:
    """All clusters of a clustering."""
    from headatlas.web.views import clusters

    return send(request, lambda view: clusters.clusters(view, name), JSON)


@json("/clusterings/{name}/profiles.json", Profiles)
def profiles(request: Request, name: Name) -> Response:
    """The clusters of every head."""
    from headatlas.web.views import clusters

    return send(request, lambda view: clusters.profiles(view, name), JSON)


@buffer("/clusterings/{name}/means.bin")
def means(request: Request, name: Name) -> Response:
    """Attention (cluster, r, r): the mean map of each cluster."""
    from headatlas.web.views import clusters

    return send(request, lambda view: clusters.means(view, name), BUFFER)


@buffer("/clusterings/{name}/exemplars.bin")
def exemplars(request: Request, name: Name) -> Response:
    """Attention (exemplar, r, r)."""
    from headatlas.web.views import clusters

    return send(request, lambda view: clusters.exemplar_maps(view, name), BUFFER)


@json("/clusterings/{name}/clusters/{number}.json", Cluster)
def cluster(request: Request, name: Name, number: int) -> Response:
    """Where a cluster occurs, and what tells it from the others."""
    from headatlas.web.views import clusters

    return send(request, lambda view: clusters.cluster(view, name, number), JSON)


@json("/examples.json", Examples)
def examples(request: Request) -> Response:
    """All examples, column by column."""
    from headatlas.web.views import examples

    return send(request, examples.listed, JSON)


@json("/texts.json", Texts)
def texts(request: Request) -> Response:
    """The full text of every example."""
    from headatlas.web.views import examples

    return send(request, examples.texts, JSON)


@json("/examples/{number}.json", Example)
def example(request: Request, number: int) -> Response:
    """One example with its tokens."""
    from headatlas.web.views import examples

    if request.app.state.answers.site.view().live:
        request.app.state.live.prepare()
    return send(request, lambda view: examples.example(view, number), JSON)


@buffer("/examples/{number}/pooled.bin")
def pooled(request: Request, number: int) -> Response:
    """Attention (layer, head, r, r): all pooled maps of an example."""
    from headatlas.web.views import examples

    return send(request, lambda view: examples.pooled(view, number), BUFFER)


@router.get("/examples/{number}/image.png", response_class=Response, responses=PICTURES)
def picture(request: Request, number: int) -> Response:
    """The picture of an example."""
    from headatlas.web.views import examples

    return send(request, lambda view: examples.picture(view, number), PNG)


@buffer("/maps/{number}/{layer}.{head}.bin")
def pooled_map(request: Request, number: int, layer: int, head: int) -> Response:
    """Attention (r, r): one pooled map. Not in an export."""
    from headatlas.web.views import examples

    return send(request, lambda view: examples.pooled_map(view, number, layer, head), BUFFER)
