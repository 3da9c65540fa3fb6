"""Catalogs as objects: what they hold, what statements see of it, and their errors."""

from __future__ import annotations

import pytest

from headrace.common import Configuration
from headrace.errors import CatalogError, UnsupportedError
from headrace.table import DataTypes, EnvironmentSettings, TableEnvironment, TableSchema
from headrace.table.catalog import (
    Catalog,
    CatalogBaseTable,
    CatalogDatabase,
    CatalogDescriptor,
    CatalogFunction,
    CatalogPartition,
    CatalogPartitionSpec,
    ObjectPath,
)
from headrace.util import exceptions as errors

T1, T2 = ObjectPath("db1", "t1"), ObjectPath("db1", "t2")
SCHEMA = TableSchema(["a", "b"], [DataTypes.INT(), DataTypes.STRING()])
SPEC = CatalogPartitionSpec({"b": "x"})


@pytest.fixture
def t_env() -> TableEnvironment:
    configuration = Configuration().set_string("execution.target", "local")
    settings = EnvironmentSettings.new_instance().with_configuration(configuration).build()
    return TableEnvironment.create(settings)


@pytest.fixture
def catalog(t_env: TableEnvironment) -> Catalog:
    options = Configuration().set_string("type", "generic_in_memory")
    t_env.create_catalog("mine", CatalogDescriptor.of("mine", options))
    made = t_env.get_catalog("mine")
    assert made is not None
    made.create_database("db1", CatalogDatabase.create_instance({"k": "v"}, "said"), False)
    return made


def table(comment: str = "", *keys: str) -> CatalogBaseTable:
    options = {"connector": "datagen", "number-of-rows": "2"}
    return CatalogBaseTable.create_table(SCHEMA, keys, options, comment)


def test_databases(catalog: Catalog) -> None:
    assert catalog.list_databases() == [catalog.get_default_database(), "db1"]
    found = catalog.get_database("db1")
    assert (found.get_properties(), found.get_comment()) == ({"k": "v"}, "said")
    other = CatalogDatabase.create_instance({})
    with pytest.raises(errors.DatabaseAlreadyExistException, match="Database db1 already exists"):
        catalog.create_database("db1", other, False)
    catalog.create_database("db1", other, True)
    assert catalog.get_database("db1").get_comment() == "said"
    catalog.alter_database("db1", other, False)
    assert catalog.get_database("db1").get_comment() is None
    catalog.create_table(T1, table(), False)
    with pytest.raises(errors.DatabaseNotEmptyException):
        catalog.drop_database("db1", True)
    catalog.drop_table(T1, False)
    catalog.drop_database("db1", False)
    with pytest.raises(errors.DatabaseNotExistException):
        catalog.drop_database("db1", False)
    catalog.drop_database("db1", True)


def test_tables_are_those_of_statements(t_env: TableEnvironment, catalog: Catalog) -> None:
    catalog.create_table(T1, table("one"), False)
    t_env.use_catalog("mine")
    t_env.use_database("db1")
    assert t_env.list_tables() == ["t1"]
    with t_env.from_path("t1").execute().collect() as rows:
        assert len([*rows]) == 2
    t_env.execute_sql("CREATE TABLE t2 (c INT) WITH ('connector' = 'blackhole')")
    found = catalog.get_table(T2)
    assert found.get_options() == {"connector": "blackhole"}
    assert str(found.get_unresolved_schema()) == "(\n  `c` INT\n)"
    view = CatalogBaseTable.create_view(
        "SELECT a FROM t1", "SELECT a AS z FROM db-1.t1", SCHEMA, {}
    )
    catalog.create_table(ObjectPath("db1", "v"), view, False)
    assert catalog.list_views("db1") == ["v"]
    with pytest.raises(CatalogError, match=r"db1\.v is a view, and would be a table"):
        catalog.alter_table(ObjectPath("db1", "v"), table(), False)


def test_a_table_is_missing_or_there_already(catalog: Catalog) -> None:
    with pytest.raises(errors.TableNotExistException, match=r"Table \(or view\) db1\.t1 does not"):
        catalog.get_table(T1)
    with pytest.raises(errors.TableNotExistException):
        catalog.rename_table(T1, "t2", False)
    with pytest.raises(errors.DatabaseNotExistException):
        catalog.create_table(ObjectPath("no", "t"), table(), False)
    catalog.create_table(T1, table("one"), False)
    catalog.create_table(T1, table("two"), True)
    assert catalog.get_table(T1).get_comment() == "one"
    catalog.create_table(T2, table("two"), False)
    with pytest.raises(errors.TableAlreadyExistException):
        catalog.rename_table(T1, "t2", False)
    catalog.alter_table(T1, table("three"), False)
    assert catalog.get_table(T1).get_comment() == "three"


def test_functions(catalog: Catalog) -> None:
    one, two = (CatalogFunction.create_instance(f"m.f{n}", "Java") for n in (1, 2))
    catalog.create_function(T1, one, False)
    assert catalog.function_exists(ObjectPath("db1", "T1"))
    with pytest.raises(errors.FunctionAlreadyExistException):
        catalog.create_function(T1, two, False)
    catalog.alter_function(T1, two, False)
    assert catalog.get_function(T1).get_class_name() == "m.f2"
    assert catalog.list_functions("db1") == ["t1"]
    catalog.drop_function(T1, False)
    with pytest.raises(errors.FunctionNotExistException):
        catalog.get_function(T1)


def test_partitions(t_env: TableEnvironment, catalog: Catalog) -> None:
    said = CatalogPartition.create_instance({"k": "v"})
    with pytest.raises(errors.TableNotExistException):
        catalog.create_partition(T1, SPEC, said, False)
    catalog.create_table(T1, table(), False)
    with pytest.raises(errors.TableNotPartitionedException):
        catalog.create_partition(T1, SPEC, said, False)
    with pytest.raises(errors.PartitionNotExistException):
        catalog.get_partition(T1, SPEC)
    catalog.create_table(T2, table("", "b"), False)
    with pytest.raises(errors.PartitionSpecInvalidException):
        catalog.create_partition(T2, CatalogPartitionSpec({"a": "1"}), said, False)
    catalog.create_partition(T2, SPEC, said, False)
    with pytest.raises(errors.PartitionAlreadyExistsException):
        catalog.create_partition(T2, SPEC, said, False)
    with t_env.execute_sql("SHOW PARTITIONS mine.db1.t2").collect() as rows:
        assert [row[0] for row in rows] == ["b=x"]
    catalog.rename_table(T2, "t3", False)
    renamed = ObjectPath("db1", "t3")
    assert catalog.get_partition(renamed, SPEC).get_properties() == {"k": "v"}
    catalog.drop_partition(renamed, SPEC, False)
    assert catalog.list_partitions(renamed) == []


def test_models_are_refused(catalog: Catalog) -> None:
    with pytest.raises(UnsupportedError, match="models are not supported"):
        catalog.list_models("db1")


def test_a_catalog_of_another_environment(t_env: TableEnvironment, catalog: Catalog) -> None:
    other = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
    other.register_catalog("shared", catalog)
    found = other.get_catalog("shared")
    assert found is not None and found.database_exists("db1")
    assert t_env.get_catalog("shared") is None
