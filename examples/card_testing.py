"""Card testing: a small payment, then large ones that a model finds suspicious.

    headrace run examples/card_testing.py            # on Spark
    headrace run examples/card_testing.py --local    # in this process, without Spark

Somebody who has stolen a card number often tries it with a small payment first. The pattern is a
small payment, then two larger ones within ten minutes, without a confirmation by the owner between
them. Each larger one must also look like fraud to the model of ``card_fraud.py``, which is a
condition of the pattern.

Needs scikit-learn: ``pip install scikit-learn``.
"""

import pickle
import random
import sys
from datetime import UTC, datetime

import card_fraud
from card_fraud import DAY, ENDS, HOUR, MINUTE
from headrace.cep import CEP, AfterMatchSkipStrategy, Pattern, SimpleCondition
from headrace.common import Configuration, Duration, Row, Types, WatermarkStrategy
from headrace.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from headrace.datastream.state import ValueStateDescriptor

SMALL = 1_000  # cents
DISORDER = 20_000

EVENT = Types.ROW_NAMED(
    ["card", "at", "kind", "cents", "country"],
    [Types.INT(), Types.LONG(), Types.STRING(), Types.INT(), Types.STRING()],
)


class Features(KeyedProcessFunction):
    """Adds to each payment the numbers that the model needs: they depend on earlier payments.

    A profile changes with each payment, in the order in which payments arrive.
    """

    def open(self, runtime_context):
        self.profile = runtime_context.get_state(
            ValueStateDescriptor("profile", Types.PICKLED_BYTE_ARRAY())
        )

    def process_element(self, value, ctx):
        numbers = None
        if value.kind == "payment":
            numbers, profile = card_fraud.features(value, self.profile.value())
            self.profile.update(profile)
        yield value, numbers


class Suspicious(SimpleCondition):
    """Payments that the model takes for fraud."""

    def __init__(self, pickled):
        self.pickled = pickled

    def open(self, runtime_context):
        self.model = pickle.loads(self.pickled)

    def filter(self, value):
        _, numbers = value
        return bool(self.model.predict([numbers])[0])


def is_small(value):
    event, _ = value
    return event.kind == "payment" and event.cents < SMALL


def is_confirmation(value):
    event, _ = value
    return event.kind == "confirmation"


def is_larger(value, ctx):
    """Whether a payment is at least ten times as large as the small one."""
    event, _ = value
    small, _ = ctx.get_events_for_pattern("small")[0]
    return event.kind == "payment" and event.cents >= 10 * small.cents


def testing(model):
    """The pattern; conditions are tried in their order, so the model gets only large payments."""
    return (
        Pattern.begin("small", AfterMatchSkipStrategy.skip_past_last_event())
        .where(is_small)
        .not_followed_by("confirmed")
        .where(is_confirmation)
        .followed_by("large")
        .where(is_larger)
        .where(Suspicious(model))
        .times(2)
        .within(Duration.of_minutes(10))
    )


def alarm(match):
    """A match as a tuple: card, time of the small payment, all amounts in cents."""
    events = [event for event, _ in (*match["small"], *match["large"])]
    return events[0].card, events[0].at, [event.cents for event in events]


def alarms(events, model):
    """For each card that is tested: (card, when, amounts)."""
    with_features = events.key_by(lambda event: event.card).process(Features())
    of_card = with_features.key_by(lambda value: value[0].card)
    return CEP.pattern(of_card, testing(model)).select(alarm)


def generate():
    """A day of events, in the order in which they arrive."""
    dice = random.Random(11)
    made = []

    def add(card, at, cents=0, country="PL", kind="payment"):
        made.append(Row(card=card, at=at, kind=kind, cents=cents, country=country))

    for card in range(60):
        usual = dice.randrange(1_500, 6_000)
        for _ in range(6):
            at = ENDS + dice.randrange(8 * HOUR)
            add(card, at, round(usual * dice.lognormvariate(0, 0.3)))
        at = ENDS + dice.randrange(10 * HOUR, DAY - HOUR)
        match card % 10:
            case 3:  # the number is tested, and then used abroad
                add(card, at, dice.randrange(100, 900))
                for _ in range(2):
                    at += dice.randrange(MINUTE, 4 * MINUTE)
                    add(card, at, usual * dice.randrange(6, 9), "US")
            case 5:  # the owner is abroad, and confirms the payments
                add(card, at, dice.randrange(100, 900), "US")
                add(card, at + MINUTE, kind="confirmation", country="US")
                for _ in range(2):
                    at += dice.randrange(MINUTE, 4 * MINUTE)
                    add(card, at, usual * dice.randrange(6, 9), "US")
            case 7:  # a coffee, then two larger payments at home
                add(card, at, dice.randrange(200, 400))
                for _ in range(2):
                    at += dice.randrange(MINUTE, 4 * MINUTE)
                    add(card, at, usual)
            case 9:  # the second large payment comes too late
                add(card, at, dice.randrange(100, 900))
                for pause in (2, 9):
                    at += pause * MINUTE
                    add(card, at, usual * dice.randrange(6, 9), "US")
    return sorted(made, key=lambda event: event.at + dice.randrange(DISORDER))


def main():
    model = card_fraud.train(card_fraud.generate())
    events = generate()
    target = "local" if "--local" in sys.argv else "spark"
    configuration = Configuration().set_string("execution.target", target)
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    env.set_parallelism(2)
    arrival = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(DISORDER))
    stream = env.from_collection(events, EVENT).assign_timestamps_and_watermarks(
        arrival.with_timestamp_assigner(lambda event: event.at)
    )
    print(testing(model).explain())
    print(f"\n{len(events)} events\n\ncard  time   amounts")
    with alarms(stream, model).execute_and_collect("card testing") as found:
        for card, at, amounts in sorted(found):
            time = datetime.fromtimestamp(at / 1000, UTC)
            print(f"{card:4}  {time:%H:%M}  {', '.join(f'{each / 100:.2f}' for each in amounts)}")


if __name__ == "__main__":
    main()
