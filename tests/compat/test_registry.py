"""``mx.registry``: classes by name below a base of the program's own."""

import json

import pytest

import sparsekit as mx
from sparsekit import registry
from sparsekit.base.registry import registries
from tests.calls import refused


@pytest.fixture
def base():
    class Vectors:
        def __init__(self, size=1):
            self.size = size

    yield Vectors
    registries.pop(Vectors, None)


def test_a_class_is_made_by_its_name_its_alias_a_dict_and_json(base):
    @registry.get_register_func(base, "vectors")
    class Glove(base):
        pass

    registry.get_alias_func(base, "vectors")("words", "w")(Glove)
    create = registry.get_create_func(base, "vectors")
    for given in (("glove",), ("Words",), ({"vectors": "w"},), (json.dumps(["glove", {"size": 1}]),)):
        assert type(create(*given)) is Glove
    assert create(vectors="glove", size=7).size == 7
    assert registry.get_registry(base) == {"glove": Glove, "words": Glove, "w": Glove}
    registry.get_registry(base).clear()
    assert registry.get_registry(base)


def test_what_is_not_registered_or_of_another_base_is_refused(base):
    refused(mx.UnknownNameError, "vectors", lambda: registry.get_create_func(base, "vectors")("glove"))
    refused(mx.DTypeError, "derived from Vectors", lambda: registry.get_register_func(base, "vectors")(int))


def test_classes_of_the_library_are_found_by_their_base():
    assert registry.get_registry(mx.init.Initializer)["xavier"] is mx.init.Xavier
    assert isinstance(registry.get_create_func(mx.metric.EvalMetric, "metric")("mse"), mx.metric.MSE)
