from io import BytesIO

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.common import ByteArraySchema, Encoder, Row, SimpleStringSchema, Types
from headrace.common._unsupported import is_unsupported
from headrace.common.serialization import RowDataBulkWriterFactory, RowFieldExtractorSchema
from headrace.common.serializer import TypeSerializer, VoidNamespaceSerializer
from headrace.common.utils import JavaObjectWrapper
from headrace.errors import DecodeError, PlanError, TypeMismatchError


@given(st.text(st.characters(codec="utf-8")), st.sampled_from(["UTF-8", "utf-16"]))
def test_strings_survive(text, charset):
    schema = SimpleStringSchema(charset)
    assert schema.deserialize(schema.serialize(text)) == text


def test_string_schema():
    assert SimpleStringSchema() == SimpleStringSchema("UTF-8")
    assert SimpleStringSchema("latin-1").serialize("ä") == b"\xe4"
    with pytest.raises(DecodeError, match="at byte 1"):
        SimpleStringSchema().deserialize(b"a\xff")
    with pytest.raises(TypeMismatchError, match="writes str"):
        SimpleStringSchema().serialize(3)
    with pytest.raises(PlanError, match="no charset 'utf-9'"):
        SimpleStringSchema("utf-9")


def test_byte_schema():
    schema = ByteArraySchema()
    assert schema.serialize(bytearray(b"ab")) == schema.deserialize(b"ab") == b"ab"
    with pytest.raises(TypeMismatchError):
        schema.serialize("ab")


@pytest.mark.parametrize(
    "record", [Row(b"key", b"value"), (b"key", b"value"), Row(k=b"key", v=b"value")]
)
def test_field_extractor(record):
    assert RowFieldExtractorSchema(0).serialize(record) == b"key"
    assert RowFieldExtractorSchema(1).serialize(record) == b"value"
    with pytest.raises(TypeMismatchError, match="no field 2"):
        RowFieldExtractorSchema(2).serialize(record)


def test_field_extractor_refuses():
    with pytest.raises(PlanError):
        RowFieldExtractorSchema(-1)
    with pytest.raises(TypeMismatchError, match="field 0 is not bytes"):
        RowFieldExtractorSchema(0).serialize(Row("text"))
    with pytest.raises(TypeMismatchError):
        RowFieldExtractorSchema(0).serialize(5)


def test_encoder():
    encoder = Encoder.simple_string_encoder()
    assert encoder.encode("hi") == b"hi\n"
    assert encoder.encode((1, "a")) == b"(1, 'a')\n"
    assert (
        encoder.encode(Row(1, None), Types.ROW([Types.INT(), Types.STRING()])) == b"+I[1, null]\n"
    )
    assert Encoder.simple_string_encoder("utf-16-le").encode("a") == b"a\0\n\0"
    with pytest.raises(PlanError):
        Encoder.simple_string_encoder("none")


def test_bulk_factory_keeps_its_type():
    row_type = Types.ROW([Types.INT()])
    assert RowDataBulkWriterFactory(row_type).get_row_type() == row_type


class Fixed(TypeSerializer[int]):
    def __init__(self, width):
        self.width = width

    def serialize(self, element, stream):
        stream.write(element.to_bytes(self.width, "big"))

    def deserialize(self, stream):
        return int.from_bytes(stream.read(self.width), "big")


def test_type_serializers():
    stream = BytesIO()
    Fixed(4).serialize(77, stream)
    VoidNamespaceSerializer().serialize(b"", stream)
    assert stream.getvalue() == b"\0\0\0M"
    stream.seek(0)
    assert Fixed(4).deserialize(stream) == 77
    assert VoidNamespaceSerializer().deserialize(stream) == b""
    assert Fixed(4) == Fixed(4) != Fixed(8)
    assert hash(Fixed(4)) == hash(Fixed(4))
    assert VoidNamespaceSerializer() == VoidNamespaceSerializer()


def test_what_wraps_the_jvm_is_declared():
    assert is_unsupported(JavaObjectWrapper)
