"""Checks a JSON value against Python's type hints, as vendors' packages describe the bodies of their requests.

A field that a TypedDict does not name is a deviation. Where none of several types fits, the problems are those of the
nearest one: first by the literals that tell types apart, then by number.
"""

import collections.abc
import types
import typing

import typing_extensions

LITERALS = (typing.Literal, typing_extensions.Literal)
WRAPPERS = ("Annotated", "Required", "NotRequired", "ReadOnly")
SEQUENCES = (list, tuple, collections.abc.Iterable, collections.abc.Sequence)
MAPPINGS = (dict, collections.abc.Mapping)


def deviations(hint, value):
    """Every deviation of `value` from `hint`, as `path text`; empty = there is none."""
    return [f"{path or '/'} {text}" for path, text, _ in problems(hint, value, "")]


def problems(hint, value, path):
    """Triples of path, text, and whether the field only tells types apart."""
    hint = unwrapped(hint)
    origin = typing.get_origin(hint)
    if hint in (typing.Any, object) or isinstance(hint, typing.TypeVar):
        return []
    if origin in LITERALS:
        values = typing.get_args(hint)
        return [] if value in values else [(path, f"{value!r:.60} is none of {values!r:.80}", True)]
    if origin in (typing.Union, types.UnionType):
        return nearest(typing.get_args(hint), value, path)
    if typing_extensions.is_typeddict(hint):
        return field_problems(hint, value, path)
    if origin in SEQUENCES or hint in SEQUENCES:
        return item_problems(hint, value, path)
    if origin in MAPPINGS or hint in MAPPINGS:
        return mapping_problems(hint, value, path)
    return plain_problems(hint, value, path)


def unwrapped(hint):
    while True:
        if isinstance(hint, typing_extensions.TypeAliasType):
            hint = hint.__value__
        elif getattr(typing.get_origin(hint), "_name", None) in WRAPPERS or hasattr(hint, "__metadata__"):
            hint = typing.get_args(hint)[0]
        else:
            return hint


def plain_problems(hint, value, path):
    if hint in (None, type(None)):
        return [] if value is None else [(path, "must be null", False)]
    if hint is float:
        fits = isinstance(value, (int, float)) and not isinstance(value, bool)
    elif hint is int:
        fits = isinstance(value, int) and not isinstance(value, bool)
    elif isinstance(hint, type):
        fits = isinstance(value, hint)
    else:
        raise TypeError(f"{path}: a hint that is not understood: {hint!r}")
    return [] if fits else [(path, f"must be {hint.__name__}, is {type(value).__name__}", False)]


def field_problems(hint, value, path):
    if not isinstance(value, dict):
        return [(path, f"must be an object, is {type(value).__name__}", False)]
    hints = typing_extensions.get_type_hints(hint, include_extras=True)
    found = [
        (f"{path}/{name}", "is missing", typing.get_origin(unwrapped(hints[name])) in LITERALS)
        for name in hint.__required_keys__
        if name not in value
    ]
    for name, one in value.items():
        place = f"{path}/{name}"
        found += problems(hints[name], one, place) if name in hints else [(place, "is not known", False)]
    return found


def item_problems(hint, value, path):
    if not isinstance(value, list):
        return [(path, f"must be a list, is {type(value).__name__}", False)]
    items = typing.get_args(hint)
    return [one for at, item in enumerate(value) for one in problems(items[0], item, f"{path}/{at}")] if items else []


def mapping_problems(hint, value, path):
    if not isinstance(value, dict):
        return [(path, f"must be an object, is {type(value).__name__}", False)]
    _, rest = typing.get_args(hint) or (str, object)
    return [found for name, one in value.items() for found in problems(rest, one, f"{path}/{name}")]


def nearest(hints, value, path):
    best, best_distance = [], float("inf")
    for hint in hints:
        found = problems(hint, value, path)
        if not found:
            return []
        distance = sum(distance_of(problem, path) for problem in found)
        if distance < best_distance:
            best, best_distance = found, distance
    return best


def distance_of(problem, path):
    place, _, is_tag = problem
    below = place.count("/") - path.count("/")
    return 10_000 if below == 0 else 1000 if below == 1 and is_tag else 1
