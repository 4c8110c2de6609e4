"""Places on the globe: how far they are from each other, and where to put one that nobody has located."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from math import asin, atan2, cos, degrees, hypot, radians, sin, sqrt

Coordinates = tuple[float, float]
"""Latitude and longitude in degrees, north and east."""

RADIUS = 6371.0088
"""Mean radius of the Earth in kilometres (IUGG)."""


def kilometres(here: Coordinates, there: Coordinates) -> float:
    """The length of the great circle between two places, by the haversine formula.

    >>> round(kilometres((0.0, 0.0), (0.0, 90.0)))
    10008
    """
    (lat, lon), (lat_there, lon_there) = (map(radians, place) for place in (here, there))
    half = sin((lat_there - lat) / 2) ** 2 + cos(lat) * cos(lat_there) * sin((lon_there - lon) / 2) ** 2
    return 2 * RADIUS * asin(min(1.0, sqrt(half)))


def placed(known: Mapping[int, Coordinates], neighbours: Mapping[int, Collection[int]]) -> dict[int, Coordinates]:
    """A place for everybody: who has none stands amid those of its neighbours that have one, those first who touch one.

    Maps have such nodes for links with more than two ends and for what they do not want to show.
    """
    found = dict(known)
    while True:
        new = {
            node: _amid([found[peer] for peer in sorted(peers) if peer in found])
            for node, peers in neighbours.items()
            if node not in found and any(peer in found for peer in peers)
        }
        if not new:
            return found
        found |= new


def _amid(places: list[Coordinates]) -> Coordinates:
    """The middle: the mean direction from the centre of the Earth."""
    angles = [(radians(lat), radians(lon)) for lat, lon in places]
    x = sum(cos(lat) * cos(lon) for lat, lon in angles)
    y = sum(cos(lat) * sin(lon) for lat, lon in angles)
    z = sum(sin(lat) for lat, _ in angles)
    return degrees(atan2(z, hypot(x, y))), degrees(atan2(y, x))
