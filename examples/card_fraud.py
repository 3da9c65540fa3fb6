"""Card fraud: payments are scored by a support vector machine that is replaced while the job runs.

    headrace run examples/card_fraud.py            # on Spark
    headrace run examples/card_fraud.py --local    # in this process, without Spark

The features of a payment compare it with the card's earlier payments, which are in keyed state. The
models come from a broadcast stream, and each payment is scored by the model that is valid at its
time. From the sixth day on there is a new kind of fraud, which the first model was not trained on.

Needs scikit-learn: ``pip install scikit-learn``.
"""

import math
import pickle
import random
import sys
from datetime import UTC, datetime

import charts
from headrace.common import Configuration, Duration, Row, Time, Types, WatermarkStrategy
from headrace.datastream import (
    AggregateFunction,
    KeyedBroadcastProcessFunction,
    MapBatchesFunction,
    ProcessWindowFunction,
    StreamExecutionEnvironment,
)
from headrace.datastream.state import MapStateDescriptor, ValueStateDescriptor
from headrace.datastream.window import TumblingEventTimeWindows

DAY, HOUR, MINUTE = 86_400_000, 3_600_000, 60_000
STARTS = int(datetime(2026, 11, 2, tzinfo=UTC).timestamp() * 1000)
NEW_FRAUD = STARTS + 5 * DAY
NEW_MODEL = STARTS + 9 * DAY
ENDS = STARTS + 14 * DAY
DISORDER = 30_000
FEATURES = ["amount", "abroad", "pause", "last_hour"]

PAYMENT = Types.ROW_NAMED(
    ["card", "at", "cents", "country", "fraud"],
    [Types.INT(), Types.LONG(), Types.INT(), Types.STRING(), Types.BOOLEAN()],
)
BYTES = Types.PRIMITIVE_ARRAY(Types.BYTE())
MODEL = Types.ROW_NAMED(["since", "version", "pickled"], [Types.LONG(), Types.INT(), BYTES])
FEATURED = Types.ROW_NAMED(
    [*FEATURES, "fraud", "version", "model"],
    [*[Types.DOUBLE()] * 4, Types.BOOLEAN(), Types.INT(), BYTES],
)
SCORED = Types.ROW_NAMED(
    ["version", "fraud", "flagged"], [Types.INT(), Types.BOOLEAN(), Types.BOOLEAN()]
)
MODELS = MapStateDescriptor("models", Types.LONG(), Types.PICKLED_BYTE_ARRAY())


def features(payment, profile):
    """The four numbers of a payment, and the card's profile after it."""
    mean, home, times = profile or (payment.cents, payment.country, [])
    pause = (payment.at - times[-1]) / MINUTE if times else 24 * 60
    last_hour = [at_ms for at_ms in times if at_ms > payment.at - HOUR]
    numbers = (
        math.log(payment.cents / mean),
        float(payment.country != home),
        math.log(1 + pause),
        float(len(last_hour)),
    )
    return numbers, (0.9 * mean + 0.1 * payment.cents, home, [*last_hour, payment.at])


class Features(KeyedBroadcastProcessFunction):
    """Each payment as numbers, with the model in force at its time.

    Payments wait for a timer at their own time. So those of a card come in their order, and all
    models up to that time are known. A card pays at most once in a millisecond; where that is not
    sure, the map must hold a list of payments for each time.
    """

    def open(self, runtime_context):
        self.waiting = runtime_context.get_map_state(
            MapStateDescriptor("waiting", Types.LONG(), Types.PICKLED_BYTE_ARRAY())
        )
        self.profile = runtime_context.get_state(
            ValueStateDescriptor("profile", Types.PICKLED_BYTE_ARRAY())
        )

    def process_broadcast_element(self, value, ctx):
        ctx.get_broadcast_state(MODELS).put(value.since, (value.version, value.pickled))

    def process_element(self, value, ctx):
        self.waiting.put(value.at, value)
        ctx.timer_service().register_event_time_timer(value.at)

    def on_timer(self, timestamp, ctx):
        payment = self.waiting.get(timestamp)
        self.waiting.remove(timestamp)
        numbers, profile = features(payment, self.profile.value())
        self.profile.update(profile)
        models = ctx.get_broadcast_state(MODELS).items()
        _, in_force = max((since, model) for since, model in models if since <= timestamp)
        yield Row(*numbers, payment.fraud, *in_force)


class Score(MapBatchesFunction):
    """Scores a batch of payments: one call of ``predict`` for each model in it."""

    def open(self, runtime_context):
        self.models = {}

    def map_batches(self, batch):
        batch["flagged"] = False
        for pickled, rows in batch.groupby("model"):
            if pickled not in self.models:
                self.models[pickled] = pickle.loads(pickled)
            found = self.models[pickled].predict(rows[FEATURES].to_numpy())
            batch.loc[rows.index, "flagged"] = found.astype(bool)
        return batch[["version", "fraud", "flagged"]]


class Counts(AggregateFunction):
    """Fraud found, false alarms, fraud missed."""

    def create_accumulator(self):
        return 0, 0, 0

    def add(self, value, accumulator):
        found, false, missed = accumulator
        return (
            found + (value.flagged and value.fraud),
            false + (value.flagged and not value.fraud),
            missed + (value.fraud and not value.flagged),
        )

    def get_result(self, accumulator):
        return accumulator

    def merge(self, acc_a, acc_b):
        return tuple(a + b for a, b in zip(acc_a, acc_b, strict=True))


class OfDay(ProcessWindowFunction):
    def process(self, key, context, elements):
        for counts in elements:
            yield context.window().start, key, *counts


def quality(payments, models):
    """For each day and model: (day, version, found, false alarms, missed)."""
    return (
        payments.key_by(lambda payment: payment.card)
        .connect(models.broadcast(MODELS))
        .process(Features(), FEATURED)
        .map_batches(Score(), SCORED, format="pandas")
        .key_by(lambda scored: scored.version)
        .window(TumblingEventTimeWindows.of(Time.days(1)))
        .aggregate(Counts(), OfDay())
    )


def train(payments):
    """A pickled model, trained on payments whose field ``fraud`` is known."""
    try:
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import StandardScaler
        from sklearn.svm import SVC
    except ImportError:
        raise SystemExit("this example needs scikit-learn: pip install scikit-learn") from None
    numbers, labels = training_data(payments)
    return pickle.dumps(make_pipeline(StandardScaler(), SVC()).fit(numbers, labels))


def training_data(payments):
    """Features and labels of payments, by the same function as in the job."""
    profiles, numbers, labels = {}, [], []
    for payment in sorted(payments, key=lambda payment: payment.at):
        row, profiles[payment.card] = features(payment, profiles.get(payment.card))
        numbers.append(row)
        labels.append(payment.fraud)
    return numbers, labels


def generate():
    """Four weeks of payments, in the order in which they arrive."""
    dice = random.Random(5)
    made = {}
    for card in range(80):
        usual = dice.randrange(1_500, 6_000)
        for day in range(STARTS - 14 * DAY, ENDS, DAY):
            for _ in range(dice.randrange(1, 4)):
                at = day + dice.randrange(7 * HOUR, 22 * HOUR)
                country = "PL" if dice.random() < 0.97 else "DE"
                made[card, at] = round(usual * dice.lognormvariate(0, 0.5)), country, False
            if dice.random() < 0.06:  # a stolen card, used abroad for large amounts
                at = day + dice.randrange(DAY)
                made[card, at] = usual * dice.randrange(4, 9), dice.choice(["US", "BR"]), True
            if day >= NEW_FRAUD and dice.random() < 0.03:  # a stolen number is tested
                at = day + dice.randrange(DAY - HOUR)
                for _ in range(6):
                    at += dice.randrange(MINUTE, 4 * MINUTE)
                    made[card, at] = dice.randrange(100, 900), "PL", True
    payments = [
        Row(card=card, at=at, cents=cents, country=country, fraud=fraud)
        for (card, at), (cents, country, fraud) in made.items()
    ]
    return sorted(payments, key=lambda payment: payment.at + dice.randrange(DISORDER))


def main():
    payments = generate()
    first = train([payment for payment in payments if payment.at < STARTS])
    second = train([payment for payment in payments if payment.at < NEW_MODEL])
    versions = [
        Row(since=STARTS, version=1, pickled=first),
        Row(since=NEW_MODEL, version=2, pickled=second),
    ]
    live = [payment for payment in payments if payment.at >= STARTS]

    target = "local" if "--local" in sys.argv else "spark"
    configuration = Configuration().set_string("execution.target", target)
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    env.set_parallelism(2)
    arrival = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(DISORDER))
    in_order = WatermarkStrategy.for_monotonous_timestamps()
    paid = env.from_collection(live, PAYMENT).assign_timestamps_and_watermarks(
        arrival.with_timestamp_assigner(lambda payment: payment.at)
    )
    models = env.from_collection(versions, MODEL).assign_timestamps_and_watermarks(
        in_order.with_timestamp_assigner(lambda model: model.since)
    )
    with quality(paid, models).execute_and_collect("card fraud") as found:
        days = sorted(found)

    print(f"{len(live)} payments\n\nday     model  fraud  found  false alarms  precision  recall")
    curves = {"precision": [], "recall": []}
    for number, (day, version, found, false, missed) in enumerate(days, start=1):
        precision, recall = found / (found + false or 1), found / (found + missed or 1)
        curves["precision"].append((number, 100 * precision))
        curves["recall"].append((number, 100 * recall))
        print(
            f"{datetime.fromtimestamp(day / 1000, UTC):%d %b}  {version:5}"
            f"{found + missed:7}{found:7}{false:14}{precision:11.0%}{recall:8.0%}"
        )
    with open("card_fraud.svg", "w") as file:
        title = "Fraud found (recall), and alarms that were right (precision)"
        file.write(charts.lines(title, curves, x_title="day", y_title="%", x_ticks=range(1, 15)))


if __name__ == "__main__":
    main()
