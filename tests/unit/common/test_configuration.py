import copy
import pickle
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.common import ConfigOptions, Configuration, Duration, ExecutionConfig, Time
from headrace.common._options import catalogue as options
from headrace.common._options.values import ValueKind, parse, text_of
from headrace.errors import ConfigurationError, PlanError


def test_setting_and_getting():
    configuration = (
        Configuration()
        .set_string("pipeline.name", "clicks")
        .set_integer("parallelism.default", 4)
        .set_boolean("pipeline.object-reuse", True)
        .set_float("restart-strategy.exponential-delay.jitter-factor", 0.5)
        .set_bytearray("headrace.spark.conf.token", bytearray(b"\x01"))
    )
    assert configuration.get_string("pipeline.name", "") == "clicks"
    assert configuration.get_integer("parallelism.default", 0) == 4
    assert configuration.get_string("parallelism.default", "") == "4"
    assert configuration.get_boolean("pipeline.object-reuse", False) is True
    assert configuration.get_string("pipeline.object-reuse", "") == "true"
    assert configuration.get_float("restart-strategy.exponential-delay.jitter-factor", 0) == 0.5
    assert configuration.get_bytearray("headrace.spark.conf.token", bytearray()) == b"\x01"
    assert configuration.contains_key("pipeline.name")
    assert len(configuration.key_set()) == 5
    assert configuration.remove_config("pipeline.name")
    assert not configuration.remove_config("pipeline.name")
    assert configuration.get_string("pipeline.name", "none") == "none"
    assert configuration.get_integer("python.state.cache-size", 7) == 7


def test_text_is_read_as_what_is_asked_for():
    configuration = Configuration.from_dict(
        {"parallelism.default": "4", "pipeline.object-reuse": "TRUE"}
    )
    assert configuration.get_integer("parallelism.default", 0) == 4
    assert configuration.get_boolean("pipeline.object-reuse", False) is True
    configuration.set_string("pipeline.name", "clicks")
    with pytest.raises(ConfigurationError, match=r"pipeline\.name is 'clicks'"):
        configuration.get_integer("pipeline.name", 0)


@pytest.mark.parametrize(
    ("key", "near"),
    [
        ("pipeline.nmae", "pipeline.name"),
        ("paralelism.default", "parallelism.default"),
        ("execution.checkpoint.dir", "execution.checkpointing.dir"),
        ("headrace.state.page_bytes", "headrace.state.page-bytes"),
        ("python.bundle.size", "python.fn-execution.bundle.size"),
        ("spark.sql.shuffle.partitions", "headrace.spark.conf.spark.sql.shuffle.partitions"),
        ("job.threshold", "global-job-parameters"),
        ("user.threshold", "global-job-parameters"),
        ("taskmanager.", "taskmanager."),
    ],
)
@pytest.mark.parametrize(
    "put",
    [
        lambda key: Configuration().set_string(key, "x"),
        lambda key: Configuration.from_dict({key: "x"}),
        lambda key: Configuration().set_integer(key, 1),
    ],
)
def test_an_unknown_key_names_the_nearest(put, key, near):
    with pytest.raises(ConfigurationError, match="is not a known key") as caught:
        put(key)
    assert near in caught.value.hint


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("parallelism.default", "four"),
        ("parallelism.default", 2**31),
        ("pipeline.object-reuse", "yes"),
        ("execution.runtime-mode", "turbo"),
        ("execution.target", "yarn"),
        ("headrace.processing-time.tick", "soon"),
        ("headrace.processing-time.tick", "5 parsecs"),
        ("headrace.state.page-bytes", "big"),
        ("headrace.state.page-bytes", -1),
        ("pipeline.global-job-parameters", "no pairs"),
        ("pipeline.name", 3),
    ],
)
def test_a_value_that_does_not_parse_is_refused_when_set(key, value):
    with pytest.raises(ConfigurationError, match=key) as caught:
        Configuration.from_dict({key: value})
    assert "it must be" in caught.value.hint


def test_keys_without_effect_and_families_are_accepted():
    configuration = Configuration.from_dict(
        {
            "taskmanager.numberOfTaskSlots": "2",
            "python.execution-mode": "thread",
            "state.backend.rocksdb.memory.managed": "true",
            "state.savepoints.dir": "somewhere",
            "headrace.spark.conf.spark.executor.memory": "2g",
            "headrace.spark.conf.spark.ui.enabled": False,
        }
    )
    assert options.spark_settings(configuration.to_dict()) == {
        "spark.executor.memory": "2g",
        "spark.ui.enabled": "false",
    }
    assert options.read(configuration, options.SAVEPOINT_DIR) == "somewhere"


def test_adding_copying_comparing():
    first = Configuration.from_dict({"pipeline.name": "a"})
    second = Configuration(first).set_integer("parallelism.default", 2)
    assert first.to_dict() == {"pipeline.name": "a"}
    assert Configuration().add_all(second) == second
    assert hash(Configuration().add_all(second)) == hash(second)
    assert second != first
    assert second == Configuration.from_dict({"pipeline.name": "a", "parallelism.default": "2"})
    inner = Configuration.from_dict({"pipeline.name": "x"})
    with pytest.raises(ConfigurationError):
        Configuration().add_all(inner, "other.")
    assert Configuration().add_all(inner, "headrace.spark.conf.").key_set() == {
        "headrace.spark.conf.pipeline.name"
    }
    target = {"kept": 1}
    second.add_all_to_dict(target)
    assert target == {"kept": 1, "pipeline.name": "a", "parallelism.default": 2}
    assert str(second) == "{parallelism.default=2, pipeline.name=a}"
    for again in (pickle.loads(pickle.dumps(second)), copy.deepcopy(second)):
        assert again == second
        assert again.remove_config("pipeline.name")
    assert second.contains_key("pipeline.name")


@pytest.mark.parametrize(
    ("text", "elements"),
    [
        ("", []),
        ("a", ["a"]),
        ("a;b;c", ["a", "b", "c"]),
        ("[a, 'b, c', d]", ["a", "b, c", "d"]),
        ("- a\n- b", ["a", "b"]),
        ("'a;b';c", ["a;b", "c"]),
        ("it's; ok", ["it's", "ok"]),
    ],
)
def test_lists(text, elements):
    assert Configuration.parse_list_value(text) == elements


@pytest.mark.parametrize(
    ("value", "ms"),
    [
        ("5 s", 5000),
        ("5s", 5000),
        ("200ms", 200),
        ("200", 200),
        ("1 min", 60_000),
        ("2 m", 120_000),
        ("3 hours", 10_800_000),
        ("1 d", 86_400_000),
        ("1500 us", 1),
        ("PT1M2.5S", 62_500),
        ("P1DT1H", 90_000_000),
        (timedelta(seconds=2), 2000),
        (Duration.of_seconds(3), 3000),
        (Time.seconds(4), 4000),
        (7, 7),
    ],
)
def test_durations(value, ms):
    configuration = Configuration.from_dict({"headrace.processing-time.tick": value})
    assert options.read(configuration, options.PROCESSING_TIME_TICK) == ms
    again = Configuration.from_dict(configuration.to_dict())
    assert options.read(again, options.PROCESSING_TIME_TICK) == ms


@pytest.mark.parametrize("value", ["P", "PT", "", "-1 s", "1.5 s", True, 1.5, None])
def test_no_durations(value):
    with pytest.raises(ValueError, match="a duration"):
        parse(ValueKind.DURATION, value)


@pytest.mark.parametrize(
    ("value", "size"),
    [("64mb", 64 << 20), ("16 kb", 16_384), ("1g", 1 << 30), ("10", 10), ("5 bytes", 5), (9, 9)],
)
def test_sizes(value, size):
    configuration = Configuration.from_dict({"headrace.source.max-bytes-per-batch": value})
    assert options.read(configuration, options.MAX_BYTES_PER_BATCH) == size


@pytest.mark.parametrize("value", ["BATCH", "batch", " Batch "])
def test_choices(value):
    configuration = Configuration.from_dict({"execution.runtime-mode": value})
    assert options.read(configuration, options.RUNTIME_MODE) == "BATCH"


def test_choices_spelt_with_dashes_or_underscores():
    configuration = Configuration.from_dict({"execution.checkpointing.mode": "at-least-once"})
    assert options.read(configuration, options.CHECKPOINTING_MODE) == "AT_LEAST_ONCE"


words = st.text(st.characters(codec="ascii", categories=["L", "N", "P", "S", "Zs"]), max_size=8)


@given(st.dictionaries(words.filter(bool), words, max_size=4))
def test_maps_read_back_from_their_text(parameters):
    assert parse(ValueKind.MAP, text_of(parameters)) == parameters
    configuration = Configuration.from_dict({"pipeline.global-job-parameters": parameters})
    again = Configuration.from_dict(configuration.to_dict())
    assert options.read(again, options.JOB_PARAMETERS) == parameters


@given(st.lists(words, max_size=4))
def test_lists_read_back_from_their_text(elements):
    assert parse(ValueKind.LIST, text_of(elements)) == elements


@pytest.mark.parametrize(
    ("text", "pairs"),
    [
        ("a:1,b:2", {"a": "1", "b": "2"}),
        ("{a: 1, b: 'x, y'}", {"a": "1", "b": "x, y"}),
        ("url:http://host:80", {"url": "http://host:80"}),
        ("", {}),
    ],
)
def test_maps(text, pairs):
    assert parse(ValueKind.MAP, text) == pairs


def test_older_names_are_read_and_newer_ones_win():
    configuration = Configuration.from_dict({"state.checkpoints.dir": "old"})
    assert options.read(configuration, options.CHECKPOINT_DIR) == "old"
    configuration.set_string("execution.checkpointing.dir", "new")
    assert options.read(configuration, options.CHECKPOINT_DIR) == "new"


def test_defaults():
    empty = Configuration()
    assert options.read(empty, options.MAX_RECORDS_PER_BATCH) is None
    assert options.read(empty, options.MAX_BYTES_PER_BATCH) is None
    assert options.read(empty, options.PROCESSING_TIME_TICK) == 200
    assert options.read(empty, options.WATERMARK_CHUNK_RECORDS) == 4096
    assert options.read(empty, options.STATE_PAGE_BYTES) == 16_384
    assert options.read(empty, options.PARALLELISM) is None


def test_every_option_is_described_and_has_a_default_of_its_kind():
    for key, option in options.OPTIONS.items():
        assert key in (option.key, *option.fallback_keys), key
        assert option.description.endswith("."), key
        assert option.has_effect != option.description.startswith(("No effect", "Kept")), key
        if option.default not in (None, ""):
            assert option.parse(option.default) == option.default, key
        assert bool(option.choices) == (option.kind is ValueKind.CHOICE), key
    assert len(options.OPTIONS) > 150


def test_own_options():
    option = ConfigOptions.key("pipeline.max-parallelism").int_type().default_value(3)
    assert options.read(Configuration(), option) == 3
    assert options.read(Configuration().set_string(option.key, "9"), option) == 9
    assert ConfigOptions.key("a").string_type().no_default_value().default is None
    assert isinstance(ConfigOptions.key("a"), ConfigOptions.OptionBuilder)


TOGGLES = [
    ("closure_cleaner", "is_closure_cleaner_enabled", True),
    ("force_kryo", "is_force_kryo_enabled", False),
    ("force_avro", "is_force_avro_enabled", False),
    ("object_reuse", "is_object_reuse_enabled", False),
    ("auto_generated_uids", "has_auto_generated_uids_enabled", True),
]


@pytest.mark.parametrize(("name", "getter", "default"), TOGGLES)
def test_toggles(name, getter, default):
    config = ExecutionConfig()
    assert getattr(config, getter)() is default
    assert getattr(config, f"enable_{name}")() is config
    assert getattr(config, getter)() is True
    getattr(config, f"disable_{name}")()
    assert getattr(config, getter)() is False


@pytest.mark.parametrize(
    "name",
    [
        "auto_watermark_interval",
        "latency_tracking_interval",
        "task_cancellation_interval",
        "task_cancellation_timeout",
    ],
)
def test_intervals(name):
    config = ExecutionConfig()
    getattr(config, f"set_{name}")(timedelta(seconds=2))
    assert getattr(config, f"get_{name}")() == 2000
    getattr(config, f"set_{name}")(30)
    assert getattr(config, f"get_{name}")() == 30
    with pytest.raises(PlanError):
        getattr(config, f"set_{name}")(-1)


def test_parallelism():
    config = ExecutionConfig()
    assert (config.get_parallelism(), config.get_max_parallelism()) == (-1, 128)
    assert config.set_parallelism(3).set_max_parallelism(512).get_parallelism() == 3
    assert config.get_max_parallelism() == 512
    assert config.set_parallelism(-1).get_parallelism() == -1
    for call in (config.set_parallelism, config.set_max_parallelism):
        with pytest.raises(PlanError):
            call(0)


def test_other_settings():
    config = ExecutionConfig()
    assert not config.has_generic_types_disabled()
    assert config.disable_generic_types().has_generic_types_disabled()
    assert not config.enable_generic_types().has_generic_types_disabled()
    assert config.set_use_snapshot_compression(True).is_use_snapshot_compression()
    assert config.set_global_job_parameters(
        {"limit": 3, "on": True}
    ).get_global_job_parameters() == {
        "limit": "3",
        "on": "true",
    }
    assert config.get_default_kryo_serializer_classes() == {}
    assert config.get_registered_kryo_types() == config.get_registered_pojo_types() == []


def test_an_execution_config_is_a_view():
    configuration = Configuration.from_dict({"parallelism.default": "5"})
    config = ExecutionConfig(configuration)
    assert config.get_parallelism() == 5
    config.enable_object_reuse()
    assert options.read(configuration, options.OBJECT_REUSE) is True
    assert config == ExecutionConfig(Configuration(configuration))
    assert hash(config) == hash(ExecutionConfig(Configuration(configuration)))
    assert config != ExecutionConfig()


@pytest.mark.parametrize("value", ["0", "-3", 0])
def test_a_number_below_the_least_is_refused(value: object) -> None:
    with pytest.raises(ConfigurationError, match=r"parallelism.default is .*") as raised:
        Configuration.from_dict({"parallelism.default": value})
    assert raised.value.hint == "at least 1"
