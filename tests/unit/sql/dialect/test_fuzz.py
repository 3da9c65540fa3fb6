"""Whatever the text: it is read, or it is refused with the one error and a place."""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from headrace.errors import SqlParserError
from headrace.sql.parsing import parse


def _words(text: str) -> list[str]:
    return text.split()


WORDS = _words(
    """
    ( ( ) ) [ ] , . ; = < > + - * / || => /*+ */ ' ` '' ? : $ { } t a b 1 2.5 'x' `q`
    SELECT FROM WHERE GROUP BY HAVING ORDER LIMIT UNION ALL VALUES WITH AS TABLE
    CREATE VIEW INSERT INTO NOT NULL IN IS BETWEEN AND OR CASE WHEN THEN END CAST
    INTERVAL DAY ROW ARRAY MAP LATERAL UNNEST JOIN ON LEFT CROSS OVER PARTITION
    INT STRING DECIMAL TIMESTAMP DATE COUNT EXISTS TUMBLE
    """
)


def reads_or_refuses(text: str) -> None:
    try:
        parse(text)
    except SqlParserError as error:
        assert str(error).startswith("line ")


@given(st.lists(st.sampled_from(WORDS), max_size=30).map(" ".join))
@example("SELECT ((((((((((((((((((((((((((((((SELECT")
@example("SELECT " + "(" * 5000)
@example("SELECT " + "NOT " * 5000 + "a")
@example("SELECT 1" + " + 1" * 5000)
@example("SELECT CAST(a AS " + "ARRAY<" * 3000)
def test_words_in_any_order(text: str) -> None:
    reads_or_refuses(text)


@given(st.text(max_size=60))
def test_any_text(text: str) -> None:
    reads_or_refuses(text)


@given(st.data())
def test_statements_with_a_part_cut_out_or_put_in(accepted: list[str], data: st.DataObject) -> None:
    text = data.draw(st.sampled_from(accepted))
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, min(len(text), start + 8)))
    between = data.draw(st.sampled_from(["", " ", *WORDS]))
    reads_or_refuses(text[:start] + between + text[end:])


def test_a_statement_that_ends_early(accepted: list[str]) -> None:
    for text in accepted[::3]:
        for end in range(0, len(text), 5):
            reads_or_refuses(text[:end])
