"""The value of homes: a nightly batch that computes prices from the sales of three sources.

    headrace run examples/real_estate.py            # on Spark
    headrace run examples/real_estate.py --local    # in this process, without Spark

A notary sends CSV, an agency sends JSON lines, and the land register sends lines of fixed width.
The job converts all of them to one class. A sale that several sources report counts once. The value
of a home comes from the sales of similar homes in its district. The agency's file has broken lines.
"""

import json
import random
import statistics
import sys
import tempfile
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path

from headrace.common import Configuration, Types, WatermarkStrategy
from headrace.datastream import (
    KeyedCoProcessFunction,
    OutputTag,
    RuntimeExecutionMode,
    StreamExecutionEnvironment,
)
from headrace.datastream.connectors.file_system import FileSink, FileSource, StreamFormat
from headrace.datastream.formats.csv import CsvReaderFormat, CsvSchema
from headrace.datastream.formats.json import JsonLinesEncoder
from headrace.datastream.state import ListStateDescriptor

TODAY = date(2026, 11, 20)
ANY = Types.PICKLED_BYTE_ARRAY()
BAD = OutputTag("bad")
TRUST = ["agency", "notary", "register"]  # the last is right where reports of a sale differ


@dataclass(frozen=True)
class Sale:
    """A sale, whoever has reported it."""

    source: str
    parcel: str
    district: str
    m2: float
    euros: int
    day: str


def of_notary(row):
    return Sale("notary", row["parcel"], row["district"], row["m2"], row["euros"], row["day"])


def of_agency(sale):
    where, m2, euros = sale["where"], sale["area"]["m2"], sale["cents"] // 100
    return Sale("agency", where["parcel"], where["district"], float(m2), euros, sale["sold"])


def of_register(line):
    """Parcel, 7 characters; district, 10; tenths of a m², 6; euros, 9; day, 8."""
    day = date.fromisoformat(line[32:]).isoformat()
    district, m2, euros = line[7:17].rstrip(), int(line[17:23]) / 10, int(line[23:32])
    return Sale("register", line[:7], district, m2, euros, day)


NOTARY = (
    CsvSchema.builder()
    .add_string_column("parcel")
    .add_string_column("district")
    .add_number_column("m2", Types.DOUBLE())
    .add_number_column("euros", Types.LONG())
    .add_string_column("day")
    .set_column_separator(";")
    .set_use_header()
    .build()
)


def read(env, form, path):
    """The records of a file. What cannot be decoded goes to BAD, and does not end the job."""
    source = FileSource.for_record_stream_format(form, str(path)).on_error(BAD).build()
    return env.from_source(source, WatermarkStrategy.no_watermarks(), path.name)


class Valuation(KeyedCoProcessFunction):
    """The value of each home of a district, by the five sales of the last year most like it."""

    def open(self, runtime_context):
        self.sales = runtime_context.get_list_state(ListStateDescriptor("sales", ANY))
        self.homes = runtime_context.get_list_state(ListStateDescriptor("homes", ANY))

    def process_element1(self, value, ctx):
        if value.day >= (TODAY - timedelta(days=365)).isoformat():
            self.sales.add(value)

    def process_element2(self, value, ctx):
        self.homes.add(value)
        ctx.timer_service().register_event_time_timer(0)  # fires when all input has been read

    def on_timer(self, timestamp, ctx):
        sales = list(self.sales.get())
        for home in self.homes.get():
            alike = [sale for sale in sales if abs(sale.m2 - home["m2"]) <= home["m2"] / 4]
            alike.sort(key=lambda sale: (abs(sale.m2 - home["m2"]), sale.parcel))
            euros = None  # less than three sales are too few
            if len(alike) >= 3:
                by_m2 = statistics.median(sale.euros / sale.m2 for sale in alike[:5])
                euros = round(by_m2 * home["m2"] / 1_000) * 1_000
            yield {**home, "euros": euros, "by": [sale.parcel for sale in alike[:5]]}


def valuation(env, folder):
    """Homes with their values, a line for each district, and lines that could not be decoded."""
    notary = read(env, CsvReaderFormat.for_schema(NOTARY), folder / "notary.csv")
    agency = read(env, StreamFormat.json_lines_format(), folder / "agency.jsonl")
    register = read(env, StreamFormat.text_line_format(), folder / "register.txt")
    homes = read(env, StreamFormat.json_lines_format(), folder / "homes.jsonl")

    sales = (
        notary.map(of_notary)
        .union(agency.map(of_agency), register.map(of_register))
        .key_by(lambda sale: (sale.parcel, sale.day))
        .reduce(lambda one, other: max(one, other, key=lambda sale: TRUST.index(sale.source)))
    )
    valued = (
        sales.connect(homes)
        .key_by(lambda sale: sale.district, lambda home: home["district"])
        .process(Valuation())
    )
    districts = valued.map(part_of_district).key_by(lambda part: part[0]).reduce(add)
    read_badly = [stream.get_side_output(BAD) for stream in (notary, agency, register, homes)]
    return valued, districts, read_badly[0].union(*read_badly[1:])


def part_of_district(home):
    """District, homes, those with a value, their area, their value."""
    if home["euros"] is None:
        return home["district"], 1, 0, 0, 0
    return home["district"], 1, 1, home["m2"], home["euros"]


def add(one, other):
    return one[0], *(a + b for a, b in zip(one[1:], other[1:], strict=True))


def report(bad):
    """The place and the bytes of a bad record, and why it could not be decoded."""
    file = Path(bad.split).name
    return {"file": file, "byte": bad.position, "reason": bad.reason, "raw": repr(bad.raw)}


def write_input(folder):
    """Makes the files that came in during the day."""
    dice = random.Random(11)
    prices = {"Harbour": 6_200, "Hills": 4_900, "Mill Lane": 3_700, "Old Town": 5_600}
    notary, agency, register, homes = ["day;euros;m2;district;parcel"], [], [], []
    for number in range(400):
        district, parcel = dice.choice(list(prices)), f"P{number:06}"
        m2 = dice.randrange(350, 1_600) / 10
        euros = round(m2 * prices[district] * dice.gauss(1, 0.08))
        day = TODAY - timedelta(days=dice.randrange(500))
        for source in dice.sample(TRUST, dice.choice((1, 1, 2, 3))):
            if source == "notary":
                notary.append(f"{day};{euros};{m2};{district};{parcel}")
            elif source == "agency":  # asked for more than was paid in the end
                where, area = {"district": district, "parcel": parcel}, {"m2": m2}
                sale = {"where": where, "area": area, "cents": euros * 105, "sold": f"{day}"}
                agency.append(json.dumps(sale).encode())
            else:
                line = f"{parcel}{district:10}{round(m2 * 10):06}{euros:09}{day:%Y%m%d}"
                register.append(line)
    agency[20] = agency[20][:41]
    agency[57] = b"<html>502 Bad Gateway</html>"
    agency[130] = agency[130].replace(b"P", b"\xff\xfe")
    for number in range(60):
        district, m2 = dice.choice(list(prices)), dice.choice((42, 58, 66, 81, 97, 120, 240))
        homes.append(json.dumps({"home": f"H{number:03}", "district": district, "m2": m2}))
    (folder / "notary.csv").write_text("\n".join(notary) + "\n")
    (folder / "agency.jsonl").write_bytes(b"\n".join(agency) + b"\n")
    (folder / "register.txt").write_text("\n".join(register) + "\n")
    (folder / "homes.jsonl").write_text("\n".join(homes) + "\n")


def lines_to(folder):
    return FileSink.for_row_format(str(folder), JsonLinesEncoder()).build()


def main():
    folder = Path(tempfile.mkdtemp(prefix="real-estate-"))
    write_input(folder)
    target = "local" if "--local" in sys.argv else "spark"
    configuration = Configuration().set_string("execution.target", target)
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    env.set_runtime_mode(RuntimeExecutionMode.BATCH)
    env.set_parallelism(2)

    valued, districts, bad = valuation(env, folder)
    valued.sink_to(lines_to(folder / "values")).uid("values")
    bad.map(report).sink_to(lines_to(folder / "rejected")).uid("rejected")
    with districts.execute_and_collect("value of homes") as found:
        print("district    homes  valued      value  per m²")
        for district, homes, valued_homes, m2, euros in sorted(found):
            print(f"{district:10}  {homes:5}  {valued_homes:6}  {euros:9,}  {euros / m2:6,.0f}")

    for home in sorted(lines_of(folder / "values"), key=lambda home: home["home"])[:4]:
        print("\n{home} in {district}, {m2} m²: {euros:,} €".format_map(home))
        print(f"  by the sales {', '.join(home['by'])}")
    for bad in sorted(lines_of(folder / "rejected"), key=lambda bad: bad["byte"]):
        print("\n{file}, byte {byte}: {reason}".format_map(bad))
        print(f"  {bad['raw'][:80]}")


def lines_of(folder):
    """What a sink has written."""
    files = [path for path in folder.iterdir() if path.name[0] != "."]
    return [json.loads(line) for path in files for line in path.open()]


if __name__ == "__main__":
    main()
