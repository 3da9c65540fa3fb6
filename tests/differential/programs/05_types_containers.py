"""Lists, maps, arrays and pickled values with a declared type.

PyFlink 2.3 takes LIST and PICKLED_BYTE_ARRAY from a map, not from a collection.

compare: ordered
parallelism: 1
mode: streaming
"""

from pyflink.common import Types
from pyflink.datastream import DataStream, StreamExecutionEnvironment

CASES = {
    "list": (Types.LIST(Types.INT()), [[1, 2], []]),
    "map": (Types.MAP(Types.STRING(), Types.LONG()), [{"a": 1}, {}]),
    "basic_array": (Types.BASIC_ARRAY(Types.STRING()), [["a", "b"]]),
    "object_array": (Types.OBJECT_ARRAY(Types.STRING()), [["a", "b"]]),
    "pickled": (Types.PICKLED_BYTE_ARRAY(), [{"a": {1, 2}}, (1, None)]),
}


def build(env: StreamExecutionEnvironment) -> dict[str, DataStream]:
    streams = {
        name: env.from_collection(list(range(len(values)))).map(
            lambda index, values=values: values[index], output_type=kind
        )
        for name, (kind, values) in CASES.items()
    }
    streams["map_from_collection"] = env.from_collection(
        [{"a": 1}, {}], type_info=Types.MAP(Types.STRING(), Types.LONG())
    )
    streams["basic_array_from_collection"] = env.from_collection(
        [["a", "b"]], type_info=Types.BASIC_ARRAY(Types.STRING())
    )
    streams["primitive_array_from_collection"] = env.from_collection(
        [[1, 2, 3]], type_info=Types.PRIMITIVE_ARRAY(Types.INT())
    )
    return streams
